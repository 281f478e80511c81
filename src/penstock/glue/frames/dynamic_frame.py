"""DynamicFrame: records whose fields may have several types, and the records that a transform could not process.

Source: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-extensions-dynamic-frame.html
"""

import json
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any

from pyspark.sql import DataFrame

from penstock.errors import InvalidInput
from penstock.glue.errors import FRAME, not_supported
from penstock.glue.frames import dynamodb, fields, joining, relational
from penstock.glue.frames.applying import filtered, json_source, mapped, partitions_mapped
from penstock.glue.frames.error_records import (
    ErrorStage,
    StageOptions,
    check_thresholds,
    too_many,
    union_of_errors,
)
from penstock.glue.frames.mapping import applied_mapping, mapping_spec
from penstock.glue.frames.records import record_reader
from penstock.glue.frames.resolving import (
    Action,
    ResolveOption,
    action_of,
    catalog_actions,
    option_action,
    resolve_path,
    resolved,
)
from penstock.glue.frames.unboxing import unboxed
from penstock.glue.payload import TEXT_COLUMN, is_of_files, with_inferred_columns
from penstock.glue.schemas.aligning import extended, union_of
from penstock.glue.schemas.choices import glue_type, spark_type, without_marks
from penstock.glue.schemas.gluetypes import StructType
from penstock.glue.schemas.tree import schema_tree
from penstock.glue.session import in_session

__all__ = ["DynamicFrame", "DynamicFrameCollection", "ResolveOption"]

Record = Any
"""A :class:`penstock.glue.frames.records.DynamicRecord`."""


class DynamicFrame:
    """``glue_ctx`` is the GlueContext, ``name`` is a label. Every method that changes something returns a new frame.

    ``frame`` is Spark's, or a function that makes it when it is needed first. All transforms take AWS's last arguments,
    in this order: ``transformation_ctx``, ``info``, ``stageThreshold``, ``totalThreshold``
    (:class:`penstock.glue.frames.error_records.StageOptions`).
    """

    def __init__(self, frame: DataFrame | Callable[[], DataFrame], glue_ctx: Any, name: str = "") -> None:
        self._made = frame
        self.glue_ctx = glue_ctx
        self.name = name
        self._stages: tuple[ErrorStage, ...] = ()
        self._own_stage = False
        self._options = StageOptions()
        self._checked = False

    @classmethod
    def fromDF(cls, dataframe: DataFrame, glue_ctx: Any, name: str = "") -> "DynamicFrame":  # noqa: N802 - AWS's names
        """Return a frame of a DataFrame, in the session of ``glue_ctx``. JSON text of a source becomes columns.

        Text that is not JSON is a row of nulls of a stream with ``inferSchema``, and an error record of files.
        """
        dataframe = in_session(dataframe, getattr(glue_ctx, "spark_session", None))
        if TEXT_COLUMN not in dataframe.columns or dataframe.isStreaming:
            return cls(dataframe, glue_ctx, name)
        if not is_of_files(dataframe):
            return cls(lambda: with_inferred_columns(dataframe), glue_ctx, name)
        frame, errors = json_source(dataframe)
        result = cls(frame, glue_ctx, name)
        result._stages, result._own_stage = (errors,), True
        return result

    @property
    def _frame(self) -> DataFrame:
        if not isinstance(self._made, DataFrame):
            self._made = self._made()
        return self._made

    def _checked_frame(self) -> DataFrame:
        """Return Spark's frame after the thresholds are checked. Raises :class:`InvalidInput` if one is reached."""
        if not self._checked:
            check_thresholds(self._stages, self._options, "this transform" if self._own_stage else None)
            self._checked = True
        return self._frame

    def toDF(self, options: Sequence[ResolveOption] | None = None) -> DataFrame:  # noqa: N802
        """Return Spark's DataFrame; a choice is a struct with a member for each type, unless ``options`` resolve it."""
        frame = self._checked_frame()
        if options:
            frame = resolved(frame, {resolve_path(option.path): option_action(option) for option in options})
        return without_marks(frame)

    def schema(self) -> StructType:
        """Return the schema, with choices: a type of ``awsglue.gluetypes``."""
        schema = glue_type(self._frame.schema)
        assert isinstance(schema, StructType)
        return schema

    def with_frame_schema(self, schema: StructType | Callable[[], StructType]) -> "DynamicFrame":
        """Return the frame as one of ``schema``, or of what it returns; fields and types that it lacks are added."""
        target = schema() if callable(schema) and not isinstance(schema, StructType) else schema
        return self._with(lambda: extended(self._frame, glue_type(spark_type(target))))

    def printSchema(self) -> None:  # noqa: N802
        """Print the schema as a tree, as AWS does."""
        print(schema_tree(self.schema()))

    def show(self, num_rows: int = 20) -> None:
        """Print records as JSON, one in each line, without the fields that are null."""
        frame = self._checked_frame()
        read = record_reader(frame.schema)
        assert read is not None
        for row in frame.limit(num_rows).collect():
            print(json.dumps(_without_nulls(read(row)), default=str, ensure_ascii=False))

    def count(self) -> int:
        """Return the number of rows."""
        return self._checked_frame().count()

    def getNumPartitions(self) -> int:  # noqa: N802
        """Return the number of partitions."""
        return self._frame.rdd.getNumPartitions()

    def repartition(self, num_partitions: int, *stage: Any, **named: Any) -> "DynamicFrame":
        """Return the same rows in ``num_partitions`` partitions."""
        return self._with(lambda: self._frame.repartition(num_partitions), stage, named)

    def coalesce(self, num_partitions: int, shuffle: bool = False, *stage: Any, **named: Any) -> "DynamicFrame":
        """Return the same rows in at most ``num_partitions`` partitions."""
        if shuffle:
            return self.repartition(num_partitions, *stage, **named)
        return self._with(lambda: self._frame.coalesce(num_partitions), stage, named)

    def filter(self, f: Callable[[Record], Any], *stage: Any, **named: Any) -> "DynamicFrame":
        """Return the records for which ``f(record)`` is true. One for which it raises is an error record."""
        frame, errors = filtered(self._frame, f, StageOptions.of(stage, named).info)
        return self._with(frame, stage, named, errors)

    def map(
        self,
        f: Callable[[Record], Any],
        preservesPartitioning: bool = False,  # noqa: N803, ARG002
        *stage: Any,
        **named: Any,
    ) -> "DynamicFrame":
        """Return ``f(record)``, a dict, for every record; the types are those of all results.

        A record for which ``f`` raises, or returns no record, is an error record.
        """
        results, errors = mapped(self._frame, f, StageOptions.of(stage, named).info)
        return self._with(results, stage, named, errors, lazy=True)

    def mapPartitions(  # noqa: N802
        self,
        f: Callable[[Iterator[Record]], Iterable[Any]],
        preservesPartitioning: bool = True,  # noqa: N803, ARG002
        *stage: Any,
        **named: Any,
    ) -> "DynamicFrame":
        """Return the records of ``f(records)``, which is called for each partition. An exception fails the job."""
        return self._with(lambda: partitions_mapped(self._frame, lambda _, records: f(records)), stage, named, lazy=True)

    def mapPartitionsWithIndex(  # noqa: N802
        self,
        f: Callable[[int, Iterator[Record]], Iterable[Any]],
        preservesPartitioning: bool = False,  # noqa: N803, ARG002
        *stage: Any,
        **named: Any,
    ) -> "DynamicFrame":
        """Return the records of ``f(index, records)``; see :meth:`mapPartitions`."""
        return self._with(lambda: partitions_mapped(self._frame, f), stage, named, lazy=True)

    def select_fields(self, paths: str | Iterable[str], *stage: Any, **named: Any) -> "DynamicFrame":
        """Return the fields at ``paths`` (``a.b`` is within ``a``); missing paths are left out."""
        return self._with(lambda: fields.selected(self._frame, _listed(paths)), stage, named)

    def drop_fields(self, paths: str | Iterable[str], *stage: Any, **named: Any) -> "DynamicFrame":
        """Return all fields except those at ``paths``."""
        return self._with(lambda: fields.dropped(self._frame, _listed(paths)), stage, named)

    def rename_field(self, oldName: str, newName: str, *stage: Any, **named: Any) -> "DynamicFrame":  # noqa: N803
        """Rename the field at ``oldName`` to ``newName``, which is a whole path, too."""
        return self._with(lambda: fields.renamed(self._frame, oldName, newName), stage, named)

    def apply_mapping(
        self, mappings: Sequence[Any], case_sensitive: bool = False, *stage: Any, **named: Any
    ) -> "DynamicFrame":
        """Return only the fields that ``mappings`` name: (source, its type, target, its type), and shorter ones.

        Missing sources are left out; values of another type than the mapping says, and those that cannot be cast, are null.
        """
        one = isinstance(mappings, tuple) and all(isinstance(mapping, str) for mapping in mappings)
        specs = [mapping_spec(mapping) for mapping in ([mappings] if one else mappings)]
        return self._with(lambda: applied_mapping(self._frame, specs, case_sensitive=case_sensitive), stage, named)

    def applyMapping(self, *args: Any, **kwargs: Any) -> "DynamicFrame":  # noqa: N802
        """:meth:`apply_mapping`."""
        return self.apply_mapping(*(args[1:] if args and isinstance(args[0], DynamicFrame) else args), **kwargs)

    def resolveChoice(  # noqa: N802
        self,
        specs: Sequence[tuple[str, str]] | tuple[str, str] | None = None,
        choice: str = "",
        database: str | None = None,
        table_name: str | None = None,
        *stage: Any,
        **named: Any,
    ) -> "DynamicFrame":
        """Resolve choices: each of ``specs`` at its path, or all by ``choice``.

        Actions are ``cast:TYPE``, ``project:TYPE``, ``make_cols``, ``make_struct``, and for ``choice`` also
        ``match_catalog``, which casts to the column's type in a table. Raises :class:`InvalidInput` for others.
        """
        catalog_id = named.pop("catalog_id", None)
        if bool(specs) == bool(choice):
            both = "both given, choose one" if choice else "missing: one is needed"
            raise InvalidInput(f"Parameters specs and choice of resolveChoice are {both}.", remedy=_SPECS)
        if choice.strip().lower() == "match_catalog":
            return self._with(
                lambda: catalog_actions(self._frame, self.glue_ctx, database, table_name, catalog_id), stage, named
            )
        default: Action | None = action_of(choice) if choice else None
        one = isinstance(specs, tuple) and all(isinstance(spec, str) for spec in specs)
        pairs: Sequence[Any] = [specs] if one else (specs or [])
        actions = {resolve_path(path): action_of(action) for path, action in pairs}
        return self._with(lambda: resolved(self._frame, actions, default), stage, named)

    def join(
        self,
        paths1: str | Sequence[str],
        paths2: str | Sequence[str],
        frame2: "DynamicFrame",
        *stage: Any,
        **named: Any,
    ) -> "DynamicFrame":
        """Return the pairs of records whose keys are equal; a field that both have is ``.name`` of ``frame2``."""

        def both() -> DataFrame:
            return joining.joined(self._frame, frame2._frame, _listed(paths1), _listed(paths2))

        return self._with(both, stage, named, others=frame2._stages, name=self.name + frame2.name)

    def union(self, frame2: "DynamicFrame", *stage: Any, **named: Any) -> "DynamicFrame":
        """Return the rows of both frames; fields that a frame lacks are null in its rows, types that differ are choices."""
        return self._with(lambda: union_of(self._frame, frame2._frame), stage, named, others=frame2._stages)

    def mergeDynamicFrame(  # noqa: N802
        self,
        stage_dynamic_frame: "DynamicFrame",
        primary_keys: str | Sequence[str],
        transformation_ctx: str = "",
        options: Mapping[str, Any] | None = None,  # noqa: ARG002
        *stage: Any,
        **named: Any,
    ) -> "DynamicFrame":
        """Return the records of ``stage_dynamic_frame``, and those of this frame whose keys it does not have."""

        def both() -> DataFrame:
            return joining.merged_frames(self._frame, stage_dynamic_frame._frame, _listed(primary_keys))

        return self._with(both, (transformation_ctx, *stage), named, others=stage_dynamic_frame._stages)

    def split_fields(
        self, paths: str | Iterable[str], name1: str, name2: str, *stage: Any, **named: Any
    ) -> "DynamicFrameCollection":
        """Return the fields at ``paths`` as frame ``name1``, and the others as ``name2``."""
        listed = _listed(paths)
        return self._both(name1, self.select_fields(listed, *stage, **named), name2, self.drop_fields(listed))

    def split_rows(
        self, comparison_dict: Mapping[str, Mapping[str, Any]], name1: str, name2: str, *stage: Any, **named: Any
    ) -> "DynamicFrameCollection":
        """Return the rows for which all comparisons hold as frame ``name1``, and the others as ``name2``."""
        condition = joining.split_condition(self._frame, comparison_dict)
        one = self._with(lambda: self._frame.where(condition), stage, named)
        return self._both(name1, one, name2, self._with(lambda: self._frame.where(~condition)))

    def unnest(self, *stage: Any, **named: Any) -> "DynamicFrame":
        """Return the frame with the fields of all structs as columns ``a.b``; arrays stay."""
        return self._with(lambda: relational.unnested(self._frame), stage, named)

    def relationalize(
        self,
        root_table_name: str,
        staging_path: str = "",
        options: Mapping[str, Any] | None = None,  # noqa: ARG002
        *stage: Any,
        **named: Any,
    ) -> "DynamicFrameCollection":
        """Return flat frames: ``root_table_name``, and one for each array; files of ``staging_path`` keep their ids."""
        tables = relational.relationalized(self._checked_frame(), root_table_name, staging_path or "")
        frames = {name: self._with(frame, stage, named, name=name) for name, frame in tables.items()}
        return DynamicFrameCollection(frames, self.glue_ctx)

    def unbox(self, path: str, format: str, *stage: Any, **options: Any) -> "DynamicFrame":
        """Return the frame with the text at ``path`` read as ``format``: json, or csv with ``withSchema``.

        A record whose text cannot be read is an error record.
        """
        named = {name: options.pop(name) for name in list(options) if name in _STAGE}
        frame, errors = unboxed(self._frame, path, format.strip().lower(), options, StageOptions.of(stage, named).info)
        return self._with(frame, stage, named, errors)

    def unnest_ddb_json(self, *stage: Any, **named: Any) -> "DynamicFrame":
        """Return the attributes of DynamoDB's JSON in the column ``Item`` as columns; structs in arrays stay."""
        return self._with(lambda: dynamodb.unnested_items(self._frame), stage, named)

    def simplify_ddb_json(self, *stage: Any, **named: Any) -> "DynamicFrame":
        """Return DynamoDB's JSON as plain values at every depth."""
        return self._with(lambda: dynamodb.simplified(self._frame), stage, named)

    def spigot(self, path: str, options: Mapping[str, Any] | None = None, *stage: Any, **named: Any) -> "DynamicFrame":
        """Write records to ``path`` as JSON now, and return the frame: ``topk`` (100) of those taken with ``prob`` (1)."""
        settings = dict(options or {})
        topk, prob = int(settings.get("topk", 100)), float(settings.get("prob", 1))
        frame = self.toDF()
        sample = frame if prob >= 1 else frame.sample(prob)
        sample.limit(topk).write.mode("append").json(path)
        return self._with(lambda: self._frame, stage, named)

    def write(
        self,
        connection_type: str,
        connection_options: Mapping[str, Any] | None = None,
        format: str | None = None,
        format_options: Mapping[str, Any] | None = None,
        accumulator_size: int = 0,  # noqa: ARG002
    ) -> Any:
        """Write the frame: ``write_from_options`` of its context."""
        return self.glue_ctx.write_from_options(self, connection_type, connection_options, format, format_options)

    def errorsAsDynamicFrame(self) -> "DynamicFrame":  # noqa: N802
        """Return the error records of this frame and of those that it was made of: one struct, ``error``."""
        return DynamicFrame(union_of_errors(self._stages, self._spark), self.glue_ctx, self.name)

    def errorsCount(self) -> int:  # noqa: N802
        """Return the number of error records of this frame and of those that it was made of."""
        return sum(stage.count for stage in self._stages)

    def stageErrorsCount(self) -> int:  # noqa: N802
        """Return the number of error records of the transform that made this frame."""
        return self._stages[-1].count if self._own_stage else 0

    def assertErrorThreshold(self) -> None:  # noqa: N802
        """Raise :class:`InvalidInput` if there are more error records than the thresholds, which are 0 unless given."""
        for name, limit, count in (
            ("stageThreshold", self._options.stage_threshold, self.stageErrorsCount()),
            ("totalThreshold", self._options.total_threshold, self.errorsCount()),
        ):
            if count > limit:
                raise too_many("this frame", count, name, limit)

    @property
    def _spark(self) -> Any:
        return self._frame.sparkSession

    def _first(self, count: int) -> "DynamicFrame":
        return self._with(lambda: self._frame.limit(count))

    def _both(self, name1: str, one: "DynamicFrame", name2: str, two: "DynamicFrame") -> "DynamicFrameCollection":
        one.name, two.name = name1, name2
        return DynamicFrameCollection({name1: one, name2: two}, self.glue_ctx)

    def _with(
        self,
        frame: DataFrame | Callable[[], DataFrame],
        stage: Sequence[Any] = (),
        named: Mapping[str, Any] | None = None,
        errors: ErrorStage | None = None,
        *,
        others: tuple[ErrorStage, ...] = (),
        name: str | None = None,
        lazy: bool = False,
    ) -> "DynamicFrame":
        # A plan of Spark is made at once, so that what is wrong with it is an error at the script's own line. What needs a
        # pass over the records waits until it is needed, and so does all that is made of it.
        if not isinstance(frame, DataFrame) and isinstance(self._made, DataFrame) and not lazy:
            frame = frame()
        result = DynamicFrame(frame, self.glue_ctx, self.name if name is None else name)
        result._options = StageOptions.of(stage, dict(named or {}))
        result._stages = (*self._stages, *others, *([errors] if errors is not None else []))
        result._own_stage = errors is not None
        return result

    def __getattr__(self, name: str) -> Any:
        raise not_supported(FRAME, "DynamicFrame", name, (var for var in vars(DynamicFrame) if not var.startswith("_")))


class DynamicFrameCollection:
    """Frames by their names: ``dynamic_frames`` is a mapping, or a list of frames that have names.

    Source: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-extensions-dynamic-frame-collection.html
    """

    def __init__(self, dynamic_frames: Mapping[str, DynamicFrame] | Sequence[DynamicFrame], glue_ctx: Any) -> None:
        self._glue_ctx = glue_ctx
        if isinstance(dynamic_frames, Mapping):
            self._frames = dict(dynamic_frames)
        elif isinstance(dynamic_frames, list | tuple):
            self._frames = {frame.name: frame for frame in dynamic_frames}
        else:
            raise TypeError("dynamic_frames must be list or dict.")

    def __getitem__(self, key: str) -> DynamicFrame:
        return self._frames[key]

    def __len__(self) -> int:
        return len(self._frames)

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._frames.keys()

    def values(self) -> ValuesView[DynamicFrame]:
        """Return the frames."""
        return self._frames.values()

    def select(self, key: str, transformation_ctx: str = "") -> DynamicFrame:  # noqa: ARG002
        """Return the frame of this name, an empty one if there is none."""
        if key in self._frames:
            return self._frames[key]
        return DynamicFrame(self._glue_ctx.spark_session.createDataFrame([], ""), self._glue_ctx, key)

    def map(self, callable: Callable[[DynamicFrame, str], Any], transformation_ctx: str = "") -> "DynamicFrameCollection":
        """Return ``callable(frame, context)`` of each frame under its name. Raises TypeError for other results."""
        frames: dict[str, DynamicFrame] = {}
        for name, frame in self._frames.items():
            result = callable(frame, f"{transformation_ctx}:{name}")
            if not hasattr(result, "toDF"):
                raise TypeError(f"The function must return a DynamicFrame, and returned a {type(result).__name__}.")
            frames[name] = result
        return DynamicFrameCollection(frames, self._glue_ctx)

    def flatmap(self, f: Callable[[DynamicFrame, str], Any], transformation_ctx: str = "") -> "DynamicFrameCollection":
        """Return all frames that ``f(frame, context)`` returns, which is a frame or a collection, under their names.

        Raises TypeError for other results.
        """
        frames: dict[str, DynamicFrame] = {}
        for frame in self._frames.values():
            result = f(frame, f"{transformation_ctx}:{frame.name}")
            if isinstance(result, DynamicFrameCollection):
                frames.update(result._frames)
            elif hasattr(result, "toDF"):
                frames[result.name] = result
            else:
                raise TypeError(f"The function must return a frame or a collection, and returned a {type(result).__name__}.")
        return DynamicFrameCollection(frames, self._glue_ctx)


_STAGE = {"transformation_ctx", "info", "stageThreshold", "totalThreshold"}
_SPECS = 'Write specs=[("column", "cast:long")] or choice="make_struct".'


def _listed(paths: str | Iterable[str]) -> list[str]:
    return [paths] if isinstance(paths, str) else list(paths)


def _without_nulls(record: Any) -> Any:
    if isinstance(record, dict):
        return {name: _without_nulls(item) for name, item in record.items() if item is not None}
    return [_without_nulls(item) for item in record] if isinstance(record, list) else record
