"""Nested frames as flat ones: ``unnest``, and ``relationalize``, which makes a frame of each array.

Names are AWS's: field ``b`` of struct ``a`` is ``a.b``; the frame of the array ``c`` is ``root_c``, with ``id``, ``index``
and ``c.val``, or ``c.val.x`` for a field x of its structs; ``c`` of the root is the id. An array x within them is the frame
``root_c.val.x``, as AWS's sample reads them: https://github.com/aws-samples/aws-glue-flatten-nested-json.
"""

import uuid
from collections.abc import Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as s

from penstock.glue.schemas.choices import is_choice

__all__ = ["exploded_with_index", "flat_columns", "relationalized", "unnested"]

_ID = "__penstock_id"


def unnested(frame: DataFrame) -> DataFrame:
    """Return the frame with the fields of all structs as columns; arrays, maps and choices stay."""
    return frame.select(*(column.alias(name) for name, column, _ in flat_columns(frame)))


def flat_columns(
    frame: DataFrame, *, separator: str = ".", levels: int | None = None
) -> Iterator[tuple[str, Column, s.DataType]]:
    """Yield name, column and type of each field that is not a struct, or is one ``levels`` deep."""
    for field in frame.schema.fields:
        yield from _leaves(field.name, F.col(f"`{field.name}`"), field.dataType, separator, levels)


def _leaves(
    name: str, column: Column, data_type: s.DataType, separator: str, levels: int | None
) -> Iterator[tuple[str, Column, s.DataType]]:
    if levels != 0 and isinstance(data_type, s.StructType) and data_type.fields and not is_choice(data_type):
        deeper = None if levels is None else levels - 1
        for field in data_type.fields:
            yield from _leaves(f"{name}{separator}{field.name}", column[field.name], field.dataType, separator, deeper)
    else:
        yield name, column, data_type


def relationalized(frame: DataFrame, root: str, staging: str) -> dict[str, DataFrame]:
    """Return the flat frames by their names: the root's, then one for each array within it, at any depth.

    Rows get their ids once, in files under ``staging``, or in Spark's memory and disks if it is empty; so the ids of all
    frames agree.
    """
    tables: dict[str, DataFrame] = {}
    _add(tables, root, root, frame, staging)
    return tables


def _add(tables: dict[str, DataFrame], name: str, root: str, frame: DataFrame, staging: str) -> None:
    flat = list(flat_columns(frame))
    arrays = [(path, data_type) for path, _, data_type in flat if isinstance(data_type, s.ArrayType)]
    plain = frame.select(*(column.alias(path) for path, column, _ in flat))
    if not arrays:
        tables[name] = plain
        return
    numbered = _stored(plain.withColumn(_ID, F.monotonically_increasing_id()), f"{staging.rstrip('/')}/" if staging else "")
    names = {path for path, _ in arrays}
    tables[name] = numbered.select(
        *(
            F.when(F.col(f"`{path}`").isNotNull(), F.col(_ID)).alias(path) if path in names else F.col(f"`{path}`")
            for path, _, _ in flat
        )
    )
    for path, _ in arrays:
        rows = numbered.select(F.col(_ID).alias("id"), F.posexplode(f"`{path}`").alias("index", f"{path}.val"))
        _add(tables, f"{root}_{path}", root, rows, staging)


def exploded_with_index(column: Column | str) -> Column:
    """Return the columns ``index``, from 0, and ``val`` of a row for each element of an array."""
    return F.posexplode(column).alias("index", "val")


def _stored(frame: DataFrame, staging: str) -> DataFrame:
    """Return the same rows, computed once. Parquet cannot have columns of no type, which are added again."""
    if not staging:
        return frame.persist()
    empty = {field.name for field in frame.schema.fields if isinstance(field.dataType, s.NullType)}
    path = f"{staging}relationalize-{uuid.uuid4().hex}"
    frame.select(*(F.col(f"`{name}`") for name in frame.columns if name not in empty)).write.parquet(path)
    read = frame.sparkSession.read.schema(s.StructType([field for field in frame.schema.fields if field.name not in empty]))
    stored = read.parquet(path)
    return stored.select(*(F.lit(None).alias(name) if name in empty else F.col(f"`{name}`") for name in frame.columns))
