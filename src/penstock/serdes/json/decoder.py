"""JSON payloads to values: orjson reads the text within limits, and jsonschema-rs validates the value."""

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
    """Return a function from a message whose payload begins at byte ``start`` to the value, validated against ``schema``.

    The function raises :class:`MalformedPayload` for a payload that is not JSON or not a value of the schema, and
    :class:`PayloadTooLarge` for one that nests too deep. The last of two equal keys wins, as in Java's readers. Raise
    :class:`UnreadableSchema` for a schema that cannot be used.
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
            raise MalformedPayload(f"Payload of {size} bytes cannot be validated against its schema: {error}") from None
        pointer = "".join(f"/{step}" for step in problem.instance_path) or "/"
        raise MalformedPayload(
            f"Payload of {size} bytes is not a value of its schema, at {pointer[:300]}: {problem.message[:300]}",
            path=problem_path(problem),
        )

    return decode


def json_library() -> Any:
    """Return orjson, the fast reader and writer of JSON. Raise :class:`EnvironmentProblem` if it is not installed."""
    try:
        import orjson  # noqa: PLC0415 - an extra's library
    except ImportError:
        raise EnvironmentProblem("JSON needs the package orjson.", remedy="pip install 'penstock[json]'") from None
    return orjson


def problem_path(problem: Any) -> str:
    """Return the path of a validator's problem in the form of all formats' errors: ``value.legs[3].carrier``.

    For a missing or disallowed property it is the path of that property.
    """
    steps: list[str | int] = list(problem.instance_path)
    if problem.kind.name == "required":
        steps.append(problem.kind.as_dict()["property"])
    elif problem.kind.name == "additionalProperties":
        steps.append(problem.kind.as_dict()["unexpected"][0])
    return "value" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _value(payload: bytes, limits: Limits, loads: Callable[[bytes], Any]) -> Any:
    if len(payload) > limits.payload:
        raise PayloadTooLarge(
            f"Payload has {len(payload)} bytes; at most {limits.payload} are allowed.",
            remedy="Give the deserialiser limits=Limits(payload=...) if messages of this size are expected.",
        )
    try:
        # orjson makes floats of integers beyond 64 bits, and refuses half a surrogate pair, which JSON allows.
        value = _STDLIB.decode(payload.decode()) if _LONG in payload.translate(_DIGITS) else loads(payload)
    except (ValueError, RecursionError):
        value = _second_try(payload, limits)
    # Each level opens with a bracket: most payloads need no walk, and short ones need no count.
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
        raise MalformedPayload(f"Payload of {len(payload)} bytes is not JSON: {str(error)[:200]}") from None


def _is_cut(error: ValueError) -> bool:
    """Return whether the error shows that the text ends too early."""
    if isinstance(error, UnicodeDecodeError):
        return error.reason == "unexpected end of data"
    if not isinstance(error, json.JSONDecodeError):
        return False
    rest = error.doc[error.pos :].rstrip()
    begun = any(word.startswith(rest) for word in _WORDS)
    return begun or error.msg.startswith("Unterminated string") or ("escape" in error.msg and len(rest) < _ESCAPE)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_WORDS = ("true", "false", "null", "-")  # each also starts with an empty rest
_ESCAPE = 6  # characters of a complete escape
_STDLIB = json.JSONDecoder(parse_constant=_no_constant)
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
_LONG = b"0" * 19  # the number of digits of the largest integer of 64 bits
