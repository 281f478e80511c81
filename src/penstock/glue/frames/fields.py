"""Fields at paths: ``a.b`` is field ``b`` of struct ``a``, and backquotes enclose a name with a dot.

A selection is a tree of structs with a column at each leaf, built once for mapping, selecting, dropping and renaming.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DataType, NullType, StructType

from penstock.errors import InvalidInput
from penstock.glue.schemas.choices import is_choice

__all__ = [
    "Field",
    "Path",
    "applied",
    "columns_of",
    "dropped",
    "field_type",
    "find_path",
    "null_fields",
    "place_column",
    "quoted",
    "renamed",
    "selected",
    "split",
]

Path = tuple[str, ...]

_PART = re.compile(r"`([^`]+)`(?:\.|$)|([^.`]+)(?:\.|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field and its target."""

    source: Path
    target: Path


def split(text: str) -> Path:
    """Return a path's names. Raises :class:`InvalidInput` for an invalid path."""
    parts, at = [], 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            break
        parts.append(part[1] or part[2])
        at = part.end()
    if not parts or at < len(text) or text.endswith("."):
        raise InvalidInput(
            f"{text!r} is not a path of fields.", remedy="Write it like name, address.city or `name.with.dots`."
        )
    return tuple(parts)


def quoted(path: Path) -> str:
    """Return the path as Spark reads it."""
    return ".".join(f"`{name}`" for name in path)


def applied(frame: DataFrame, fields: Iterable[Field], *, case_sensitive: bool = False) -> DataFrame:
    """Return the existing fields, each at its target."""
    tree: dict[str, object] = {}
    for field in fields:
        path = find_path(frame.schema, field.source, case_sensitive=case_sensitive)
        if path is not None:
            place_column(tree, field.target, F.col(quoted(path)))
    return frame.select(*columns_of(tree))


def selected(frame: DataFrame, paths: Iterable[str]) -> DataFrame:
    """Return the fields at ``paths``, within their structs."""
    existing = [find_path(frame.schema, split(path)) for path in paths]
    return applied(frame, [Field(source=path, target=path) for path in existing if path is not None])


def dropped(frame: DataFrame, paths: Iterable[str]) -> DataFrame:
    """Return all fields except those at ``paths``; a struct that loses its last field is dropped, too."""
    dropped_paths = {path for path in (find_path(frame.schema, split(path)) for path in paths) if path is not None}
    if not dropped_paths:
        return frame
    return _keeping(frame, [path for path in _leaves(frame.schema, dropped_paths) if path not in dropped_paths])


def renamed(frame: DataFrame, old: str, new: str) -> DataFrame:
    """Move the field at ``old`` with its nested fields to ``new``. Raises :class:`InvalidInput` if it does not exist."""
    path = find_path(frame.schema, split(old))
    if path is None:
        raise InvalidInput(f"There is no field {old} to rename.", remedy=f"The columns are {', '.join(frame.columns)}.")
    fields = [Field(source=leaf, target=split(new) if leaf == path else leaf) for leaf in _leaves(frame.schema, {path})]
    return applied(frame, fields, case_sensitive=True)


def null_fields(schema: StructType) -> list[str]:
    """Return paths of the fields whose type is null: no record has a value."""
    return [quoted(path) for path in _leaves(schema, set()) if isinstance(field_type(schema, path), NullType)]


def _keeping(frame: DataFrame, paths: Sequence[Path]) -> DataFrame:
    return applied(frame, [Field(source=path, target=path) for path in paths], case_sensitive=True)


def _leaves(schema: StructType, open_at: set[Path], prefix: Path = ()) -> list[Path]:
    """Return every field, split only as far as the paths in ``open_at`` need (completely if it is empty)."""
    leaves: list[Path] = []
    for field in schema.fields:
        path = (*prefix, field.name)
        within = not open_at or any(len(entry) > len(path) and entry[: len(path)] == path for entry in open_at)
        if isinstance(field.dataType, StructType) and within and not is_choice(field.dataType):
            leaves += _leaves(field.dataType, open_at, path)
        else:
            leaves.append(path)
    return leaves


def field_type(schema: StructType, path: Path) -> DataType:
    """Return the type of the field at ``path``, which exists."""
    data_type: DataType = schema
    for name in path:
        assert isinstance(data_type, StructType)
        data_type = data_type[name].dataType
    return data_type


def find_path(schema: StructType, path: Path, *, case_sensitive: bool = False) -> Path | None:
    """Return the path in the schema's spelling, None if there is no such field; a choice has no fields."""
    data_type: DataType = schema
    spelled: list[str] = []
    for name in path:
        if not isinstance(data_type, StructType) or is_choice(data_type):
            return None
        same = [field for field in data_type.fields if field.name == name]
        if not same and not case_sensitive:
            same = [field for field in data_type.fields if field.name.lower() == name.lower()]
        if not same:
            return None
        spelled.append(same[0].name)
        data_type = same[0].dataType
    return tuple(spelled)


def place_column(tree: dict[str, object], path: Path, column: Column) -> None:
    """Put ``column`` at ``path`` of a tree of structs. Raises :class:`InvalidInput` if a part of it is not a struct."""
    *outer, name = path
    for struct in outer:
        inner = tree.setdefault(struct, {})
        if not isinstance(inner, dict):
            raise InvalidInput(f"Field {quoted(path)} would be within {struct}, which is not a struct.")
        tree = inner
    tree[name] = column


def columns_of(tree: dict[str, object]) -> list[Column]:
    """Return the columns of a tree that :func:`place_column` made: a struct of each inner tree."""
    return [
        (F.struct(*columns_of(entry)) if isinstance(entry, dict) else entry).alias(name)  # type: ignore[attr-defined]
        for name, entry in tree.items()
    ]
