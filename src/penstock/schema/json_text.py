"""Reading of untrusted JSON within limits of size and depth, without duplicate keys or numbers that JSON lacks."""

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn

import orjson

from penstock.schema.errors import InvalidSchema
from penstock.schema.format import MAX_DEFINITION_CHARS

__all__ = ["MAX_JSON_DEPTH", "read_json", "write_json"]

MAX_JSON_DEPTH = 200

# Strings are matched whole so that brackets in them do not count.
_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
# Text that orjson may write differently from json: DEL, and numbers with a fraction or an exponent.
_WRITTEN_DIFFERENTLY = re.compile(rb"\x7f|[0-9][.e]")
_ESCAPES = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<lone>u[dD][89a-fA-F])|.)", re.DOTALL)


def read_json(text: str) -> Any:
    """Return the value of ``text``. Raise :class:`InvalidSchema` with the place if it is not JSON or exceeds a limit."""
    if len(text) > MAX_DEFINITION_CHARS:
        raise InvalidSchema(
            f"The definition has {len(text)} characters; the limit is {MAX_DEFINITION_CHARS}.",
            remedy="Split the schema, or drop generated documentation from it.",
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _no_text(error.start) from None
    _check_escapes(text)
    _check_depth(text)
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise InvalidSchema(
            f"The definition is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except ValueError as error:
        # An integer of more digits than Python converts.
        raise InvalidSchema(f"The definition has a number that cannot be read: {error}.") from None


def write_json(value: Any) -> str:
    """Return ``value`` (its numbers must be finite) as compact ASCII JSON, keys sorted. Equal values give equal text."""
    try:
        # A tenth of json's time, and the same text if all is ASCII and all numbers are whole, which is nearly always so.
        quick = orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_SUBCLASS)
    except orjson.JSONEncodeError:
        quick = b"\x7f"
    if quick.isascii() and _WRITTEN_DIFFERENTLY.search(quick) is None:
        return quick.decode()
    return json.dumps(value, separators=(",", ":"), sort_keys=True, allow_nan=False)


def _check_escapes(text: str) -> None:
    r"""Refuse a surrogate written as ``\ud800`` without its other half: such a text can be neither sent nor stored."""
    if "\\u" in text:
        for match in _ESCAPES.finditer(text):
            if match["lone"]:
                raise _no_text(match.start())


def _no_text(position: int) -> InvalidSchema:
    return InvalidSchema(f"The definition has a lone surrogate at character {position}, which is not text.")


def _check_depth(text: str) -> None:
    if text.count("{") + text.count("[") <= MAX_JSON_DEPTH:
        return
    depth = 0
    for match in _BRACKETS.finditer(text):
        token = match.group()
        if token in "[{":
            depth += 1
            if depth > MAX_JSON_DEPTH:
                raise InvalidSchema(
                    f"The definition nests more than {MAX_JSON_DEPTH} levels of brackets.",
                    remedy="Define inner types under names and refer to them.",
                )
        elif token in "]}":
            depth -= 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise InvalidSchema(f"The key '{twice[:100]}' occurs twice in one JSON object.", remedy="Keep one of the two.")
    return members


def _no_constant(name: str) -> NoReturn:
    raise InvalidSchema(f"{name} is not a JSON number.")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise InvalidSchema(f"The number {text[:40]} is out of the range of a double.")
    return value
