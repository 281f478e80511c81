"""ResolveChoice: what becomes of the choices of a frame, by AWS's actions.

Source: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-transforms-ResolveChoice.html
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as s

from penstock.errors import InvalidInput
from penstock.glue.frames.fields import Path, split
from penstock.glue.frames.mapping import cast_to, named_type, type_name
from penstock.glue.schemas.choices import choice_column, has_choice, is_choice, member

__all__ = ["ELEMENT", "Action", "ResolveOption", "action_of", "catalog_actions", "option_action", "resolve_path", "resolved"]

_log = logging.getLogger("awsglue")

ELEMENT = "[]"
"""The part of a path that means each element of an array: ``links[].url`` is links, [], url."""

_PLAIN = {"make_cols", "make_struct", "keepasstruct"}
_HELP = "Use cast:TYPE, project:TYPE, make_cols or make_struct."


@dataclass(frozen=True, slots=True)
class Action:
    """``name`` is cast, project, make_cols or make_struct; ``type`` is the type of the first two."""

    name: str
    type: str = ""


def action_of(text: str) -> Action:
    """Return the action that ``text`` names. Raises :class:`InvalidInput` for others."""
    name, _, type_name = text.strip().partition(":")
    name = name.strip().lower()
    if name in _PLAIN and not type_name:
        return Action("make_struct" if name == "keepasstruct" else name)
    if name in {"cast", "project"} and type_name.strip():
        named_type(type_name)
        return Action(name, type_name.strip())
    raise InvalidInput(f"{text!r} is not an action of ResolveChoice.", remedy=_HELP)


class ResolveOption:
    """What ``toDF`` does with the choice at ``path``: ``action`` is KeepAsStruct or Project, which has a ``target`` type."""

    def __init__(self, path: str, action: str, target: Any = None) -> None:
        self.path = path
        self.action = action
        self.target = target


def option_action(option: ResolveOption) -> Action:
    """Return the action of ``option``. Raises :class:`InvalidInput` for others, and for a missing type."""
    if option.action.strip().lower() == "keepasstruct":
        return Action("make_struct")
    if option.action.strip().lower() not in {"project", "cast"} or option.target is None:
        raise InvalidInput(
            f"{option.action!r} of {option.path} is not an action of toDF.",
            remedy="Use KeepAsStruct, or Project with a type.",
        )
    return action_of(f"{option.action}:{option.target.typeName()}")


def resolve_path(text: str) -> Path:
    """Return the names of a path, with :data:`ELEMENT` for each ``[]``. Raises :class:`InvalidInput`."""
    return split(re.sub(r"\[\](?=\.|\[|$)", f".{ELEMENT}", text))


def resolved(frame: DataFrame, actions: Mapping[Path, Action], default: Action | None = None) -> DataFrame:
    """Return the frame with each action at its path, and ``default`` for all other choices.

    A path that does not exist is named in a warning. Raises :class:`InvalidInput` for ``make_cols`` of an array's elements.
    """
    for path in actions:
        if not _exists(frame.schema, path):
            _log.warning("ResolveChoice: no record has a field %s, so that its action has no effect.", _shown(path))
    plan = _Plan(actions, default)
    columns = [
        column
        for field in frame.schema.fields
        for column in plan.fields(F.col(f"`{field.name}`"), field.name, field.dataType, (field.name,))
    ]
    return frame.select(*columns)


def _shown(path: Path) -> str:
    return ".".join(path).replace(f".{ELEMENT}", ELEMENT)


def _exists(data_type: s.DataType, path: Path) -> bool:
    if not path:
        return True
    if isinstance(data_type, s.ArrayType):
        return path[0] == ELEMENT and _exists(data_type.elementType, path[1:])
    if not isinstance(data_type, s.StructType):
        return False
    if is_choice(data_type):
        # A struct or an array among the alternatives has no name of its own in a path.
        return any(_exists(field.dataType, path) for field in data_type.fields)
    return path[0] in data_type.names and _exists(data_type[path[0]].dataType, path[1:])


def catalog_actions(
    frame: DataFrame, glue_ctx: Any, database: str | None, table_name: str | None, catalog_id: str | None
) -> DataFrame:
    """Return the frame with each choice of a column cast to the column's type in a table of the catalog.

    Raises :class:`InvalidInput` without the table's name, and if a choice within a column has no type there.
    """
    if not database or not table_name:
        raise InvalidInput("match_catalog needs a table.", remedy="Give database and table_name.")
    table: Mapping[str, Any] = glue_ctx._session.catalog(catalog_id).table(database, table_name)
    columns = [*table.get("StorageDescriptor", {}).get("Columns", []), *table.get("PartitionKeys", [])]
    types = {str(item["Name"]).lower(): str(item["Type"]) for item in columns}
    actions: dict[Path, Action] = {}
    for field in frame.schema.fields:
        if not has_choice(field.dataType):
            continue
        if not is_choice(field.dataType) or field.name.lower() not in types:
            where = "has no such column" if is_choice(field.dataType) else "cannot be matched within a column"
            raise InvalidInput(
                f"The choice of {field.name} stays: table {database}.{table_name} {where}.",
                remedy="Resolve it by specs first.",
            )
        actions[(field.name,)] = Action("cast", types[field.name.lower()])
    return resolved(frame, actions)


class _Plan:
    """Builds the columns of one frame."""

    def __init__(self, actions: Mapping[Path, Action], default: Action | None) -> None:
        self._actions = actions
        self._default = default

    def fields(self, column: Column, name: str, data_type: s.DataType, path: Path) -> Sequence[Column]:
        """Return what the field at ``path`` becomes: one column, or with make_cols one for each type."""
        action = self._action(path, data_type)
        if action is not None and action.name == "make_cols" and is_choice(data_type):
            assert isinstance(data_type, s.StructType)
            return [
                self._value(member(column, field.name), field.dataType, path, inner=True).alias(f"{name}_{field.name}")
                for field in data_type.fields
            ]
        return [self._value(column, data_type, path).alias(name)]

    def _action(self, path: Path, data_type: s.DataType) -> Action | None:
        return self._actions.get(path) or (self._default if is_choice(data_type) else None)

    def _touches(self, data_type: s.DataType, path: Path) -> bool:
        below = any(action[: len(path)] == path for action in self._actions)
        return below or (self._default is not None and has_choice(data_type))

    def _value(self, column: Column, data_type: s.DataType, path: Path, *, inner: bool = False) -> Column:
        if not self._touches(data_type, path):
            return column
        action = None if inner else self._action(path, data_type)
        if action is not None:
            return self._acted(column, data_type, path, action)
        if is_choice(data_type):
            assert isinstance(data_type, s.StructType)
            return choice_column(self._members(column, data_type, path))
        if isinstance(data_type, s.StructType):
            parts = [
                part
                for field in data_type.fields
                for part in self.fields(column[field.name], field.name, field.dataType, (*path, field.name))
            ]
            return F.when(column.isNotNull(), F.struct(*parts))
        if isinstance(data_type, s.ArrayType):
            element = data_type.elementType
            return F.transform(column, lambda item: self._value(item, element, (*path, ELEMENT)))
        return column

    def _members(self, column: Column, data_type: s.StructType, path: Path) -> dict[str, Column]:
        return {
            field.name: self._value(member(column, field.name), field.dataType, path, inner=True)
            for field in data_type.fields
        }

    def _acted(self, column: Column, data_type: s.DataType, path: Path, action: Action) -> Column:
        if action.name == "cast":
            return cast_to(column, data_type, action.type)
        if not is_choice(data_type):
            return column
        assert isinstance(data_type, s.StructType)
        if action.name == "make_struct":
            members = self._members(column, data_type, path)
            return F.when(column.isNotNull(), F.struct(*(item.alias(name) for name, item in members.items())))
        if action.name == "make_cols":
            raise InvalidInput(
                f"The elements of {_shown(path)} cannot become columns.", remedy="Use make_struct, cast or project for them."
            )
        chosen = type_name(action.type)
        if chosen not in data_type.names:
            target = named_type(action.type)
            return F.lit(None).cast(target or s.StringType())
        return self._value(member(column, chosen), data_type[chosen].dataType, path, inner=True)
