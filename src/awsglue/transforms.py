"""The supported transforms; others raise an error that says so."""

from typing import Any

from penstock.spark.glue.errors import TRANSFORMS, not_supported
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


def __getattr__(name: str) -> Any:
    raise not_supported(TRANSFORMS, "awsglue.transforms", name, __all__)
