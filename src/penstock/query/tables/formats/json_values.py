"""From a value of JSON to one of a column's type, as the two SerDes of JSON convert."""

import base64
import binascii
import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from penstock.types.model import LakeType, Struct

__all__ = ["Converter", "JsonProblem", "Number", "converter"]

Converter = Callable[[Any], Any]
"""From a value of JSON that is not null to what Arrow takes for the type. Raises :class:`JsonProblem`."""


class JsonProblem(Exception):
    """What is wrong with a line."""


class Number(str):
    """A number as the file writes it."""

    __slots__ = ()


_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_DAY = re.compile(r"(\d{1,4})-(\d{1,2})-(\d{1,2})(?: .*)?", re.ASCII)
_INSTANT = re.compile(
    r"(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[ Tt](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?([zZ]|[+-]\d{2}:?\d{2})?",
    re.ASCII,
)
_EXACT = Context(prec=76)
_MILLISECONDS = 13  # digits from which on OpenX's takes a number for milliseconds


def converter(type_: LakeType, *, openx: bool) -> Converter:
    """Return the function for values of ``type_``; ``openx`` for the SerDe that converts between texts and numbers."""
    make: dict[str, Callable[[], Converter]] = {
        "boolean": lambda: _boolean,
        "float": lambda: _real(openx=openx),
        "double": lambda: _real(openx=openx),
        "decimal": lambda: _decimal(*type_.numbers, openx=openx),
        "date": lambda: _date,
        "timestamp": lambda: _openx_timestamp if openx else _timestamp,
        "timestamptz": lambda: _openx_timestamp if openx else _timestamp,
        "binary": lambda: _binary if openx else _bytes,
        "void": lambda: lambda _: None,
        "array": lambda: _array(converter(type_.inner[0], openx=openx), openx=openx),
        "map": lambda: _map(*(converter(item, openx=openx) for item in type_.inner), openx=openx),
    }
    if isinstance(type_, Struct):
        return _struct(type_, openx=openx)
    if type_.name in _BITS:
        return _whole(type_.name, _BITS[type_.name], openx=openx)
    if type_.name in make:
        return make[type_.name]()
    return _text(type_.numbers[0] if type_.numbers else None, openx=openx)


def _simple(value: Any) -> str:
    """Return the text of a scalar."""
    if isinstance(value, dict | list):
        raise JsonProblem("an object or an array is not a single value.")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _boolean(value: Any) -> bool:
    return _simple(value).lower() == "true"


def _whole(name: str, bits: int, *, openx: bool) -> Converter:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def convert(value: Any) -> int | None:
        if not isinstance(value, Number) and not (openx and isinstance(value, str)):
            raise JsonProblem(f"{_shown(value)} is not a {name}.")
        if not _WHOLE.fullmatch(value):
            if openx and not isinstance(value, Number):
                return None
            raise JsonProblem(f"{_shown(value)} is not a {name}.")
        number = int(value)
        if low <= number <= high:
            return number
        if openx:
            return None
        raise JsonProblem(f"{_shown(value)} is out of the range of {name}.")

    return convert


def _real(*, openx: bool) -> Converter:
    def convert(value: Any) -> float | None:
        if not isinstance(value, Number) and not (openx and isinstance(value, str)):
            raise JsonProblem(f"{_shown(value)} is not a number.")
        try:
            if "_" in value:
                raise ValueError(value)
            return float(value)
        except ValueError:
            return None

    return convert


def _decimal(precision: int, scale: int, *, openx: bool) -> Converter:
    step, bound = Decimal(1).scaleb(-scale), Decimal(10) ** (precision - scale)

    def convert(value: Any) -> Decimal | None:
        if not isinstance(value, str) or (not openx and not isinstance(value, Number)):
            raise JsonProblem(f"{_shown(value)} is not a number.")
        try:
            number = Decimal(value).quantize(step, ROUND_HALF_UP, _EXACT)
        except InvalidOperation:
            return None
        return number if number.is_finite() and abs(number) < bound else None

    return convert


def _text(length: int | None, *, openx: bool) -> Converter:
    def convert(value: Any) -> str:
        if isinstance(value, dict | list):
            if not openx:
                raise JsonProblem("an object or an array is not a text.")
            text = _json(value)
        else:
            text = _simple(value)
        return text if length is None else text[:length]

    return convert


def _json(value: Any) -> str:
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        pairs = getattr(value, "pairs", list(value.items()))
        return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{_json(item)}" for name, item in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _array(inner: Converter, *, openx: bool) -> Converter:
    def convert(value: Any) -> list[Any] | None:
        if not isinstance(value, list):
            if not openx:
                raise JsonProblem("an array was expected.")
            if value == "":
                return None
            value = [value]
        return [None if item is None else inner(item) for item in value]

    return convert


def _map(key: Converter, inner: Converter, *, openx: bool) -> Converter:
    def convert(value: Any) -> list[tuple[Any, Any]] | None:
        if not isinstance(value, dict):
            if openx and isinstance(value, str) and not value.strip():
                return None
            raise JsonProblem("an object was expected.")
        pairs = {
            key(name if openx else Number(name)): None if item is None else inner(item)
            for name, item in getattr(value, "pairs", value.items())
        }
        return list(pairs.items())

    return convert


def _struct(type_: Struct, *, openx: bool) -> Converter:
    fields = [(field.name, field.name.lower(), converter(field.type, openx=openx)) for field in type_.fields]

    def convert(value: Any) -> dict[str, Any]:
        if isinstance(value, list) and openx:
            value = {key: item for (_, key, _), item in zip(fields, value, strict=False)}
        elif openx and isinstance(value, str) and not isinstance(value, Number) and not value.strip():
            value = {}
        if not isinstance(value, dict):
            raise JsonProblem("an object was expected.")
        record = {}
        for name, key, inner in fields:
            content = value.get(key)
            record[name] = None if content is None else inner(content)
        return record

    return convert


def _date(value: Any) -> date | None:
    match = _DAY.fullmatch(_simple(value).strip())
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def _timestamp(value: Any) -> datetime | None:
    """Return the instant of a text such as ``2024-02-29 23:59:59.5``."""
    text = _simple(value).strip()
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise JsonProblem(f"{_shown(value)} is not a timestamp.")
    *numbers, fraction, zone = match.groups()
    try:
        year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
        part = int((fraction or "0")[:6].ljust(6, "0"))
        instant = datetime(year, month, day, hour, minute, second, part, tzinfo=UTC)
    except ValueError:
        raise JsonProblem(f"{_shown(value)} is not a timestamp.") from None
    if zone and zone not in "zZ":
        away = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        instant = instant - away if zone[0] == "+" else instant + away
    return instant


def _openx_timestamp(value: Any) -> datetime | None:
    """Return the instant of a text, or of seconds, seconds with a fraction, or milliseconds since 1970."""
    text = _simple(value).strip()
    try:
        if ":" in text or not isinstance(value, str):
            return _timestamp(value)
        if not re.fullmatch(r"[+-]?\d+(\.\d+)?", text, re.ASCII):
            return None
        scale = 1 if len(text) >= _MILLISECONDS and "." not in text else 1_000
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(Decimal(text) * scale))
    except (JsonProblem, OverflowError):
        return None


def _binary(value: Any) -> bytes:
    if not isinstance(value, str) or isinstance(value, Number):
        raise JsonProblem(f"{_shown(value)} is not a text of Base64.")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise JsonProblem(f"{_shown(value)} is not a text of Base64.") from None


def _bytes(value: Any) -> bytes:
    return _simple(value).encode()


def _shown(value: Any) -> str:
    return f"'{_json(value)[:50]}'" if not isinstance(value, str) else f"'{value[:50]}'"
