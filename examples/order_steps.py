"""Steps of orders_again.yaml: functions from a DataFrame and the step's context to a DataFrame."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

REGIONS = {"DE": "europe", "FR": "europe", "US": "america"}


def with_region(rows: DataFrame, context: Any) -> DataFrame:
    """Add ``region``, from the country, and ``batch``, the number of the micro-batch."""
    pairs = [F.lit(part) for pair in REGIONS.items() for part in pair]
    region = F.coalesce(F.create_map(*pairs)[F.col("country")], F.lit("elsewhere"))
    return rows.withColumn("region", region).withColumn("batch", F.lit(context.batch))
