"""What Spark needs for the sinks of table formats: nothing unless one is declared."""

from penstock.local.artefacts import group_names, locked
from penstock.pipelines import DeltaSink, IcebergCatalog, IcebergSink, ParquetSink
from penstock.spark.sinks.iceberg.catalog import catalog_configuration, catalog_name
from penstock.spark.sinks.requirements import requirements

_PARQUET = ParquetSink(location="s3://lake/t")
_DELTA = DeltaSink(location="s3://lake/d")
_GLUE = IcebergSink(table="a.b", warehouse="s3://lake/w")
_REST = IcebergSink(table="a.b", catalog=IcebergCatalog(type="rest", uri="http://c:1", properties={"token": "x"}))
_ENVIRONMENT = {"AWS_ENDPOINT_URL": "http://all:1", "AWS_REGION": "us-east-2"}


def test_only_declared_formats_are_loaded() -> None:
    assert requirements([_PARQUET]).groups == ()
    assert requirements([_PARQUET]).configuration == {}
    assert requirements([_REST]).groups == ("iceberg",)
    assert requirements([_GLUE, _PARQUET, _DELTA]).groups == ("iceberg", "iceberg-aws", "delta")
    assert requirements([_GLUE]).configuration == {}


def test_every_group_is_locked_and_fetched_for_tests_only() -> None:
    groups = set(requirements([_GLUE, _DELTA]).groups)
    assert groups <= {artefact.group for artefact in locked()}
    assert groups <= set(group_names(with_tests=True))
    assert not groups & set(group_names())


def test_a_user_s_extensions_are_loaded_beside_ours() -> None:
    own = {"spark.sql.extensions": "a.B", "spark.sql.shuffle.partitions": "3"}
    results = requirements([_DELTA]).configured(own)
    assert results["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension,a.B"
    assert results["spark.sql.shuffle.partitions"] == "3"
    assert requirements([_PARQUET]).configured(own) == own


def test_glue_s_endpoint_is_aws_s_own_variable_and_files_of_a_folder_go_through_spark() -> None:
    results = catalog_configuration(_GLUE, _ENVIRONMENT, folder_lake=True)
    assert results["glue.endpoint"] == "http://all:1"
    assert results["client.region"] == "us-east-2"
    assert results["io-impl"].endswith("HadoopFileIO")
    assert "s3.endpoint" not in results
    results = catalog_configuration(_GLUE, {**_ENVIRONMENT, "AWS_ENDPOINT_URL_GLUE": "http://glue:2"}, folder_lake=False)
    assert (results["glue.endpoint"], results["s3.endpoint"]) == ("http://glue:2", "http://all:1")
    assert "io-impl" not in results


def test_a_rest_catalog_gets_its_own_properties() -> None:
    results = catalog_configuration(_REST, {}, folder_lake=False)
    assert (results["type"], results["uri"], results["token"]) == ("rest", "http://c:1", "x")
    assert "glue.endpoint" not in results
    assert catalog_name(_REST) != catalog_name(_GLUE)
    assert catalog_name(_GLUE) == catalog_name(IcebergSink(table="c.d", warehouse="s3://lake/w"))
