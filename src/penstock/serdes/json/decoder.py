"""JSON payloads: text read with bounds by orjson, held against its schema by jsonschema-rs."""

import json
from collections.abc import Callable
from typing import Any, NoReturn

from penstock.errors import EnvironmentProblem
from penstock.schema.errors import InvalidSchema
from penstock.schema.jsonschema.document import read_document, validator_of
from penstock.schema.version import SchemaText
from penstock.serdes.avro.limits import Limits, tree_depth
from penstock.serdes.errors import MalformedPayload, PayloadTooLarge, TruncatedPayload, UnreadableSchema

__all__ = ["json_decoder", "json_library", "problem_path"]


def json_decoder(schema: SchemaText, *, start: int, limits: Limits) -> Callable[[bytes], Any]:
    """A function from bytes, of which the payload begins at ``start``, to the value, which obeys ``schema``.

    It raises :class:`MalformedPayload` for what is no JSON or no value of the schema, and :class:`PayloadTooLarge` for what
    nests too deep. As Java's readers do, it lets the last of two equal keys win. Making it raises :class:`UnreadableSchema`.
    """
    loads = json_library().loads
    try:
        validator = validator_of(read_document(schema.definition, schema.references))
    except InvalidSchema as error:
        raise UnreadableSchema(f"The schema cannot be used: {error}") from error

    def decode(data: bytes) -> Any:
        size = len(data) - start
        value = _value(data[start:], limits, loads)
        try:
            if validator.is_valid(value):
                return value
            problem = next(validator.iter_errors(value))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise MalformedPayload(f"Payload of {size} bytes cannot be held against its schema: {error}") from None
        pointer = "".join(f"/{step}" for step in problem.instance_path) or "/"
        raise MalformedPayload(
            f"Payload of {size} bytes is no value of its schema: at {pointer[:300]}: {problem.message[:300]}",
            path=problem_path(problem),
        )

    return decode


def json_library() -> Any:
    """The fast reader and writer of JSON; :class:`EnvironmentProblem` where it is not installed."""
    try:
        import orjson  # noqa: PLC0415 - an extra's library
    except ImportError:
        raise EnvironmentProblem("JSON needs the package orjson.", remedy="pip install 'penstock[json]'") from None
    return orjson


def problem_path(problem: Any) -> str:
    """Where a validator's problem is, as errors of all formats write it: ``value.legs[3].carrier``.

    For a property that is missing or not allowed that is the property.
    """
    steps: list[str | int] = list(problem.instance_path)
    if problem.kind.name == "required":
        steps.append(problem.kind.as_dict()["property"])
    elif problem.kind.name == "additionalProperties":
        steps.append(problem.kind.as_dict()["unexpected"][0])
    return "value" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _value(payload: bytes, limits: Limits, loads: Callable[[bytes], Any]) -> Any:
    if len(payload) > limits.payload:
        raise PayloadTooLarge(f"Payload has {len(payload)} bytes; {limits.payload} are allowed.")
    try:
        # The fast reader makes floats of integers beyond 64 bits, and refuses some of what JSON allows: half of a pair.
        value = _STDLIB.decode(payload.decode()) if _LONG in payload.translate(_DIGITS) else loads(payload)
    except (ValueError, RecursionError):
        value = _second_try(payload, limits)
    # A bracket opens each level, so that most payloads need not be walked, and short ones not be counted.
    deepest = len(payload) > limits.depth and payload.count(b"[") + payload.count(b"{")
    if deepest > limits.depth and tree_depth(value) > limits.depth:
        raise PayloadTooLarge(f"Payload nests deeper than {limits.depth} levels.")
    return value


def _second_try(payload: bytes, limits: Limits) -> Any:
    try:
        return _STDLIB.decode(payload.decode())
    except RecursionError:
        raise PayloadTooLarge(f"Payload nests deeper than {limits.depth} levels.") from None
    except ValueError as error:
        if _is_cut(error):
            raise TruncatedPayload(f"Payload of {len(payload)} bytes ends inside its JSON: {str(error)[:200]}") from None
        raise MalformedPayload(f"Payload of {len(payload)} bytes is no JSON: {str(error)[:200]}") from None


def _is_cut(error: ValueError) -> bool:
    """Whether what was wrong with a text is that it ends too early, as far as that can be told."""
    if isinstance(error, UnicodeDecodeError):
        return error.reason == "unexpected end of data"
    if not isinstance(error, json.JSONDecodeError):
        return False
    rest = error.doc[error.pos :].rstrip()
    begun = any(word.startswith(rest) for word in _WORDS)
    return begun or error.msg.startswith("Unterminated string") or ("escape" in error.msg and len(rest) < _ESCAPE)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


_WORDS = ("true", "false", "null", "-")  # also where nothing is left
_ESCAPE = 6  # characters of a whole one
_STDLIB = json.JSONDecoder(parse_constant=_no_constant)
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
_LONG = b"0" * 19  # digits, as many as the largest integer of 64 bits has
