"""Types of connections that AWS documents and that are not served, with what to write instead.

Source: "Connection types and options for ETL in AWS Glue for Spark",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect.html.
"""

from collections.abc import Collection, Mapping

__all__ = ["type_remedy"]

_MONGO = "MongoDB's own connector of Spark (org.mongodb.spark:mongo-spark-connector)"
_DRIVER = "the database's JDBC driver"
_OWN: Mapping[str, tuple[str, str]] = {
    "mongodb": (_MONGO, "mongodb"),
    "documentdb": (_MONGO, "mongodb"),
    "opensearch": ("OpenSearch's own connector of Spark", "opensearch"),
    "snowflake": ("Snowflake's own connector of Spark (net.snowflake:spark-snowflake)", "net.snowflake.spark.snowflake"),
    "bigquery": ("BigQuery's own connector of Spark (com.google.cloud.spark:spark-bigquery-with-dependencies)", "bigquery"),
    "azurecosmos": ("Cosmos DB's own connector of Spark (com.azure.cosmos.spark)", "cosmos.oltp"),
    **dict.fromkeys(("azuresql", "teradata", "saphana", "vertica", "custom.jdbc"), (_DRIVER, "jdbc")),
}
"""A connector of Spark that a script can bring itself, and the name of its format."""

_HUDI = "No release of Hudi's connector for this Spark resolves: use a table of Iceberg or Delta."
_MARKET = "Connectors of AWS's marketplace run at AWS alone: start the job with the connector's file by --extra-jars"


def type_remedy(connection_type: str, served: Collection[str], *, writes: bool) -> str:
    """Return what to write in the place of ``connection_type``; ``served`` are the types that can be used."""
    verb = "frame.toDF().write" if writes else "spark.read"
    name = connection_type.strip().lower()
    if name == "hudi":
        return _HUDI
    if name in _OWN:
        brought, form = _OWN[name]
        return f'Start the job with {brought} by --extra-jars, and use {verb}.format("{form}").'
    if name.startswith(("custom.", "marketplace.")):
        return f"{_MARKET}, and use {verb}.format with its name."
    return f"Use one of {', '.join(sorted(served))}, or {verb}."
