"""Glue's transforms: classes whose ``apply(frame=...)`` calls the frame's method of the same meaning.

Source: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-python-transforms.html
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from penstock.glue.frames.dynamic_frame import DynamicFrame, DynamicFrameCollection
from penstock.glue.frames.fields import null_fields

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


class GlueTransform:
    """The base of transforms; ``Transform.apply(...)`` and ``Transform()(...)`` are the same.

    A script's own transform has ``__call__``; the ``describe`` methods show its signature and docstring.
    """

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Apply the transform to the frame."""
        return cls()(*args, **kwargs)  # type: ignore[operator]

    @classmethod
    def name(cls) -> str:
        """Return the transform's name."""
        return cls.__name__

    @classmethod
    def describeArgs(cls) -> list[dict[str, Any]]:  # noqa: N802 - AWS's names, here and below
        """Return name, type, description, optional and defaultValue of each argument of a call."""
        call = inspect.signature(cls.__call__)
        return [
            {
                "name": parameter.name,
                "type": getattr(parameter.annotation, "__name__", str(parameter.annotation)),
                "description": f"The argument {parameter.name} of {cls.__name__}",
                "optional": parameter.default is not parameter.empty,
                "defaultValue": None if parameter.default is parameter.empty else parameter.default,
            }
            for parameter in list(call.parameters.values())[1:]
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ]

    @classmethod
    def describeReturn(cls) -> dict[str, Any]:  # noqa: N802
        """Return type and description of the result."""
        annotation = inspect.signature(cls.__call__).return_annotation
        return {"type": getattr(annotation, "__name__", str(annotation)), "description": f"What {cls.__name__} returns"}

    @classmethod
    def describeTransform(cls) -> str:  # noqa: N802
        """Return what the transform does."""
        return inspect.getdoc(cls) or cls.__name__

    @classmethod
    def describeErrors(cls) -> list[dict[str, Any]]:  # noqa: N802
        """Return type and description of the errors; those of the arguments are the same for all transforms."""
        return [{"type": "InvalidInput", "description": "An argument that the transform cannot have"}]

    @classmethod
    def describe(cls) -> dict[str, Any]:
        """Return all descriptions."""
        return {
            "transform": {
                "name": cls.name(),
                "args": cls.describeArgs(),
                "returns": cls.describeReturn(),
                "description": cls.describeTransform(),
                "raises": cls.describeErrors(),
                "location": "internal",
            }
        }

    def __repr__(self) -> str:
        return f"<Transform: {self.name()}>"


class ApplyMapping(GlueTransform):
    """Selects, renames, nests and casts fields: :meth:`DynamicFrame.apply_mapping`."""

    def __call__(
        self, frame: DynamicFrame, mappings: Sequence[Any], case_sensitive: bool = False, *stage: Any, **named: Any
    ) -> DynamicFrame:
        return frame.apply_mapping(mappings, case_sensitive, *stage, **named)


class Coalesce(GlueTransform):
    """Makes fewer partitions: :meth:`DynamicFrame.coalesce`."""

    def __call__(
        self, frame: DynamicFrame, num_partitions: int, shuffle: bool = False, *stage: Any, **named: Any
    ) -> DynamicFrame:
        return frame.coalesce(num_partitions, shuffle, *stage, **named)


class DropFields(GlueTransform):
    """Drops fields: :meth:`DynamicFrame.drop_fields`."""

    def __call__(self, frame: DynamicFrame, paths: str | Iterable[str], *stage: Any, **named: Any) -> DynamicFrame:
        return frame.drop_fields(paths, *stage, **named)


class DropNullFields(GlueTransform):
    """Drops the fields whose type is null: no record has a value for them."""

    def __call__(self, frame: DynamicFrame, *stage: Any, **named: Any) -> DynamicFrame:
        return frame.drop_fields(null_fields(frame._frame.schema), *stage, **named)


class ErrorsAsDynamicFrame(GlueTransform):
    """Returns the error records: :meth:`DynamicFrame.errorsAsDynamicFrame`."""

    def __call__(self, frame: DynamicFrame) -> DynamicFrame:
        return frame.errorsAsDynamicFrame()


class Filter(GlueTransform):
    """Keeps the records for which a function is true: :meth:`DynamicFrame.filter`."""

    def __call__(self, frame: DynamicFrame, f: Callable[[Any], Any], *stage: Any, **named: Any) -> DynamicFrame:
        return frame.filter(f, *stage, **named)


class FlatMap(GlueTransform):
    """Applies a transform to each frame of a collection, and returns all frames that it makes.

    ``frame_name`` is the argument of ``BaseTransform`` that gets the frame.
    """

    def __call__(
        self,
        dfc: DynamicFrameCollection,
        BaseTransform: type[GlueTransform],  # noqa: N803
        frame_name: str,
        transformation_ctx: str = "",
        **base_kwargs: Any,
    ) -> DynamicFrameCollection:
        def one(frame: DynamicFrame, context: str) -> Any:
            return BaseTransform.apply(**{**base_kwargs, frame_name: frame, "transformation_ctx": context})

        return dfc.flatmap(one, transformation_ctx)


class Join(GlueTransform):
    """Joins two frames by equal keys: :meth:`DynamicFrame.join`."""

    def __call__(
        self,
        frame1: DynamicFrame,
        frame2: DynamicFrame,
        keys1: str | Sequence[str],
        keys2: str | Sequence[str],
        *stage: Any,
        **named: Any,
    ) -> DynamicFrame:
        return frame1.join(keys1, keys2, frame2, *stage, **named)


class Map(GlueTransform):
    """Applies a function to each record: :meth:`DynamicFrame.map`."""

    def __call__(
        self,
        frame: DynamicFrame,
        f: Callable[[Any], Any],
        preservesPartitioning: bool = False,  # noqa: N803
        *stage: Any,
        **named: Any,
    ) -> DynamicFrame:
        return frame.map(f, preservesPartitioning, *stage, **named)


class MapToCollection(GlueTransform):
    """Applies a function to each frame of a collection: :meth:`DynamicFrameCollection.map`."""

    def __call__(
        self, dfc: DynamicFrameCollection, callable: Callable[..., Any], transformation_ctx: str = ""
    ) -> DynamicFrameCollection:
        return dfc.map(callable, transformation_ctx)


class Relationalize(GlueTransform):
    """Makes flat frames of a nested one: :meth:`DynamicFrame.relationalize`."""

    def __call__(
        self,
        frame: DynamicFrame,
        staging_path: str | None = None,
        name: str = "roottable",
        options: Mapping[str, Any] | None = None,
        *stage: Any,
        **named: Any,
    ) -> DynamicFrameCollection:
        return frame.relationalize(name, staging_path or "", options, *stage, **named)


class RenameField(GlueTransform):
    """Renames a field: :meth:`DynamicFrame.rename_field`."""

    def __call__(self, frame: DynamicFrame, old_name: str, new_name: str, *stage: Any, **named: Any) -> DynamicFrame:
        return frame.rename_field(old_name, new_name, *stage, **named)


class Repartition(GlueTransform):
    """Makes another number of partitions: :meth:`DynamicFrame.repartition`."""

    def __call__(self, frame: DynamicFrame, num_partitions: int, *stage: Any, **named: Any) -> DynamicFrame:
        return frame.repartition(num_partitions, *stage, **named)


class ResolveChoice(GlueTransform):
    """Resolves fields that have values of several types: :meth:`DynamicFrame.resolveChoice`."""

    def __call__(
        self,
        frame: DynamicFrame,
        specs: Sequence[tuple[str, str]] | None = None,
        choice: str = "",
        database: str | None = None,
        table_name: str | None = None,
        *stage: Any,
        **named: Any,
    ) -> DynamicFrame:
        return frame.resolveChoice(specs, choice, database, table_name, *stage, **named)


class SelectFields(GlueTransform):
    """Keeps fields: :meth:`DynamicFrame.select_fields`."""

    def __call__(self, frame: DynamicFrame, paths: str | Iterable[str], *stage: Any, **named: Any) -> DynamicFrame:
        return frame.select_fields(paths, *stage, **named)


class SelectFromCollection(GlueTransform):
    """Returns one frame of a collection: :meth:`DynamicFrameCollection.select`."""

    def __call__(self, dfc: DynamicFrameCollection, key: str, transformation_ctx: str = "") -> DynamicFrame:
        return dfc.select(key, transformation_ctx)


class Spigot(GlueTransform):
    """Writes some records beside the job: :meth:`DynamicFrame.spigot`."""

    def __call__(
        self, frame: DynamicFrame, path: str, options: Mapping[str, Any] | None = None, *stage: Any, **named: Any
    ) -> DynamicFrame:
        return frame.spigot(path, options, *stage, **named)


class SplitFields(GlueTransform):
    """Makes two frames of some fields and the others: :meth:`DynamicFrame.split_fields`."""

    def __call__(
        self,
        frame: DynamicFrame,
        paths: str | Iterable[str],
        name1: str = "frame1",
        name2: str = "frame2",
        *stage: Any,
        **named: Any,
    ) -> DynamicFrameCollection:
        return frame.split_fields(paths, name1, name2, *stage, **named)


class SplitRows(GlueTransform):
    """Makes two frames of some rows and the others: :meth:`DynamicFrame.split_rows`."""

    def __call__(
        self,
        frame: DynamicFrame,
        comparison_dict: Mapping[str, Mapping[str, Any]],
        name1: str = "frame1",
        name2: str = "frame2",
        *stage: Any,
        **named: Any,
    ) -> DynamicFrameCollection:
        return frame.split_rows(comparison_dict, name1, name2, *stage, **named)


class Unbox(GlueTransform):
    """Reads text within a column: :meth:`DynamicFrame.unbox`."""

    def __call__(self, frame: DynamicFrame, path: str, format: str, *stage: Any, **options: Any) -> DynamicFrame:
        return frame.unbox(path, format, *stage, **options)


class Union(GlueTransform):
    """Returns the rows of both frames: :meth:`DynamicFrame.union`."""

    def __call__(self, frame1: DynamicFrame, frame2: DynamicFrame, *stage: Any, **named: Any) -> DynamicFrame:
        return frame1.union(frame2, *stage, **named)


class UnnestFrame(GlueTransform):
    """Makes columns of the fields of structs: :meth:`DynamicFrame.unnest`."""

    def __call__(self, frame: DynamicFrame, *stage: Any, **named: Any) -> DynamicFrame:
        return frame.unnest(*stage, **named)
