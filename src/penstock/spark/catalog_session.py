"""Spark SQL over the data catalog: tables by name, Hive's and Iceberg's alike.

Spark reads definitions by Hive's protocol, so a metastore of :mod:`penstock.metastore` stands between it and Glue's API.
Iceberg's tables, which Hive's definitions do not describe, are read and written by Iceberg's session catalog, which has
its own client of Glue.
"""

from collections.abc import Mapping

__all__ = ["catalog_configuration"]

_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_CATALOG = "spark.sql.catalog.spark_catalog"


def catalog_configuration(
    metastore_uri: str, *, warehouse: str, environment: Mapping[str, str], iceberg: bool = True, folder_lake: bool = False
) -> dict[str, str]:
    """Return Spark's configuration of a session whose tables are the catalog's.

    ``metastore_uri`` is that of a running metastore (``thrift://127.0.0.1:9083``), ``warehouse`` the ``s3://`` folder of
    databases without a location. ``environment`` has AWS's variables of endpoints and region. With ``iceberg``, Iceberg's
    jars of the groups ``iceberg`` and ``iceberg-aws`` have to be on the class path. ``folder_lake`` says that ``s3://`` is
    the embedded lake's folder.
    """
    configuration = {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.hive.metastore.uris": metastore_uri,
        "spark.sql.warehouse.dir": warehouse,
        # What Glue's expressions lack, Spark filters itself.
        "spark.sql.hive.metastorePartitionPruningFallbackOnException": "true",
    }
    if not iceberg:
        return configuration
    configuration |= {
        "spark.sql.extensions": _EXTENSIONS,
        _CATALOG: "org.apache.iceberg.spark.SparkSessionCatalog",
        f"{_CATALOG}.type": "glue",
        f"{_CATALOG}.warehouse": warehouse,
        f"{_CATALOG}.cache-enabled": "false",
    }
    every = environment.get("AWS_ENDPOINT_URL")
    if glue := environment.get("AWS_ENDPOINT_URL_GLUE") or every:
        configuration[f"{_CATALOG}.glue.endpoint"] = glue
    if region := environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION"):
        configuration[f"{_CATALOG}.client.region"] = region
    if folder_lake:
        configuration[f"{_CATALOG}.io-impl"] = "org.apache.iceberg.hadoop.HadoopFileIO"
    elif s3 := environment.get("AWS_ENDPOINT_URL_S3") or every:
        configuration |= {f"{_CATALOG}.s3.endpoint": s3, f"{_CATALOG}.s3.path-style-access": "true"}
    return configuration
