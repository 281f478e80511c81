"""Columns, their Hive types, properties and partition specifications in DDL.

Types: Athena user guide, "Data types in Amazon Athena" (those of DDL).
"""

from collections.abc import Callable, Mapping, Sequence

from penstock.sql.statements.cursor import Cursor
from penstock.sql.statements.names import ColumnDefinition, PartitionCondition
from penstock.types import hive
from penstock.types.model import MAX_DEPTH, Array, Field, LakeType, Map, Scalar, Struct

__all__ = ["column", "columns", "partition_conditions", "partition_spec", "properties"]

_PLAIN = frozenset("boolean tinyint smallint int bigint float double string binary date timestamp".split())  # noqa: SIM905
_SYNONYMS = {name: hive.SYNONYMS[name] for name in ("integer", "dec", "numeric")}
_MAX_LENGTHS = {"char": 255, "varchar": 65535}
_OPERATORS = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def columns(cursor: Cursor) -> Sequence[ColumnDefinition]:
    """Read ``(name type COMMENT 'text', ...)``. Raises :class:`InvalidRequest` for a repeated name."""
    first = cursor.peek()
    definitions = cursor.listed(lambda: column(cursor))
    names: set[str] = set()
    for name in (definition.name for definition in definitions):
        if name in names:
            raise cursor.invalid(first, f"Duplicate column name: {name}")
        names.add(name)
    return definitions


def column(cursor: Cursor) -> ColumnDefinition:
    """Read ``name type COMMENT 'text'``."""
    name = cursor.name()
    type_ = _type(cursor)
    return ColumnDefinition(name, hive.render(type_), cursor.string() if cursor.accept("COMMENT") else None)


def _type(cursor: Cursor, depth: int = 0) -> LakeType:
    if depth > MAX_DEPTH:
        raise cursor.refused(f"a type of at most {MAX_DEPTH} levels")
    name = cursor.peek().value.lower() if cursor.peek().kind == "word" else ""
    name = _SYNONYMS.get(name, name)
    if name in _PLAIN:
        cursor.take()
        if name == "double":
            cursor.accept("PRECISION")
        return Scalar(name)
    if name == "decimal":
        return _decimal(cursor)
    if name in _MAX_LENGTHS:
        return _text(cursor, name)
    read = _NESTED.get(name)
    if read is None:
        raise cursor.refused("a type of Athena's DDL")
    cursor.take()
    cursor.expect("<")
    result = read(cursor, depth + 1)
    cursor.expect(">")
    return result


def properties(cursor: Cursor) -> Mapping[str, str]:
    """Read ``('key' = 'value', ...)``."""

    def pair() -> tuple[str, str]:
        key = cursor.string()
        cursor.expect("=")
        return key, cursor.string()

    return dict(cursor.listed(pair))


def partition_spec(cursor: Cursor) -> Sequence[PartitionCondition]:
    """Read ``PARTITION (key = value, ...)``."""
    return partition_conditions(cursor, "=")


def partition_conditions(cursor: Cursor, *operators: str) -> Sequence[PartitionCondition]:
    """Read ``PARTITION (key operator value, ...)`` with one of ``operators``, by default any."""
    cursor.expect("PARTITION")

    def condition() -> PartitionCondition:
        name = cursor.name()
        sign = _OPERATORS.get(cursor.peek().value) if cursor.peek().kind == "sign" else None
        if sign is None or (operators and sign not in operators):
            raise cursor.refused(" or ".join(f"'{operator}'" for operator in operators or sorted(set(_OPERATORS.values()))))
        cursor.take()
        return PartitionCondition(name, sign, _constant(cursor))

    return cursor.listed(condition)


def _constant(cursor: Cursor) -> str | None:
    if cursor.accept("NULL"):
        return None
    if cursor.at("DATE") or cursor.at("TIMESTAMP"):
        cursor.take()
        return cursor.string()
    sign = "-" if cursor.accept("-") else ""
    token = cursor.peek()
    if token.kind == "word" and token.value.isascii() and token.value.isdigit():
        text = sign + cursor.take().value
        return f"{text}.{cursor.digits()}" if cursor.accept(".") else text
    if token.word in {"TRUE", "FALSE"} and not sign:
        return cursor.take().value.lower()
    if sign:
        raise cursor.refused("a number")
    return cursor.string()


def _map(cursor: Cursor, depth: int) -> LakeType:
    key = _type(cursor, depth)
    cursor.expect(",")
    return Map(key, _type(cursor, depth))


def _struct(cursor: Cursor, depth: int) -> LakeType:
    fields = [_field(cursor, depth)]
    while cursor.accept(","):
        fields.append(_field(cursor, depth))
    return Struct(tuple(fields))


def _field(cursor: Cursor, depth: int) -> Field:
    name = cursor.name()
    cursor.expect(":")
    type_ = _type(cursor, depth)
    if cursor.at("COMMENT"):
        raise cursor.unsupported("A comment of a struct's field", "Comment the column.")
    return Field(name, type_)


_NESTED: Mapping[str, Callable[[Cursor, int], LakeType]] = {
    "array": lambda cursor, depth: Array(_type(cursor, depth)),
    "map": _map,
    "struct": _struct,
}


def _decimal(cursor: Cursor) -> LakeType:
    cursor.take()
    precision, scale = 10, 0  # Hive's own
    if cursor.accept("("):
        first = cursor.peek()
        precision = cursor.integer()
        scale = cursor.integer() if cursor.accept(",") else 0
        cursor.expect(")")
        if not (1 <= precision <= 38 and scale <= precision):
            raise cursor.invalid(first, f"decimal({precision},{scale}) is not a type: it has 1 to 38 digits.")
    return Scalar("decimal", (precision, scale))


def _text(cursor: Cursor, name: str) -> LakeType:
    cursor.take()
    cursor.expect("(")
    first = cursor.peek()
    length = cursor.integer()
    cursor.expect(")")
    if not 1 <= length <= _MAX_LENGTHS[name]:
        raise cursor.invalid(first, f"{name}({length}) is not a type: its length is 1 to {_MAX_LENGTHS[name]}.")
    return Scalar(name, (length,))
