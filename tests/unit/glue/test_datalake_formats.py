"""The argument --datalake-formats: what Spark gets for it."""

import pytest

from penstock.errors import InvalidInput
from penstock.glue.datalake import datalake_configuration, datalake_formats, datalake_groups

ENDPOINTS = {"AWS_ENDPOINT_URL": "http://127.0.0.1:8750", "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:8760", "AWS_REGION": "eu"}


def configuration(
    script: str = "", formats: tuple[str, ...] = ("iceberg",), *arguments: str, folder_lake: bool = True
) -> dict[str, str]:
    return datalake_configuration(
        formats, script, arguments=arguments, environment=ENDPOINTS, bucket="shop", folder_lake=folder_lake
    )


def test_formats_are_read_as_glue_writes_them() -> None:
    assert datalake_formats(["--x", "1", "--datalake-formats", "iceberg, Delta"]) == ("iceberg", "delta")
    assert datalake_formats(["--datalake-formats=delta"]) == ("delta",)
    assert datalake_formats(["--datalake-formats"]) == datalake_formats([]) == ()
    assert datalake_groups(("iceberg", "delta")) == ("iceberg", "iceberg-aws", "delta")
    with pytest.raises(InvalidInput, match="names hudi, which is not served"):
        datalake_formats(["--datalake-formats", "hudi,delta"])


def test_the_catalog_of_aws_examples_is_there_without_a_word_of_the_script() -> None:
    results = configuration()
    name = "spark.sql.catalog.glue_catalog"
    assert results[name] == "org.apache.iceberg.spark.SparkCatalog"
    assert (results[f"{name}.type"], results[f"{name}.glue.endpoint"]) == ("glue", "http://127.0.0.1:8750")
    assert (results[f"{name}.warehouse"], results[f"{name}.io-impl"]) == (
        "s3://shop/warehouse/", "org.apache.iceberg.hadoop.HadoopFileIO"
    )  # fmt: skip
    assert f"{name}.io-impl" not in configuration(folder_lake=False)
    assert configuration(formats=()) == {}


def test_a_catalog_that_the_script_configures_keeps_its_settings_and_gets_our_endpoints() -> None:
    script = """
    spark = SparkSession.builder.config("spark.sql.catalog.my_catalog", "org.apache.iceberg.spark.SparkCatalog") \\
        .config("spark.sql.catalog.glue_catalog.catalog-impl", "org.apache.iceberg.aws.glue.GlueCatalog").getOrCreate()
    """
    results = configuration(script)
    for name in ("my_catalog", "glue_catalog"):
        assert results[f"spark.sql.catalog.{name}.glue.endpoint"] == "http://127.0.0.1:8750"
        assert results[f"spark.sql.catalog.{name}.s3.path-style-access"] == "true"
        # Iceberg refuses a catalog with both a type and a class.
        assert f"spark.sql.catalog.{name}.type" not in results
        assert f"spark.sql.catalog.{name}" not in results


@pytest.mark.parametrize(
    ("script", "argument"),
    [
        ('CATALOG = args["catalog"]\nconf = [(f"spark.sql.catalog.{CATALOG}.catalog-impl", "x")]', "glue_catalog"),
        ('C = args["catalog"]\nconf = [("spark.sql.catalog." + C + ".catalog-impl", "x")]', "--catalog=glue_catalog"),
        ("CATALOG = 'glue_catalog'\nconf = [('spark.sql.catalog.%s.catalog-impl' % CATALOG, 'x')]", "other"),
        ('c = args.get("catalog", "glue_catalog")\nconf = [("spark.sql.catalog.{}.catalog-impl".format(c), 1)]', "other"),
    ],
)  # fmt: skip
def test_a_catalog_whose_name_the_script_computes_gets_our_endpoints(script: str, argument: str) -> None:
    results = configuration(script, ("iceberg",), "--JOB_NAME", "merge into", argument, "--path=s3://a/b")
    assert results["spark.sql.catalog.glue_catalog.glue.endpoint"] == "http://127.0.0.1:8750"
    assert "spark.sql.catalog.glue_catalog.type" not in results
    assert not [name for name in results if "merge" in name or "s3:" in name or "JOB_NAME" in name]


def test_a_catalog_of_a_comment_or_without_a_class_is_completed() -> None:
    script = """
    # spark.conf.set("spark.sql.catalog.glue_catalog.catalog-impl", "org.apache.iceberg.aws.glue.GlueCatalog")
    spark.conf.set("spark.sql.catalog.glue_catalog.warehouse", "s3://mine/")
    """
    assert configuration(script) == configuration()


def test_both_formats_extend_one_session() -> None:
    results = configuration(formats=("iceberg", "delta"))
    assert results["spark.sql.extensions"].split(",") == [
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions", "io.delta.sql.DeltaSparkSessionExtension"
    ]  # fmt: skip
    assert results["spark.sql.catalog.spark_catalog"] == "org.apache.spark.sql.delta.catalog.DeltaCatalog"
