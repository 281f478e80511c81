"""The functions of scripts, applied to the records of a frame by Spark's workers."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructField, StructType

from penstock.glue.frames.error_records import ErrorStage, error_messages
from penstock.glue.frames.records import ERROR_FIELDS, Attempt, attempts, record_reader, row_writer
from penstock.glue.payload import inferred
from penstock.glue.schemas import gluetypes as g
from penstock.glue.schemas.choices import SPARSE, WIDE, glue_type, spark_type
from penstock.glue.schemas.inference import Observed, normalised
from penstock.glue.schemas.json_records import JsonFrame

__all__ = ["filtered", "json_source", "mapped", "partitions_mapped"]

_log = logging.getLogger("awsglue")

Function = Callable[[Any], Any]


def json_source(texts: DataFrame) -> tuple[Callable[[], DataFrame], ErrorStage]:
    """Return a function that makes the frame of a source's JSON text, and the text that is not JSON."""
    frames: list[JsonFrame] = []

    def once() -> JsonFrame:
        if not frames:
            frames.append(inferred(texts, nulls=False))
            if frames[0].count:
                _log.warning("%d records are not JSON and are set aside. See errorsAsDynamicFrame().", frames[0].count)
        return frames[0]

    def errors() -> DataFrame:
        empty = F.array().cast("array<string>").alias("stackTrace")
        return once().bad.toDF("input").select(F.lit("The record is not JSON.").alias("msg"), empty, "input")

    return lambda: once().frame, ErrorStage("source", "", errors)


def filtered(frame: DataFrame, function: Function, info: str) -> tuple[DataFrame, ErrorStage]:
    """Return the rows for which ``function(record)`` is true, and those for which it raised."""
    schema = frame.schema
    messages = error_messages(frame.sparkSession.sparkContext, "filter")

    def kept(rows: Iterable[Any]) -> Iterator[Any]:
        current: list[Any] = []

        def noted() -> Iterator[Any]:
            for row in rows:
                current[:] = [row]
                yield row

        for attempt in attempts(noted(), schema, function, traced=False):
            if attempt.error is not None:
                messages.add([attempt.error[0]])
            elif attempt.result:
                yield current[0]

    rows = frame.rdd.mapPartitions(kept)
    return _frame(frame, rows, schema), _errors("filter", info, frame, lambda parts: attempts(parts, schema, function))


def mapped(frame: DataFrame, function: Function, info: str) -> tuple[Callable[[], DataFrame], ErrorStage]:
    """Return a function that makes the frame of each ``function(record)``, and the records for which it raised or returned
    no record. Making the frame runs ``function`` once, because the results have the types.
    """
    schema = frame.schema
    messages = error_messages(frame.sparkSession.sparkContext, "map")

    def checked(record: Any) -> dict[str, Any]:
        result = function(record)
        if not isinstance(result, Mapping) or not result:
            shown = "None" if result is None else "nothing" if result == {} else f"a {type(result).__name__}"
            raise TypeError(f"the function returned {shown} instead of a record")
        return normalised(result)  # type: ignore[no-any-return]

    def tried(rows: Iterable[Any]) -> Iterator[Attempt]:
        return attempts(rows, schema, checked)

    def results(rows: Iterable[Any]) -> Iterator[dict[str, Any]]:
        for attempt in attempts(rows, schema, checked, traced=False):
            if attempt.error is None:
                yield attempt.result
            else:
                messages.add([attempt.error[0]])

    return lambda: _inferred(frame, frame.rdd.mapPartitions(results)), _errors("map", info, frame, tried)


def partitions_mapped(frame: DataFrame, function: Callable[[int, Iterator[Any]], Iterable[Any]]) -> DataFrame:
    """Return a row of each record of ``function(index, records)``, which is called for each partition.

    An exception fails the job, because it has no record of its own that could be set aside.
    """
    schema = frame.schema

    def results(index: int, rows: Iterable[Any]) -> Iterator[Any]:
        read = record_reader(schema)
        assert read is not None
        for record in function(index, (read(row) for row in rows)):
            yield normalised(record)

    return _inferred(frame, frame.rdd.mapPartitionsWithIndex(results))


def _inferred(frame: DataFrame, results: Any) -> DataFrame:
    """Return the frame of an RDD of dicts, by the types of all of them; fields keep the types of ``frame`` if they fit."""
    hint = glue_type(frame.schema)

    def types_of(records: Iterable[dict[str, Any]]) -> Iterator[tuple[g.DataType, frozenset[str]]]:
        observed = Observed(hint)
        for record in records:
            observed.add(record)
        yield observed.type(), observed.null_fields()

    data_type: g.DataType = g.UnknownType()
    null: set[str] = set()
    for item, names in results.mapPartitions(types_of).collect():
        data_type = g.mergeDataTypes(data_type, item)
        null |= names
    if not isinstance(data_type, g.StructType):
        return frame.limit(0)
    inferred_type = spark_type(_completed(data_type, hint))
    assert isinstance(inferred_type, StructType)
    wide = {field.name for field in frame.schema.fields if WIDE.items() <= field.metadata.items()}
    schema = StructType()
    for item in inferred_type.fields:
        marks = {**(WIDE if item.name in wide else {}), **({} if item.name in null else SPARSE)}
        schema.add(StructField(item.name, item.dataType, True, marks))
    write = row_writer(schema)
    return _frame(frame, results.map(write), schema)


def _completed(data_type: g.DataType, hint: g.DataType | None) -> g.DataType:
    """Give nulls the type that their field had, and integers of both sizes the larger one."""
    if isinstance(data_type, g.NullType | g.UnknownType):
        return hint or data_type
    if isinstance(data_type, g.StructType):
        hints = {field.name: field.dataType for field in hint} if isinstance(hint, g.StructType) else {}
        return g.StructType([g.Field(field.name, _completed(field.dataType, hints.get(field.name))) for field in data_type])
    if isinstance(data_type, g.ArrayType):
        return g.ArrayType(_completed(data_type.elementType, hint.elementType if isinstance(hint, g.ArrayType) else None))
    if isinstance(data_type, g.ChoiceType):
        rest = [choice for name, choice in data_type.choices.items() if name != "int" or "long" not in data_type.choices]
        return rest[0] if len(rest) == 1 else g.ChoiceType(rest)
    return data_type


def _errors(name: str, info: str, frame: DataFrame, tried: Callable[[Iterable[Any]], Iterator[Attempt]]) -> ErrorStage:
    def errors(rows: Iterable[Any]) -> Iterator[Any]:
        for attempt in tried(rows):
            if attempt.error is not None:
                yield attempt.error

    return ErrorStage(name, info, lambda: _frame(frame, frame.rdd.mapPartitions(errors), ERROR_FIELDS))


def _frame(like: DataFrame, rows: Any, schema: StructType) -> DataFrame:
    # The values have the schema's types already; Spark's own check of each would only repeat that.
    return like.sparkSession.createDataFrame(rows, schema, verifySchema=False)
