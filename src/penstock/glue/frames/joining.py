"""Joins and merges of frames by equal keys."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.errors import InvalidInput
from penstock.glue.frames.fields import Path, find_path, quoted, split
from penstock.glue.schemas.aligning import union_of

__all__ = ["joined", "merged_frames", "split_condition"]

_OPERATORS: Mapping[str, Any] = {
    "=": lambda one, other: one == other,
    "==": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    ">": lambda one, other: one > other,
    "<": lambda one, other: one < other,
    ">=": lambda one, other: one >= other,
    "<=": lambda one, other: one <= other,
}


def joined(one: DataFrame, other: DataFrame, keys1: Sequence[str], keys2: Sequence[str]) -> DataFrame:
    """Return the pairs of rows whose keys are equal, with the fields of both.

    A field of ``other`` whose name ``one`` has, too, gets a point before its name, as on AWS: ``.id``, by which scripts of
    Glue Studio drop it after the join. Raises :class:`InvalidInput` for keys that do not exist, and for two lists of
    different lengths.
    """
    if not keys1 or len(keys1) != len(keys2):
        raise InvalidInput(
            f"A join of {len(keys1)} keys with {len(keys2)} is not possible.", remedy="Give as many keys of both."
        )
    paths1 = [_key(one, key) for key in keys1]
    paths2 = [_key(other, key) for key in keys2]
    own_names = {name.lower() for name in one.columns}
    names = {name: f".{name}" if name.lower() in own_names else name for name in other.columns}
    left, right = one.alias("left"), other.toDF(*names.values()).alias("right")
    equal = [
        F.col(f"left.{quoted(mine)}") == F.col(f"right.{quoted((names[theirs[0]], *theirs[1:]))}")
        for mine, theirs in zip(paths1, paths2, strict=True)
    ]
    return left.join(right, reduce(and_, equal), "inner")


def _key(frame: DataFrame, text: str) -> Path:
    path = find_path(frame.schema, split(text))
    if path is None:
        raise InvalidInput(f"There is no field {text} to join by.", remedy=f"The columns are {', '.join(frame.columns)}.")
    return path


def merged_frames(frame: DataFrame, staged: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return the rows of ``staged``, and those of ``frame`` whose keys it does not have. Duplicates stay."""
    paths = [_key(frame, key) for key in keys]
    others = [_key(staged, key) for key in keys]
    new = (
        staged.select(*(F.col(quoted(path)).alias(f"k{index}") for index, path in enumerate(others))).distinct().alias("new")
    )
    equal = [F.col(f"old.{quoted(path)}") == F.col(f"new.k{index}") for index, path in enumerate(paths)]
    unmatched = frame.alias("old").join(new, reduce(and_, equal), "left_anti")
    return union_of(unmatched, staged)


def split_condition(frame: DataFrame, comparisons: Mapping[str, Mapping[str, Any]]) -> Column:
    """Return the condition that all ``comparisons`` hold, such as ``{"age": {">": 10, "<": 20}}``; false for nulls."""
    whole: list[Column] = []
    for text, tests in comparisons.items():
        column = F.col(quoted(_key(frame, text)))
        for operator, value in tests.items():
            if operator not in _OPERATORS:
                raise InvalidInput(f"{operator!r} is not a comparison.", remedy=f"Use one of {' '.join(_OPERATORS)}.")
            whole.append(_OPERATORS[operator](column, F.lit(value)))
    if not whole:
        raise InvalidInput("There is nothing to split the rows by.", remedy='Write {"age": {">": 10}}.')
    return F.coalesce(reduce(and_, whole), F.lit(False))
