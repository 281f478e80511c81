"""The changes of a batch for a table with keys: the last one of each key, as rows to write and rows to delete.

Sinks of modes ``upsert`` and ``cdc`` share this; what they do with the rows (MERGE, ON CONFLICT, puts) is their own.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import ArrayType, BooleanType, IntegerType, StructField, StructType

from penstock.errors import InvalidInput
from penstock.pipelines.sinks.settings import SinkSettings
from penstock.spark.quoting import quoted
from penstock.spark.sources.port import METADATA

__all__ = ["DELETED", "check_changes", "latest_changes", "order_of_changes", "written_columns"]

DELETED = "_deleted"
"""The boolean column of :func:`latest_changes`: the row with these keys is to be deleted."""

_ORDER, _CHANGE, _RANK = "_order", "_change", "_rank"
_WRITES, _DELETES, _NO_ROWS = ("c", "u", "r"), "d", "m"


def written_columns(columns: StructType, sink: SinkSettings) -> StructType:
    """Return the columns of a sink's table, for rows of ``columns``: without the source's metadata.

    Of Debezium's envelope they are the fields of ``after``; a declared operation column is not in the table. Raises
    :class:`InvalidInput` if the envelope or the keys are not there.
    """
    metadata = set(METADATA.values())
    written = StructType([field for field in columns.fields if field.name not in metadata])
    if sink.changes is not None and sink.changes.envelope == "debezium":
        _require(written.names, ("op", "before", "after"), sink, "Debezium's envelope")
        after = written["after"].dataType
        if not isinstance(after, StructType):
            raise InvalidInput(f"Sink {sink.name}: the column 'after' of Debezium's envelope is {after.simpleString()}.")
        written = after
    elif sink.changes is not None:
        _require(written.names, (sink.changes.operation,), sink, "the operation of a row")
        written = StructType([field for field in written.fields if field.name != sink.changes.operation])
    _require(written.names, sink.keys, sink, "its keys")
    return StructType(written.fields)


def check_changes(columns: StructType, sink: SinkSettings) -> None:
    """Raise :class:`InvalidInput` unless rows of ``columns`` have the keys, the operation and the order of changes."""
    written_columns(columns, sink)
    if sink.mode != "append":
        order_of_changes(columns.names, sink)


def order_of_changes(columns: Sequence[str], sink: SinkSettings) -> list[str]:
    """Return the columns of a batch by which later changes follow earlier ones: ``order_by``, then the source's order.

    The source's order is that of a partition's offsets, or of a stream's sequence numbers. Raises
    :class:`InvalidInput` if the rows have neither.
    """
    declared = list(sink.order_by)
    offset, sequence = METADATA["offset"], METADATA["sequence"]
    if sequence in columns:
        return [*declared, sequence, *(name for name in (offset,) if name in columns)]
    if offset in columns:
        return [*declared, *(name for name in (METADATA["topic"], METADATA["partition"]) if name in columns), offset]
    if not declared:
        raise InvalidInput(
            f"Sink {sink.name}: nothing says which of two rows with the same keys is the later one.",
            remedy=f"Give 'order_by', or keep {METADATA['partition']} and {offset} in the transform's SELECT.",
        )
    return declared


def latest_changes(rows: DataFrame, sink: SinkSettings) -> DataFrame:
    """Return one row for each key in ``rows``: :func:`written_columns` of it, and :data:`DELETED`.

    Keys are equal as in GROUP BY: null is a value. Of Debezium's envelope ``c``, ``u`` and ``r`` write ``after``, ``d``
    deletes ``before``, an update that changes the keys also deletes the old ones; rows without an operation (the
    tombstone after a delete) and messages (``m``) change nothing; a truncation (``t``) fails the query.
    """
    columns = written_columns(rows.schema, sink)
    order = F.struct(*_order(rows, sink)).alias(_ORDER)
    if sink.changes is not None and sink.changes.envelope == "debezium":
        changes = _debezium(rows, columns, sink, order)
    else:
        values = [F.col(quoted(name)) for name in columns.names]
        changes = rows.select(*values, _deletes(sink).alias(DELETED), order)
    latest = Window.partitionBy(*(F.col(quoted(key)) for key in sink.keys)).orderBy(F.col(_ORDER).desc())
    ranked = changes.withColumn(_RANK, F.row_number().over(latest))
    return ranked.filter(F.col(_RANK) == 1).drop(_RANK, _ORDER)


def _deletes(sink: SinkSettings) -> Column:
    if sink.changes is None:
        return F.lit(False)
    operation = F.col(quoted(sink.changes.operation)).cast("string")
    return F.coalesce(operation.isin(*sink.changes.deletes), F.lit(False))


def _debezium(rows: DataFrame, columns: StructType, sink: SinkSettings, order: Column) -> DataFrame:
    """Return the envelopes of ``rows`` as changes: two of them for an update of the keys, none for a tombstone."""
    operation = F.col("op")

    def change(image: str, number: int) -> Column:
        values = [F.col(image).getField(name).alias(name) for name in columns.names]
        return F.struct(*values, F.lit(image == "before").alias(DELETED), F.lit(number).alias("_number"))

    moved = F.lit(False)
    for key in sink.keys:
        moved = moved | ~F.col("before").getField(key).eqNullSafe(F.col("after").getField(key))
    refused = F.concat(F.lit(f"Sink {sink.name} cannot apply Debezium's operation '"), operation, F.lit("'."))
    changes = (
        F.when(operation.isNull() | (operation == _NO_ROWS), F.array().cast(_array_of(columns)))
        .when(operation == _DELETES, F.array(change("before", 0)))
        .when((operation == "u") & F.col("before").isNotNull() & moved, F.array(change("before", 0), change("after", 1)))
        .when(operation.isin(*_WRITES), F.array(change("after", 1)))
        .otherwise(F.raise_error(refused))
    )
    flat = rows.select(F.explode(changes).alias(_CHANGE), order)
    values = [F.col(_CHANGE).getField(name).alias(name) for name in columns.names]
    return flat.select(
        *values,
        F.col(_CHANGE).getField(DELETED).alias(DELETED),
        F.struct(F.col(_ORDER), F.col(_CHANGE).getField("_number")).alias(_ORDER),
    )


def _array_of(columns: StructType) -> ArrayType:
    own = [StructField(DELETED, BooleanType()), StructField("_number", IntegerType())]
    return ArrayType(StructType([*columns.fields, *own]))


def _order(rows: DataFrame, sink: SinkSettings) -> list[Column]:
    order = []
    for number, name in enumerate(order_of_changes(rows.columns, sink)):
        if name == METADATA["sequence"]:  # a number too long for an integer, as text
            order.append(F.length(name).alias(f"length{number}"))
        order.append(_ordering(rows, name, sink).alias(f"by{number}"))
    return order


def _ordering(rows: DataFrame, name: str, sink: SinkSettings) -> Column:
    """Return a column of the order: one of the rows, a field of one (``source.lsn``), or one of Debezium's images."""
    if name in rows.columns:
        return F.col(quoted(name))
    if name.partition(".")[0] in rows.columns:
        return F.col(name)
    if sink.changes is not None and sink.changes.envelope == "debezium":
        return F.coalesce(F.col("after").getField(name), F.col("before").getField(name))
    raise InvalidInput(f"Sink {sink.name}: 'order_by' names '{name}', which the rows do not have.")


def _require(names: Sequence[str], columns: Sequence[str], sink: SinkSettings, what: str) -> None:
    if missing := [name for name in columns if name not in names]:
        raise InvalidInput(
            f"Sink {sink.name}: the rows lack {what}: {', '.join(missing)}.",
            remedy=f"The rows have: {', '.join(names)}.",
        )
