"""Partition values by type: the catalog stores text, expressions compare typed values.

The types are those of GetPartitions in the Glue API reference; an expression over another type is refused, as there.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from penstock.errors import InvalidInput
from penstock.types import hive

__all__ = ["KINDS", "NULL_VALUE", "Scalar", "article", "family", "kind_of", "literal_reader", "order_text", "reader"]

NULL_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The text of a null partition value, as in Hive."""

Scalar: TypeAlias = str | int | Decimal | date | tuple[datetime, int]
"""A typed value. A timestamp is its second and the nanoseconds in it, because ``datetime`` has only microseconds."""

_FAMILIES = {
    **dict.fromkeys(("string", "char", "varchar"), "string"),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    "decimal": "decimal",
    "date": "date",
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "timestamp"),
}
KINDS: Mapping[str, Sequence[str]] = {
    "integer": ("integer",),
    "decimal": ("integer", "decimal"),
    "date": ("date",),
    "timestamp": ("date", "timestamp"),
}
"""The kinds of text (:func:`kind_of`) that are values of each family but ``string``, of which any text is one."""

_INTEGER = re.compile(r"[+-]?\d{1,40}")
_DECIMAL = re.compile(r"[+-]?(\d{1,60}(\.\d{0,60})?|\.\d{1,60})([eE][+-]?\d{1,2})?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2}(\.\d{1,9})?)?")
_WHOLE_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d{1,9})?")


_MOST_PLACES = 500  # more than any number has on either side of its point
_COMPLEMENT = str.maketrans("0123456789", "9876543210")


def family(name: str, hive_type: str | None) -> str:
    """Return ``string``, ``integer``, ``decimal``, ``date`` or ``timestamp`` for the type of partition key ``name``.

    Raises :class:`InvalidInput` for a type that expressions cannot compare.
    """
    base = hive.name_of(hive_type or "string")
    if base not in _FAMILIES:
        raise InvalidInput(
            f"Partition key {name} is a {base}, which an expression cannot compare.",
            remedy=f"Use keys of type {', '.join(sorted(_FAMILIES))}; filter on others after reading.",
        )
    return _FAMILIES[base]


def article(type_name: str) -> str:
    """Return the family with its article, for messages: ``an integer``."""
    return f"an {type_name}" if type_name[0] in "aeiou" else f"a {type_name}"


def reader(name: str, key_type: str) -> Callable[[str], Scalar]:
    """Return a parser of values of family ``key_type``; it raises :class:`InvalidInput` for text of another."""
    convert = _CONVERTERS.get(key_type, str)

    def read(text: str) -> Scalar:
        try:
            return convert(text)
        except (ValueError, InvalidOperation):
            raise InvalidInput(
                f"'{text[:100]}' is not a value of partition key {name}, which is {article(key_type)}.",
                remedy="Correct the expression.",
            ) from None

    return read


def literal_reader(name: str, key_type: str) -> Callable[[str], Scalar]:
    """Return a parser of an expression's literals, as :func:`reader` for values: a timestamp has its time of day there."""
    read = reader(name, key_type)

    def read_literal(text: str) -> Scalar:
        if key_type == "timestamp" and not _WHOLE_TIMESTAMP.fullmatch(text):
            raise InvalidInput(
                f"'{text[:100]}' is not a timestamp, which partition key {name} is. "
                "Timestamp format must be yyyy-mm-dd hh:mm:ss[.fffffffff]",
                remedy="Write the time of day, too: of a date 00:00:00.",
            )
        return read(text)

    return read_literal


def kind_of(text: str) -> tuple[str, str]:
    """Return the narrowest kind of value that ``text`` is, whatever its key's type, and its :func:`order_text`.

    The kinds are ``null``, ``integer``, ``decimal``, ``date``, ``timestamp``, and ``text`` for all else; those of
    ``null`` and ``text`` have no order but the text itself, so theirs is empty.
    """
    if text == NULL_VALUE:
        return "null", ""
    for kind, convert in _CONVERTERS.items():
        try:
            return kind, order_text(convert(text))
        except (ValueError, InvalidOperation):
            continue
    return "text", ""


def order_text(value: Scalar) -> str:
    """Return a text for a typed value: texts of one family sort as the values do, and equal values have equal texts.

    A number is its sign, its digits before the point and its digits; of a negative one both are complements, because more
    is less there. A date is the timestamp of its midnight.
    """
    match value:
        case str():
            return value
        case (datetime() as second, int(nanos)):
            return f"{second.isoformat(sep=' ')}.{nanos:09}"
        case date():
            return f"{value.isoformat()} 00:00:00.{0:09}"
        case _:
            return _number_text(Decimal(value))


def _number_text(number: Decimal) -> str:
    if not number:
        return "o"
    sign, digits, _ = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0").rstrip("0")
    places = number.adjusted() + _MOST_PLACES
    if not sign:
        return f"p{places:04}{text}"
    return f"n{9999 - places:04}{text.translate(_COMPLEMENT)}~"


def _integer(text: str) -> int:
    if _INTEGER.fullmatch(text):
        return int(text)
    number = _decimal(text)
    if number != number.to_integral_value():
        raise ValueError(text)
    return int(number)


def _decimal(text: str) -> Decimal:
    if not _DECIMAL.fullmatch(text):
        raise ValueError(text)
    return Decimal(text)


def _date(text: str) -> date:
    if not _DATE.fullmatch(text):
        raise ValueError(text)
    return date.fromisoformat(text)


def _timestamp(text: str) -> tuple[datetime, int]:
    match = _TIMESTAMP.fullmatch(text)
    if not match:
        raise ValueError(text)
    return datetime.fromisoformat(text[:19]), int(text[20:].ljust(9, "0"))


_CONVERTERS: dict[str, Callable[[str], Scalar]] = {
    "integer": _integer,
    "decimal": _decimal,
    "date": _date,
    "timestamp": _timestamp,
}
