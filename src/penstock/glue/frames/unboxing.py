"""Unbox: text within a column becomes the value that it is the JSON or CSV of."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as s

from penstock.errors import InvalidInput
from penstock.glue.frames.error_records import ErrorStage
from penstock.glue.frames.fields import find_path, quoted, split
from penstock.glue.schemas import gluetypes as g
from penstock.glue.schemas.inference import Observed
from penstock.glue.schemas.json_records import reading_type, with_choices
from penstock.spark.types import ddl

__all__ = ["unboxed"]

_KNOWN = {"withSchema", "separator", "escaper", "quoteChar"}
_VALUE = "__penstock_value"


def unboxed(
    frame: DataFrame, path: str, form: str, options: Mapping[str, Any], info: str
) -> tuple[DataFrame, ErrorStage | None]:
    """Return the frame with the value at ``path`` read, and the records whose text could not be read.

    ``form`` is ``json``, or ``csv`` with the option ``withSchema``, the JSON of a StructType. Raises
    :class:`InvalidInput` for other formats and options, and if there is no such field.
    """
    where = find_path(frame.schema, split(path))
    if where is None:
        raise InvalidInput(f"There is no field {path} to unbox.", remedy=f"The columns are {', '.join(frame.columns)}.")
    unknown = options.keys() - _KNOWN
    if unknown:
        raise InvalidInput(f"Unbox has no option {min(unknown)!r} here.", remedy=f"Known are {', '.join(sorted(_KNOWN))}.")
    text = F.col(quoted(where)).cast("string")
    schema = _schema(options.get("withSchema"))
    if form == "json":
        value = F.from_json(text, schema) if schema is not None else _read(text, _inferred(frame.select(text)))
    elif form == "csv" and schema is not None:
        settings = {"sep": options.get("separator", ","), "quote": options.get("quoteChar", '"')}
        value = F.from_csv(text, ddl(schema), {**settings, "escape": options.get("escaper", "\\")})
    else:
        raise InvalidInput(
            f"Unbox cannot read {form}.", remedy="Use json, or csv with withSchema; else toDF() and Spark's functions."
        )
    read = frame.withColumn(_VALUE, value)
    bad = text.isNotNull() & (F.try_parse_json(text) if form == "json" else F.col(_VALUE)).isNull()
    stage = ErrorStage("unbox", info, lambda: read.where(bad).select(*_error(text, form, path)))
    return _put(read.where(~bad), where, F.col(_VALUE)).drop(_VALUE), stage


def _error(text: Column, form: str, path: str) -> list[Column]:
    message = F.lit(f"The text of {path} is not {form}.")
    return [message.alias("msg"), F.array().cast("array<string>").alias("stackTrace"), text.alias("input")]


def _put(frame: DataFrame, path: tuple[str, ...], value: Column) -> DataFrame:
    root = F.col(f"`{path[0]}`")
    inner = ".".join(f"`{name}`" for name in path[1:])
    return frame.withColumn(path[0], root.withField(inner, value) if inner else value)


def _schema(text: Any) -> s.StructType | None:
    if text is None:
        return None
    try:
        return s.StructType.fromJson(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"Option withSchema cannot be read: {error}.", remedy="Write StructType(...).json().") from None


def _read(text: Column, data_type: g.DataType) -> Column:
    target = reading_type(data_type)
    if not isinstance(target, s.StructType | s.ArrayType):
        remedy = "Unbox needs objects, or arrays; cast the column to another type instead."
        raise InvalidInput(f"The texts are JSON of type {data_type.typeName()}.", remedy=remedy)
    return with_choices(F.from_json(text, target), data_type)


def _inferred(texts: DataFrame) -> g.DataType:
    def types_of(rows: Iterable[Any]) -> Iterator[g.DataType]:
        observed = Observed()
        for row in rows:
            try:
                observed.add(json.loads(row[0]))
            except (ValueError, TypeError, RecursionError):
                continue
        yield observed.type()

    whole: g.DataType = g.UnknownType()
    for data_type in texts.rdd.mapPartitions(types_of).collect():
        whole = g.mergeDataTypes(whole, data_type)
    return g.StructType() if isinstance(whole, g.UnknownType | g.NullType) else whole
