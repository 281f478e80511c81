"""Glue's transforms: classes whose ``apply(frame=...)`` calls the frame's method of the same meaning.

Source: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-python-transforms.html
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.spark.glue.frames.dynamic_frame import DynamicFrame, Mapped
from penstock.spark.glue.frames.fields import null_fields

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


class GlueTransform:
    """The base of transforms; ``Transform.apply(...)`` and ``Transform()(...)`` are the same."""

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> DynamicFrame:
        """Apply the transform to the frame."""
        result: DynamicFrame = cls()(*args, **kwargs)  # type: ignore[operator]
        return result

    @classmethod
    def name(cls) -> str:
        """Return the transform's name."""
        return cls.__name__


class ApplyMapping(GlueTransform):
    """:meth:`DynamicFrame.apply_mapping`."""

    def __call__(
        self, frame: DynamicFrame, mappings: Sequence[Mapped], case_sensitive: bool = False, **kwargs: Any
    ) -> DynamicFrame:
        return frame.apply_mapping(mappings, case_sensitive, **kwargs)


class DropFields(GlueTransform):
    """:meth:`DynamicFrame.drop_fields`."""

    def __call__(self, frame: DynamicFrame, paths: str | Iterable[str], **kwargs: Any) -> DynamicFrame:
        return frame.drop_fields(paths, **kwargs)


class DropNullFields(GlueTransform):
    """Drops the fields whose type is null: no record has a value for them."""

    def __call__(self, frame: DynamicFrame, **kwargs: Any) -> DynamicFrame:
        gone = null_fields(frame.schema())
        return frame.drop_fields(gone, **kwargs) if gone else frame


class Filter(GlueTransform):
    """:meth:`DynamicFrame.filter`."""

    def __call__(self, frame: DynamicFrame, f: Callable[[dict[str, Any]], Any], **kwargs: Any) -> DynamicFrame:
        return frame.filter(f, **kwargs)


class Map(GlueTransform):
    """:meth:`DynamicFrame.map`."""

    def __call__(self, frame: DynamicFrame, f: Callable[[dict[str, Any]], dict[str, Any]], **kwargs: Any) -> DynamicFrame:
        return frame.map(f, **kwargs)


class RenameField(GlueTransform):
    """:meth:`DynamicFrame.rename_field`."""

    def __call__(self, frame: DynamicFrame, old_name: str, new_name: str, **kwargs: Any) -> DynamicFrame:
        return frame.rename_field(old_name, new_name, **kwargs)


class Repartition(GlueTransform):
    """:meth:`DynamicFrame.repartition`."""

    def __call__(self, frame: DynamicFrame, num_partitions: int, **kwargs: Any) -> DynamicFrame:
        return frame.repartition(num_partitions, **kwargs)


class SelectFields(GlueTransform):
    """:meth:`DynamicFrame.select_fields`."""

    def __call__(self, frame: DynamicFrame, paths: str | Iterable[str], **kwargs: Any) -> DynamicFrame:
        return frame.select_fields(paths, **kwargs)


class Union(GlueTransform):
    """:meth:`DynamicFrame.union`."""

    def __call__(self, frame1: DynamicFrame, frame2: DynamicFrame, **kwargs: Any) -> DynamicFrame:
        return frame1.union(frame2, **kwargs)
