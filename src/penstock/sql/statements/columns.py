"""Columns, their Hive types, properties and partition specifications in DDL.

Types: Athena user guide, "Data types in Amazon Athena" (those of DDL).
"""

from collections.abc import Callable, Mapping, Sequence

from penstock.sql.statements.cursor import Cursor
from penstock.sql.statements.names import ColumnDefinition, PartitionCondition

__all__ = ["column", "columns", "hive_type", "partition_conditions", "partition_spec", "properties"]

_PLAIN = frozenset("boolean tinyint smallint int bigint float double string binary date timestamp".split())  # noqa: SIM905
_OTHER_NAMES = {"integer": "int", "dec": "decimal", "numeric": "decimal"}
_MAX_DEPTH = 60
_MAX_LENGTHS = {"char": 255, "varchar": 65535}
_OPERATORS = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def columns(cursor: Cursor) -> Sequence[ColumnDefinition]:
    """Read ``(name type COMMENT 'text', ...)``. Raises :class:`InvalidRequest` for a name that is there twice."""
    first = cursor.peek()
    definitions = cursor.listed(lambda: column(cursor))
    seen: set[str] = set()
    for name in (each.name for each in definitions):
        if name in seen:
            raise cursor.wrong(first, f"Duplicate column name: {name}")
        seen.add(name)
    return definitions


def column(cursor: Cursor) -> ColumnDefinition:
    """Read ``name type COMMENT 'text'``."""
    name = cursor.name()
    kind = hive_type(cursor)
    return ColumnDefinition(name, kind, cursor.string() if cursor.accept("COMMENT") else None)


def hive_type(cursor: Cursor, depth: int = 0) -> str:
    """Read a type and return it as the catalog stores it."""
    if depth > _MAX_DEPTH:
        raise cursor.refused(f"a type of at most {_MAX_DEPTH} levels")
    name = cursor.peek().value.lower() if cursor.peek().kind == "word" else ""
    name = _OTHER_NAMES.get(name, name)
    if name in _PLAIN:
        cursor.take()
        if name == "double":
            cursor.accept("PRECISION")
        return name
    if name == "decimal":
        return _decimal(cursor)
    if name in _MAX_LENGTHS:
        return _text(cursor, name)
    if name == "array":
        cursor.take()
        inner = _inside(cursor, lambda: hive_type(cursor, depth + 1))
        return f"array<{inner}>"
    if name == "map":
        cursor.take()
        return f"map<{_inside(cursor, lambda: _pair(cursor, depth + 1))}>"
    if name == "struct":
        cursor.take()
        return f"struct<{_inside(cursor, lambda: _fields(cursor, depth + 1))}>"
    raise cursor.refused("a type of Athena's DDL")


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
            raise cursor.refused(" or ".join(f"'{each}'" for each in operators or sorted(set(_OPERATORS.values()))))
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


def _inside(cursor: Cursor, read: Callable[[], str]) -> str:
    cursor.expect("<")
    inner = read()
    cursor.expect(">")
    return inner


def _pair(cursor: Cursor, depth: int) -> str:
    key = hive_type(cursor, depth)
    cursor.expect(",")
    return f"{key},{hive_type(cursor, depth)}"


def _fields(cursor: Cursor, depth: int) -> str:
    fields = [_field(cursor, depth)]
    while cursor.accept(","):
        fields.append(_field(cursor, depth))
    return ",".join(fields)


def _field(cursor: Cursor, depth: int) -> str:
    name = cursor.name()
    cursor.expect(":")
    kind = hive_type(cursor, depth)
    if cursor.at("COMMENT"):
        raise cursor.unsupported("A comment of a struct's field", "Comment the column.")
    return f"{name}:{kind}"


def _decimal(cursor: Cursor) -> str:
    cursor.take()
    precision, scale = 10, 0  # Hive's own
    if cursor.accept("("):
        first = cursor.peek()
        precision = cursor.integer()
        scale = cursor.integer() if cursor.accept(",") else 0
        cursor.expect(")")
        if not (1 <= precision <= 38 and scale <= precision):
            raise cursor.wrong(first, f"decimal({precision},{scale}) is not a type: it has 1 to 38 digits.")
    return f"decimal({precision},{scale})"


def _text(cursor: Cursor, name: str) -> str:
    cursor.take()
    cursor.expect("(")
    first = cursor.peek()
    length = cursor.integer()
    cursor.expect(")")
    if not 1 <= length <= _MAX_LENGTHS[name]:
        raise cursor.wrong(first, f"{name}({length}) is not a type: its length is 1 to {_MAX_LENGTHS[name]}.")
    return f"{name}({length})"
