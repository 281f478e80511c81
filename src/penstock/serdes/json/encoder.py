"""Values to JSON payloads: jsonschema-rs validates the value, and the text has the form of Jackson, AWS's Java writer.

The text is compact, in UTF-8, with keys in the value's order and floats as in Java's ``Double.toString`` (measured on AWS's
serde 1.1.27: ``1e10`` is written ``1.0E10``, ``0.00001`` is ``1.0E-5``).
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
    """Return a function that makes an encoder for a prefix: from a value of :func:`json.loads` to prefix and JSON text.

    The encoder raises :class:`IncompatibleValue` or a subclass with the path of the part that breaks the schema, and
    :class:`PayloadTooLarge`. Raise :class:`UnreadableSchema` for a schema that cannot be used.
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
    """Return compact JSON with its floats and control characters as Jackson writes them."""
    return _TOKEN.sub(_respell, text)


def _strict(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _has_odd_number(value: Any) -> bool:
    """Return whether a value has a float that Java writes differently: 10**7 or more, or below 10**-3.

    Raise ``ValueError`` for NaN or infinity, which both libraries take for null. The value has been written once, so its
    depth is bounded.
    """
    odd = False
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else (value,):
        item_class = item.__class__
        if item_class is float:
            if not (0.001 <= item < 1e7 or -1e7 < item <= -0.001 or item == 0.0):
                if item - item != 0.0:
                    raise ValueError("NaN and Infinity are not JSON numbers")
                odd = True
        elif item_class is not str and item_class is not int and isinstance(item, dict | list | tuple):
            odd = _has_odd_number(item) or odd
    return odd


def _second_try(value: Any, error: Exception) -> bytes:
    """Return the JSON of integers beyond 64 bits, which orjson refuses, or raise the error for any other value."""
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
                raise IncompatibleValue(f"{path} has the key {key!r}; the keys of a JSON object must be strings.", path=path)
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
    # A value that is not JSON is reported first, because the validator takes NaN for null.
    _check_parts(value)
    where = problem_path(problem)
    message = " ".join(str(problem.message).split())[:300]
    if problem.kind.name == "required":
        return MissingField(f"{where} is missing: the schema requires it.", path=where)
    if problem.kind.name == "additionalProperties":
        return UnknownField(
            f"{where} is not a property of the schema, and the schema allows no other properties.",
            path=where,
            remedy="Register a version that has the property, or drop it from the value.",
        )
    return IncompatibleValue(f"{where} does not fit its schema: {message}", path=where)


def _respell(match: "re.Match[bytes]") -> bytes:
    token = match[0]
    if token[:1] == b'"':
        return _CONTROL.sub(lambda control: b"\\u00" + control[1].upper() if control[1] else control[0], token)
    return _java_double(float(token)).encode()


def _java_double(number: float) -> str:
    """Return a float as Java's Double.toString: plain from 10**-3 to below 10**7, otherwise with an exponent."""
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
    # Java prints at least two digits, rounded from the number itself: 4.9E-324.
    if len(digits) == 1:
        short, _, exponent = f"{size:.1e}".partition("e")
        return f"{sign}{short}E{int(exponent)}"
    return f"{sign}{digits[0]}.{digits[1:]}E{power}"
