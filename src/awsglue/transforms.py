"""The transforms; those that are refused raise at their use."""

from typing import Any

from penstock.spark.glue.errors import TRANSFORMS, refused_name
from penstock.spark.glue.frames.transforms import (
    ApplyMapping,
    DropFields,
    DropNullFields,
    Filter,
    GlueTransform,
    Map,
    RenameField,
    Repartition,
    SelectFields,
    Union,
)

__all__ = [
    "ApplyMapping",
    "DropFields",
    "DropNullFields",
    "Filter",
    "GlueTransform",
    "Map",
    "RenameField",
    "Repartition",
    "SelectFields",
    "Union",
]
# So that ``import *`` finds the refused ones, too.
__all__ += list(TRANSFORMS)


def __getattr__(name: str) -> Any:
    return refused_name(__name__, name)
