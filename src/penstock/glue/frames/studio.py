"""The transforms of Glue Studio, ``gs_*``: methods of DynamicFrame and DataFrame once a script imports one of them.

Source: https://docs.aws.amazon.com/glue/latest/dg/edit-jobs-transforms.html
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NoReturn

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as s

from penstock.errors import InvalidInput
from penstock.glue.errors import not_supported
from penstock.glue.frames.dynamic_frame import DynamicFrame
from penstock.glue.frames.relational import flat_columns
from penstock.glue.frames.unboxing import unboxed
from penstock.glue.library.rows import Row
from penstock.glue.library.table import ROWS

__all__ = ["STUDIO", "attach"]

_FUNCTIONS = ("avg", "count", "first", "last", "max", "mean", "min", "sum", "stddev", "countDistinct", "collect_list")
_TIMES = ("autodetect", "iso", "seconds", "milliseconds")
_LONG_DIGITS = 19
_MILLISECONDS_FROM = 100_000_000_000
"""Numbers from here on are milliseconds: as seconds they would be after the year 5138."""


def _bare(name: str) -> str:
    return name[1:-1] if name.startswith("`") and name.endswith("`") else name


def _names(text: str | Sequence[str]) -> list[str]:
    return [part.strip() for part in (text.split(",") if isinstance(text, str) else text)]


def _is_true(value: bool | str) -> bool:
    return str(value).strip().lower() == "true"


def gs_now(frame: DataFrame, colName: str = "timestamp", dateFormat: str | None = None) -> DataFrame:  # noqa: N803
    """Add the time of this call: a timestamp, or text by ``dateFormat``, which is Python's (with %) or Java's."""
    if dateFormat and "%" in dateFormat:
        return frame.withColumn(_bare(colName), F.lit(datetime.now(UTC).strftime(dateFormat)))
    now = F.lit(datetime.now(UTC))
    return frame.withColumn(_bare(colName), F.date_format(now, dateFormat) if dateFormat else now)


def gs_derived(frame: DataFrame, colName: str, expr: str) -> DataFrame:  # noqa: N803
    """Add or replace a column by an expression of Spark SQL."""
    return frame.withColumn(_bare(colName), F.expr(expr))


def gs_concat(frame: DataFrame, colName: str, colList: Sequence[str], spacer: str = "") -> DataFrame:  # noqa: N803
    """Add the texts of several columns as one, with ``spacer`` between them; nulls are left out."""
    columns = [F.col(f"`{_bare(name)}`").cast("string") for name in colList]
    return frame.withColumn(_bare(colName), F.concat_ws(spacer, *columns))


def gs_explode(frame: DataFrame, colName: str, newCol: str, outer: bool = False) -> DataFrame:  # noqa: N803
    """Return a row for each element of an array, or for each key and value of a map, which is a struct of both."""
    column = F.col(colName)
    data_type = frame.select(column).schema[0].dataType
    values = F.map_entries(column) if isinstance(data_type, s.MapType) else column
    return frame.withColumn(_bare(newCol), F.explode_outer(values) if outer else F.explode(values))


def gs_flatten(frame: DataFrame, maxLevels: int = 0, separator: str = ".") -> DataFrame:  # noqa: N803
    """Make columns of the fields of structs, ``maxLevels`` deep, or all."""
    columns = flat_columns(frame, separator=separator, levels=int(maxLevels) or None)
    return frame.select(*(column.alias(name) for name, column, _ in columns))


def gs_split(frame: DataFrame, colName: str, pattern: str, newColName: str | None = None) -> DataFrame:  # noqa: N803
    """Split text by a regular expression into an array."""
    return frame.withColumn(_bare(newColName or colName), F.split(F.col(colName), pattern))


def gs_array_to_cols(
    frame: DataFrame,
    colName: str,  # noqa: N803
    colList: str | Sequence[str],  # noqa: N803
    indexes: str | Sequence[str] | None = None,
) -> DataFrame:
    """Make columns of an array's elements: the first ones, or those at ``indexes``, which begin with 1."""
    names = _names(colList)
    positions = [int(index_text) for index_text in _names(indexes)] if indexes else range(1, len(names) + 1)
    for name, index in zip(names, positions, strict=True):
        frame = frame.withColumn(name, F.get(F.col(colName), F.lit(index - 1)))
    return frame


def gs_regex_extract(frame: DataFrame, colName: str, regex: str, newCols: str | Sequence[str]) -> DataFrame:  # noqa: N803
    """Make columns of a regular expression's groups, or of all that it matches; null where it does not match."""
    first = 1 if re.compile(regex).groups else 0
    for group, name in enumerate(_names(newCols), first):
        extracted = F.regexp_extract(F.col(colName), regex, group)
        frame = frame.withColumn(name, F.when(F.col(colName).rlike(regex), extracted))
    return frame


def gs_null_rows(frame: DataFrame, extended: bool = False) -> DataFrame:
    """Leave out the rows all of whose columns are null, with ``extended`` also those of empty texts."""
    has_value = F.lit(False)
    for field in frame.schema.fields:
        column = F.col(f"`{field.name}`")
        text = extended and isinstance(field.dataType, s.StringType)
        has_value = has_value | (column.isNotNull() & (F.trim(column) != "") if text else column.isNotNull())
    return frame.where(has_value)


def gs_format_timestamp(
    frame: DataFrame,
    colName: str,  # noqa: N803
    dateFormat: str,  # noqa: N803
    newColName: str | None = None,  # noqa: N803
) -> DataFrame:
    """Write a time as text by a pattern of Java's."""
    return frame.withColumn(_bare(newColName or colName), F.date_format(F.col(colName).cast("timestamp"), dateFormat))


def gs_to_timestamp(
    frame: DataFrame,
    colName: str,  # noqa: N803
    colType: str = "autodetect",  # noqa: N803
    newColName: str | None = None,  # noqa: N803
) -> DataFrame:
    """Read text or numbers as times: ``iso``, ``seconds``, ``milliseconds``, or ``autodetect``. Null for others."""
    unit = colType.strip().lower()
    if unit not in _TIMES:
        raise InvalidInput(f"colType is {colType!r}.", remedy=f"Use one of {', '.join(_TIMES)}.")
    return frame.withColumn(_bare(newColName or colName), _time(F.col(colName), unit))


def _time(column: Column, unit: str) -> Column:
    number = column.cast("string").try_cast("decimal(38,9)")
    seconds, milliseconds = (F.timestamp_micros((number * scale).cast("long")) for scale in (1_000_000, 1_000))
    iso = column.try_cast("timestamp")
    if unit != "autodetect":
        return {"iso": iso, "seconds": seconds, "milliseconds": milliseconds}[unit]
    small = F.abs(number) < _MILLISECONDS_FROM
    return F.when(number.isNull(), F.to_timestamp(column.cast("string"))).when(small, seconds).otherwise(milliseconds)


def gs_uuid(frame: DataFrame, colName: str = "uuid") -> DataFrame:  # noqa: N803
    """Add a random UUID to each row; it changes if the frame is computed again."""
    return frame.withColumn(_bare(colName), F.uuid())


def gs_sequence_id(frame: DataFrame, colName: str = "id", unique: bool | str = False) -> DataFrame:  # noqa: N803
    """Add a number to each row: a long, or with ``unique`` a decimal with the time of this call, for several runs.

    It changes if the frame is computed again from rows in another order.
    """
    number = F.monotonically_increasing_id()
    if _is_true(unique):
        milliseconds = int(datetime.now(UTC).timestamp() * 1000)
        number = (F.lit(Decimal(milliseconds * 10**_LONG_DIGITS)) + number).cast("decimal(38,0)")
    return frame.withColumn(_bare(colName), number)


def gs_parse_json(frame: DataFrame, colName: str, newColName: str | None = None) -> DataFrame:  # noqa: N803
    """Read JSON text as structs. Raises :class:`InvalidInput` if some of it cannot be read."""
    name = _bare(newColName or colName)
    read = frame.withColumn(name, F.col(colName).cast("string"))
    result, errors = unboxed(read, f"`{name}`", "json", {}, "gs_parse_json")
    if errors is not None and errors.count:
        raise InvalidInput(f"{errors.count} texts of {colName} are not JSON.", remedy="Use unbox, which sets them aside.")
    return result


def gs_extract_json(
    frame: DataFrame,
    colName: str,  # noqa: N803
    jsonPaths: str | Sequence[str],  # noqa: N803
    colList: str | Sequence[str],  # noqa: N803
    dropCol: bool | str = False,  # noqa: N803
) -> DataFrame:
    """Make columns of text of what is at paths of JSON, such as ``a``, ``a.b`` or ``$['a']``; null where there is nothing.

    Raises :class:`InvalidInput` if there are not as many names as paths.
    """
    paths, names = _names(jsonPaths), _names(colList)
    if len(paths) != len(names):
        raise InvalidInput(
            f"{len(paths)} jsonPaths have {len(names)} names in colList.", remedy="Give a name for each path."
        )
    text = F.col(colName).cast("string")
    extracted = [
        F.get_json_object(text, path if path.startswith("$") else f"$.{path}").alias(name)
        for path, name in zip(paths, names, strict=True)
    ]
    others = [
        F.col(f"`{name}`")
        for name in frame.columns
        if name not in names and not (_is_true(dropCol) and name == _bare(colName))
    ]
    return frame.select(*others, *extracted)


def gs_repartition(frame: DataFrame, numPartitionsStr: str | int = "") -> DataFrame:  # noqa: N803
    """Make as many partitions, or as many as Spark has cores."""
    count = str(numPartitionsStr).strip()
    return frame.repartition(int(count) if count else frame.sparkSession.sparkContext.defaultParallelism)


def gs_pivot(frame: DataFrame, aggCol: str, aggFunction: str, colList: Sequence[str]) -> DataFrame:  # noqa: N803
    """Make columns of the values of ``colList``, with ``aggFunction`` of ``aggCol``, for each value of the other columns."""
    if aggFunction not in _FUNCTIONS:
        raise InvalidInput(f"aggFunction is {aggFunction!r}.", remedy=f"Use one of {', '.join(_FUNCTIONS)}.")
    pivoted = {*(_bare(name) for name in colList), _bare(aggCol)}
    others = [F.col(f"`{name}`") for name in frame.columns if name not in pivoted]
    key = "__penstock_pivot"
    keyed = frame.withColumn(key, F.concat_ws("_", *(F.col(f"`{_bare(name)}`") for name in colList)))
    return keyed.groupBy(*others).pivot(key).agg(getattr(F, aggFunction)(F.col(aggCol)))


STUDIO: Mapping[str, Callable[..., DataFrame]] = {
    function.__name__: function
    for function in (
        gs_now,
        gs_derived,
        gs_concat,
        gs_explode,
        gs_flatten,
        gs_split,
        gs_array_to_cols,
        gs_regex_extract,
        gs_null_rows,
        gs_format_timestamp,
        gs_to_timestamp,
        gs_uuid,
        gs_sequence_id,
        gs_parse_json,
        gs_extract_json,
        gs_repartition,
        gs_pivot,
    )
}
"""The transforms by name."""


def attach() -> None:
    """Make the transforms methods of DynamicFrame and of Spark's DataFrame; those that are refused raise at a call."""
    for name, function in STUDIO.items():
        setattr(DataFrame, name, function)
        setattr(DynamicFrame, name, _method(function))
    for row in ROWS:
        if row.module.startswith("gs_") and row.status == "refused":
            for owner in (DataFrame, DynamicFrame):
                setattr(owner, row.module, _refusing(row))


def _refusing(row: Row) -> Callable[..., NoReturn]:
    def method(*_: Any, **__: Any) -> NoReturn:
        raise not_supported({row.module: row.note}, "DynamicFrame", row.module)

    return method


def _method(function: Callable[..., DataFrame]) -> Callable[..., DynamicFrame]:
    def method(self: DynamicFrame, *args: Any, **kwargs: Any) -> DynamicFrame:
        kwargs.pop("transformation_ctx", None)
        return self._with(lambda: function(self._frame, *args, **kwargs))

    method.__name__, method.__doc__ = function.__name__, function.__doc__
    return method
