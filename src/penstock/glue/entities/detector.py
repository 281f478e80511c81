"""EntityDetector: AWS's detection of sensitive data in the columns of a frame, by the types of this package.

Source: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-sensitive-data-example.html
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as s

from penstock.errors import InvalidInput
from penstock.glue.entities.actions import DETECT, Task, changed, check_types, find_all, plan
from penstock.glue.entities.types import TYPES
from penstock.glue.frames.dynamic_frame import DynamicFrame
from penstock.spark.quoting import quoted

__all__ = ["EntityDetector"]

_SENSITIVITIES = ("LOW", "HIGH")
_SEED = 42
_FEW = 1_000
"""Samples of fewer rows say too little, so all rows are taken instead."""
_ENTITY = s.StructType(
    [
        s.StructField("entityType", s.StringType()),
        s.StructField("actionUsed", s.StringType()),
        s.StructField("start", s.IntegerType()),
        s.StructField("end", s.IntegerType()),
    ]
)
_RESULT = s.StructType(
    [
        s.StructField("texts", s.ArrayType(s.StringType())),
        s.StructField("entities", s.MapType(s.StringType(), s.ArrayType(_ENTITY))),
    ]
)
_TEXTS = (s.StringType, s.CharType, s.VarcharType)
_NESTED = (s.StructType, s.ArrayType, s.MapType, s.VariantType)
_NOT_SEARCHED = (s.BooleanType, s.BinaryType, s.NullType)


class EntityDetector:
    """Detects the entities of :data:`penstock.glue.entities.types.TYPES` in columns of text, numbers and times."""

    def detect(
        self,
        frame: DynamicFrame,
        detectionParameters: Any,  # noqa: N803 - AWS's names
        outputColumnName: str = "DetectedEntities",  # noqa: N803
        detectionSensitivity: str = "LOW",  # noqa: N803
    ) -> DynamicFrame:
        """Return the frame with what was found in each row, and with the texts that the actions change.

        ``detectionParameters`` is a list of types or AWS's map of actions: see
        :func:`penstock.glue.entities.actions.plan`. The new column is a map of columns to lists of structs:
        entityType, actionUsed, start, end. Raises :class:`InvalidInput` for parameters that cannot be followed.
        """
        _check_sensitivity(detectionSensitivity)
        data = _data(frame)
        tasks = plan(detectionParameters, data.columns)
        columns = _searched(data, [name for name, task in tasks.items() if task])
        if outputColumnName in data.columns:
            raise InvalidInput(
                f"There is a column {outputColumnName} already.", remedy="Give another outputColumnName, or drop it first."
            )
        return frame._with(lambda: _detected(data, {name: tasks[name] for name in columns}, outputColumnName))

    def classify_columns(
        self,
        frame: DynamicFrame,
        entityTypesToDetect: Sequence[str],  # noqa: N803
        sampleFraction: float = 0.1,  # noqa: N803
        thresholdFraction: float = 0.1,  # noqa: N803
        detectionSensitivity: str = "LOW",  # noqa: N803
    ) -> dict[str, list[str]]:
        """Return the types of each column that has them in at least ``thresholdFraction`` of its values.

        Of the rows ``sampleFraction`` are taken, always the same ones, or all if the sample has fewer than 1,000. Raises
        :class:`InvalidInput` for types that are not detected, fractions out of 0 to 1, columns of structs or lists, and
        streams.
        """
        _check_sensitivity(detectionSensitivity)
        names = check_types(entityTypesToDetect)
        sample, threshold = (_fraction(fraction) for fraction in (sampleFraction, thresholdFraction))
        data = _data(frame)
        if data.isStreaming:
            raise InvalidInput("A stream has no sample.", remedy="Call classify_columns in the function of forEachBatch.")
        columns = _searched(data, data.columns)
        if not names or not columns:
            return {}
        rows, counts = _counted(data.sample(sample, _SEED), columns, names) if sample < 1 else (0, {})
        if rows < _FEW:
            rows, counts = _counted(data, columns, names)
        return {
            column: types
            for column in columns
            if (types := [name for name in names if _is_met(counts, column, name, threshold)])
        }

    classifyColumns = classify_columns  # noqa: N815 - the name of AWS's Scala class


def _data(frame: Any) -> DataFrame:
    if not isinstance(frame, DynamicFrame):
        raise InvalidInput(
            f"EntityDetector was given a {type(frame).__name__}.",
            remedy="Give DynamicFrame.fromDF(frame, glueContext, name).",
        )
    return frame._checked_frame()


def _check_sensitivity(name: str) -> None:
    if name not in _SENSITIVITIES:
        raise InvalidInput(f"detectionSensitivity is {name!r}.", remedy="Use LOW or HIGH; both search alike here.")


def _fraction(value: float) -> float:
    if not 0 <= float(value) <= 1:
        raise InvalidInput(f"A fraction is {value}.", remedy="Give sampleFraction and thresholdFraction from 0 to 1.")
    return float(value)


def _searched(data: DataFrame, names: Sequence[str]) -> list[str]:
    """Return the columns of ``names`` that are searched. Raises :class:`InvalidInput` for nested ones."""
    types = {field.name: field.dataType for field in data.schema.fields}
    nested = [name for name in names if isinstance(types[name], _NESTED)]
    if nested:
        raise InvalidInput(
            f"Columns {', '.join(nested)} are nested or choices, within which nothing is searched.",
            remedy="Make columns of them first (gs_flatten, unnest, resolveChoice), or drop them; "
            "with a map of actions, name the others in sourceColumns.",
        )
    return [name for name in names if not isinstance(types[name], _NOT_SEARCHED)]


def _texts(columns: Sequence[str]) -> Column:
    return F.array(*(F.col(quoted(name)).cast("string") for name in columns))


def _detected(data: DataFrame, tasks: Mapping[str, Sequence[Task]], output: str) -> DataFrame:
    columns = list(tasks)
    types = {field.name: field.dataType for field in data.schema.fields}
    changing = {name for name, item in tasks.items() if any(task.action.name != DETECT for task in item)}
    unchangeable = {name: types[name].simpleString() for name in changing if not isinstance(types[name], _TEXTS)}

    def search(texts: Sequence[str | None]) -> tuple[list[str | None], dict[str, list[tuple[str, str, int, int]]]]:
        results: list[str | None] = []
        entities: dict[str, list[tuple[str, str, int, int]]] = {}
        for name, text in zip(columns, texts, strict=True):
            matches = find_all(text, tasks[name]) if text is not None else []
            if matches:
                entities[name] = [(match.task.entity, match.task.action.name, match.start, match.end) for match in matches]
            acted = next(
                (match.task for match in matches if name in unchangeable and match.task.action.name != DETECT), None
            )
            if acted is not None:
                raise InvalidInput(
                    f"Column {name} ({unchangeable[name]}) has a {acted.entity}, which {acted.action.name} cannot change.",
                    remedy="Cast the column to string first, or name it in sourceColumnsToExclude.",
                )
            results.append(changed(text, matches) if text is not None and name in changing else text)
        return results, entities

    if not columns:
        return data.withColumn(output, F.create_map().cast(_RESULT["entities"].dataType))
    result = "__penstock_entities"
    searched = data.withColumn(result, F.udf(search, _RESULT, useArrow=False).asNondeterministic()(_texts(columns)))
    indexes = {name: columns.index(name) for name in changing - set(unchangeable)}
    return searched.select(
        *(
            F.col(result)["texts"][indexes[name]].alias(name) if name in indexes else F.col(quoted(name))
            for name in data.columns
        ),
        F.col(result)["entities"].alias(output),
    )


def _counted(data: DataFrame, columns: Sequence[str], names: Sequence[str]) -> tuple[int, dict[tuple[str, str], int]]:
    """Return the number of rows; and of values by column and "", and of values with an entity by column and type."""
    pairs = [(column, name) for column in columns for name in ("", *names)]

    def search(texts: Sequence[str | None]) -> list[int]:
        flags: list[int] = []
        for text in texts:
            flags.append(int(bool(text)))
            flags += [int(bool(text) and next(TYPES[name].find(text or ""), None) is not None) for name in names]
        return flags

    flags = data.select(
        F.udf(search, s.ArrayType(s.IntegerType()), useArrow=False).asNondeterministic()(_texts(columns)).alias("flags")
    )
    summed = flags.agg(F.count("*").alias("rows"), *(F.sum(F.col("flags")[index]) for index in range(len(pairs)))).first()
    assert summed is not None
    return summed[0], dict(zip(pairs, (count or 0 for count in summed[1:]), strict=True))


def _is_met(counts: Mapping[tuple[str, str], int], column: str, name: str, threshold: float) -> bool:
    values, matching = counts[(column, "")], counts[(column, name)]
    return matching > 0 and matching >= threshold * values
