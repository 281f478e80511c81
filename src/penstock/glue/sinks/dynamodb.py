"""Tables of DynamoDB: a put for each row, by the writer of the dynamodb sink. A row with a key replaces the item there."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from penstock.errors import InvalidInput
from penstock.glue.options import Options
from penstock.glue.session import in_utc
from penstock.glue.sinks.port import Write
from penstock.glue.sources.dynamodb import acting_session, check_rate, table_options
from penstock.pipelines.sinks.dynamodb import DynamoDbSink
from penstock.spark.sinks.dynamodb.writer import DynamoDbWriter

__all__ = ["to_table", "write"]

_MOST_THREADS = 256


def to_table(request: Write, table: Mapping[str, Any], frame: DataFrame) -> None:
    """Put every row into a table of DynamoDB that a crawler has put into the catalog."""
    options = {**table_options(table, "dynamodb.output.tableName"), **request.options}
    write(replace(request, options=options), frame)


def write(write: Write, frame: DataFrame) -> None:
    """Put every row; nulls are attributes that an item lacks. Raises :class:`InvalidInput`, and NotFound for a table.

    A write that fails has put some rows, and writing the same rows again puts them all.
    """
    options = Options("the dynamodb sink", write.options)
    table = options.text("dynamodb.output.tableName")
    if not table:
        raise InvalidInput("The dynamodb sink needs dynamodb.output.tableName.", remedy="Name the table.")
    check_rate(options, "dynamodb.throughput.write.percent")
    threads = options.number("dynamodb.output.numParallelTasks", 16, least=1) or 16
    region = options.text("dynamodb.region")
    session = acting_session(options, "glue-dynamodb-write-sts-session", region)
    sink = DynamoDbSink(name="dynamodb", table=table, region=region, threads=min(threads, _MOST_THREADS))
    with in_utc(frame) as rows:
        DynamoDbWriter(sink, session=session).load(rows)
