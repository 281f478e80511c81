"""The transforms; those that are refused raise at their use."""

import json
from typing import Any

from penstock.glue.errors import refused_name
from penstock.glue.frames.transforms import (
    ApplyMapping,
    Coalesce,
    DropFields,
    DropNullFields,
    ErrorsAsDynamicFrame,
    Filter,
    FlatMap,
    GlueTransform,
    Join,
    Map,
    MapToCollection,
    Relationalize,
    RenameField,
    Repartition,
    ResolveChoice,
    SelectFields,
    SelectFromCollection,
    Spigot,
    SplitFields,
    SplitRows,
    Unbox,
    Union,
    UnnestFrame,
)

__all__ = [
    "ApplyMapping",
    "Coalesce",
    "DropFields",
    "DropNullFields",
    "ErrorsAsDynamicFrame",
    "Filter",
    "FlatMap",
    "GlueTransform",
    "Join",
    "Map",
    "MapToCollection",
    "Relationalize",
    "RenameField",
    "Repartition",
    "ResolveChoice",
    "SelectFields",
    "SelectFromCollection",
    "Spigot",
    "SplitFields",
    "SplitRows",
    "Unbox",
    "Union",
    "UnnestFrame",
]
ALL_TRANSFORMS = {subclass for subclass in GlueTransform.__subclasses__() if subclass.__name__ in __all__}


def get_transforms() -> set[GlueTransform]:
    """Return one of each transform."""
    return {transform() for transform in ALL_TRANSFORMS}


def get_transform(name: str) -> GlueTransform | None:
    """Return the transform of this name, in any case; None if there is none."""
    return next((transform for transform in get_transforms() if transform.name().lower() == name.lower()), None)


def describe_transform(name: str) -> str:
    """Return the description of a transform as JSON."""
    transform = get_transform(name)
    return json.dumps(transform.describe() if transform else {}, sort_keys=True, indent=4, default=str)


def __getattr__(name: str) -> Any:
    return refused_name(__name__, name)
