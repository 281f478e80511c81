"""Iceberg's catalogs in a running Spark session: Glue's API, ours or AWS's, or a REST catalog."""

import hashlib
import json
from collections.abc import Mapping

from pyspark.sql import SparkSession

from penstock.pipelines.sinks.iceberg import IcebergSink

__all__ = ["catalog_configuration", "catalog_name", "use_catalog"]

_HADOOP_IO = "org.apache.iceberg.hadoop.HadoopFileIO"


def catalog_name(sink: IcebergSink) -> str:
    """Return the name of the sink's catalog in Spark: the same for sinks with the same catalog."""
    declared = [sink.catalog.type, sink.catalog.uri, sink.warehouse, sorted(sink.catalog.properties.items())]
    return "penstock_" + hashlib.sha256(json.dumps(declared).encode()).hexdigest()[:12]


def catalog_configuration(sink: IcebergSink, environment: Mapping[str, str], *, folder_lake: bool) -> dict[str, str]:
    """Return the catalog's properties as Iceberg names them.

    Endpoints and the region are those of AWS's own variables in ``environment``; keys are found by AWS's chain. With
    ``folder_lake``, files of tables go through Spark's file systems, which resolve ``s3://`` names into the lake's folder.
    """
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    every = environment.get("AWS_ENDPOINT_URL")
    configuration = {"type": sink.catalog.type, "cache-enabled": "false"}
    if sink.catalog.uri is not None:
        configuration["uri"] = sink.catalog.uri
    if sink.warehouse is not None:
        configuration["warehouse"] = sink.warehouse
    if sink.catalog.type == "glue":
        # The catalog needs a warehouse, also if each table has a location.
        configuration.setdefault("warehouse", str(sink.location))
        if endpoint := environment.get("AWS_ENDPOINT_URL_GLUE") or every:
            configuration["glue.endpoint"] = endpoint
    if region:
        configuration["client.region"] = region
    local = folder_lake or (sink.folder is not None and not sink.folder.startswith(("s3://", "s3a://")))
    if local:
        configuration["io-impl"] = _HADOOP_IO
    elif endpoint := environment.get("AWS_ENDPOINT_URL_S3") or every:
        configuration |= {"s3.endpoint": endpoint, "s3.path-style-access": "true"}
    return {**configuration, **sink.catalog.properties}


def use_catalog(spark: SparkSession, sink: IcebergSink, environment: Mapping[str, str]) -> str:
    """Configure the sink's catalog in ``spark`` and return its name there."""
    overload = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
    folder_lake = spark._jsc.hadoopConfiguration().get("fs.s3.impl") == overload
    name = catalog_name(sink)
    spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
    for key, value in catalog_configuration(sink, environment, folder_lake=folder_lake).items():
        spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
    return name
