"""JSON payloads to write: held against the schema by jsonschema-rs, then written as Jackson, AWS's Java writer, does it.

That is compact, in the value's own order of keys, in UTF-8, with floats in the form of Java's ``Double.toString`` (measured
on AWS's serde 1.1.27: ``1e10`` is written ``1.0E10``, ``0.00001`` is ``1.0E-5``).
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from penstock.schema.errors import InvalidSchema
from penstock.schema.jsonschema.document import read_document, validator_of
from penstock.schema.version import SchemaText
from penstock.serdes.avro.diagnosis import too_deep
from penstock.serdes.avro.limits import Limits
from penstock.serdes.errors import IncompatibleValue, MissingField, PayloadTooLarge, UnknownField, UnreadableSchema
from penstock.serdes.json.decoder import json_library, problem_path

__all__ = ["as_jackson", "json_encoder"]

_LIMITS = Limits()
_UNWRITABLE = (ValueError, TypeError, OverflowError)

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)')
_CONTROL = re.compile(rb"\\u00([01][0-9a-f])|\\[^u]")


def json_encoder(schema: SchemaText) -> Callable[[bytes], Callable[[Any], bytes]]:
    """A function from a prefix to one from a value (what :func:`json.loads` gives) to that prefix and the value's JSON.

    The latter raises :class:`IncompatibleValue` or a subclass with the path of what does not obey the schema, and
    :class:`PayloadTooLarge`. Making it raises :class:`UnreadableSchema`.
    """
    dumps = json_library().dumps
    try:
        validator = validator_of(read_document(schema.definition, schema.references))
    except InvalidSchema as error:
        raise UnreadableSchema(f"The schema cannot be used: {error}") from error
    return lambda prefix: _encoder(validator, dumps, prefix)


def _encoder(validator: Any, dumps: Callable[[Any], bytes], prefix: bytes) -> Callable[[Any], bytes]:
    is_valid = validator.is_valid

    def encode(value: Any) -> bytes:
        try:
            if not is_valid(value):
                raise _misfit(validator, value)
            text = dumps(value)
            odd = _has_odd_number(value)
        except _UNWRITABLE as error:
            text, odd = _second_try(value, error), True
        return prefix + (as_jackson(text) if odd or b"\\u00" in text else text)

    return encode


def as_jackson(text: bytes) -> bytes:
    """Compact JSON with its floats and control characters as Jackson writes them; everything else stays."""
    return _TOKEN.sub(_respell, text)


def _strict(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _has_odd_number(value: Any) -> bool:
    """Whether a value has a float that Java writes in another way: from 10**7 up, or below 10**-3.

    Raises ``ValueError`` for a NaN or an infinity, which both libraries take for null. The value was written already, so
    that its depth is bounded.
    """
    odd = False
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else (value,):
        kind = item.__class__
        if kind is float:
            if not (0.001 <= item < 1e7 or -1e7 < item <= -0.001 or item == 0.0):
                if item - item != 0.0:
                    raise ValueError("NaN and Infinity are no numbers of JSON")
                odd = True
        elif kind is not str and kind is not int and isinstance(item, dict | list | tuple):
            odd = _has_odd_number(item) or odd
    return odd


def _second_try(value: Any, error: Exception) -> bytes:
    """The JSON of what the fast writer refuses and is JSON, integers beyond 64 bits, or the error that says why not."""
    if too_deep(value, _LIMITS.depth):
        raise PayloadTooLarge(f"The value nests deeper than {_LIMITS.depth} levels, or contains itself.") from None
    _check_parts(value)
    try:
        if "64-bit" in str(error):
            return _strict(value)
    except _UNWRITABLE as other:
        error = other
    raise IncompatibleValue(f"value cannot be written as JSON: {' '.join(str(error).split())[:300]}", path="value") from None


def _check_parts(value: Any, path: str = "value") -> None:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise IncompatibleValue(f"{path} has the key {key!r}; keys of JSON's objects are texts.", path=path)
            _check_parts(item, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check_parts(item, f"{path}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise IncompatibleValue(f"{path} is {value}, which cannot be written as JSON.", path=path)
    elif value is not None and not isinstance(value, str | int | float):
        raise IncompatibleValue(f"{path} is a {type(value).__name__}, which cannot be written as JSON.", path=path)


def _misfit(validator: Any, value: Any) -> IncompatibleValue:
    problem = next(validator.iter_errors(value))
    # What is no JSON at all is said first: the validator takes NaN for null.
    _check_parts(value)
    where = problem_path(problem)
    message = " ".join(str(problem.message).split())[:300]
    if problem.kind.name == "required":
        return MissingField(f"{where} is missing: the schema requires it.", path=where)
    if problem.kind.name == "additionalProperties":
        return UnknownField(
            f"{where} is not a property of the schema, which allows no others.",
            path=where,
            remedy="Register a version that has it, or drop it.",
        )
    return IncompatibleValue(f"{where} does not obey its schema: {message}", path=where)


def _respell(match: "re.Match[bytes]") -> bytes:
    token = match[0]
    if token[:1] == b'"':
        return _CONTROL.sub(lambda found: b"\\u00" + found[1].upper() if found[1] else found[0], token)
    return _java_double(float(token)).encode()


def _java_double(number: float) -> str:
    """Java's Double.toString: plain from 10**-3 to below 10**7, else one digit, a point, digits, and the exponent."""
    text = repr(number)
    size = abs(number)
    if size == 0 or 1e-3 <= size < 1e7:
        return text
    mantissa, _, exponent = text.lower().partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    power = int(exponent or 0) + (len(whole) - 1 if whole != "0" else len(digits) - len(fraction) - 1)
    digits = digits.rstrip("0")
    # Two digits are the least that Java prints, rounded from the number itself: 4.9E-324.
    if len(digits) == 1:
        short, _, exponent = f"{size:.1e}".partition("e")
        return f"{sign}{short}E{int(exponent)}"
    return f"{sign}{digits[0]}.{digits[1:]}E{power}"
