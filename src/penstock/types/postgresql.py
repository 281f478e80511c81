"""Types of columns in PostgreSQL and Redshift.

Sources: PostgreSQL documentation, "Data Types"; Amazon Redshift Database Developer Guide, "Data types".
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from penstock.types.model import MAX_PRECISION, STRING, Array, LakeType, Scalar, decimal, scalar_of

__all__ = ["ANY", "Dialect", "column_type", "of_column", "of_text"]

Dialect: TypeAlias = Literal["postgresql", "redshift"]

ANY = Scalar("variant")
"""The type of a column that takes any value: JSON, a numeric without digits."""

_NAMES: Mapping[str, str] = {
    "boolean": "boolean",
    "smallint": "smallint",
    "integer": "int",
    "bigint": "bigint",
    "real": "float",
    "double precision": "double",
    "date": "date",
    "timestamp with time zone": "timestamptz",
    "timestamp without time zone": "timestamp_ntz",
    "bytea": "binary",
    "binary varying": "binary",
    "varbyte": "binary",
    **dict.fromkeys(("json", "jsonb", "super"), ANY.name),
}
_COLUMNS: Mapping[str, str] = {
    **{name: text for text, name in reversed(list(_NAMES.items()))},
    "tinyint": "smallint",
    "timestamp": "timestamp with time zone",
}
# Redshift's text without a length would have 256 bytes; these are the longest.
_OWN: Mapping[Dialect, Mapping[str, str]] = {
    "postgresql": {"string": "text", "void": "text", "binary": "bytea", ANY.name: "jsonb"},
    "redshift": {
        "string": "varchar(65535)",
        "void": "varchar(65535)",
        "binary": "varbyte(1024000)",
        ANY.name: "super",
    },
}
_TEXT = re.compile(r"(?P<name>[a-z_ ]+?)(\((?P<numbers>-?\d+(,-?\d+)?)\))?(?P<zone> with(out)? time zone)?")


def column_type(type_: LakeType, dialect: Dialect) -> str:
    """Return the type of a new column. Raises :class:`TypeMissing` for one that has no counterpart."""
    own = _OWN[dialect]
    if not isinstance(type_, Scalar):
        return own[ANY.name]
    if type_.name in {"varchar", "char"} and type_.numbers:
        return f"{type_.name}({type_.numbers[0]})"
    if type_.name == "decimal":
        return f"numeric({type_.numbers[0]},{type_.numbers[1]})"
    result: str = scalar_of({**_COLUMNS, **own}, type_, dialect)
    return result


def of_column(name: str, numbers: Sequence[int | None]) -> LakeType:
    """Return the type of a column: ``name`` as information_schema has it, in lower case.

    ``numbers`` are its length, precision and scale. What the lake lacks is text, as which it is read and written: uuid,
    inet, an enumeration.
    """
    length, precision, scale = numbers
    if name == "numeric":
        digits, fraction = precision or 0, scale or 0
        return decimal(digits, fraction) if 0 < digits <= MAX_PRECISION and 0 <= fraction <= digits else ANY
    if name in {"character varying", "character"}:
        text = "char" if name == "character" else "varchar"
        return STRING if length is None and text == "varchar" else Scalar(text, (length or 1,))
    return Scalar(_NAMES[name]) if name in _NAMES else STRING


def of_text(text: str) -> LakeType:
    """Return the type of a column: ``text`` as the function ``format_type`` writes it, such as ``numeric(10,2)[]``.

    Numbers without digits have 38, of which 18 are a fraction's.
    """
    if text.endswith("[]"):
        return Array(of_text(text[:-2]))
    if text == "numeric":
        return decimal(MAX_PRECISION, 18)
    match = _TEXT.fullmatch(text)
    if match is None:
        return STRING
    numbers = [int(number) for number in (match["numbers"] or "").split(",") if number]
    name = f"{match['name']}{match['zone'] or ''}"
    if name == "numeric":
        return of_column(name, [None, *numbers, *[None] * (2 - len(numbers))])
    return of_column(name, [numbers[0] if numbers else None, None, None])
