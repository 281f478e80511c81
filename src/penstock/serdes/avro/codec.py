"""Avro payloads: schemas are parsed once, fastavro's compiled functions encode and decode, and errors name the field's path.

A record costs one call into fastavro and no walk over the schema. Hostile bytes cannot end the process: see
:mod:`penstock.serdes.avro.limits`. Binary encoding: https://avro.apache.org/docs/1.12.0/specification/#binary-encoding
"""

import json
from collections.abc import Callable
from functools import cached_property
from io import BytesIO
from typing import Any

import fastavro

from penstock.client.cache import OnceCache
from penstock.schema.avro.library import REFUSALS, library_schema
from penstock.schema.avro.model import AvroSchema as Tree
from penstock.schema.avro.model import RecordType
from penstock.schema.avro.parse import parse_avro, parse_registered
from penstock.schema.avro.resolve import incompatibilities
from penstock.schema.errors import InvalidSchema
from penstock.schema.rules import AvroRules
from penstock.serdes.avro.diagnosis import FindMisfit, MisfitFold, root_name, too_deep, unexplained
from penstock.serdes.avro.json_text import FromJson, compile_from_json, convert_defaults
from penstock.serdes.avro.limits import MAX_SCHEMA_DEPTH, Limits, Node, analyse, check, needs_check, tree_depth
from penstock.serdes.avro.locate import Locate, compile_locate
from penstock.serdes.avro.lossless import FAULTS, Guard, compile_guard
from penstock.serdes.errors import (
    IncompatibleValue,
    MalformedPayload,
    PayloadTooLarge,
    SerdeError,
    TrailingBytes,
    TruncatedPayload,
    UnreadableSchema,
)

__all__ = ["AvroSchema", "AvroSchemas", "decoder", "encoder"]

_LIMITS = Limits()
_UNREADABLE = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    ArithmeticError,
    IndexError,
    EOFError,
    MemoryError,
    RecursionError,
    fastavro.read.SchemaResolutionError,
)
_UNWRITABLE = (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, IndexError, RecursionError)


class AvroSchema:
    """A parsed definition: its types, fastavro's form of them, and the functions compiled from them on first use."""

    def __init__(self, definition: str) -> None:
        """Parse. Raise :class:`UnreadableSchema` for a text that is not an Avro schema, or nests too deep."""
        self.definition = definition
        self.tree = _parse(definition)
        names: dict[str, Any] = {}
        try:
            self.parsed: Any = library_schema(self.tree, names)
        except REFUSALS as error:
            raise UnreadableSchema(
                f"The schema is not an Avro schema: {type(error).__name__}: {_one_line(error)}"
            ) from error
        convert_defaults(self.tree, names)
        self.layout: Node = analyse(self.tree)
        self.walk_first = needs_check(self.layout)
        self.root_name = root_name(self.tree)

    @property
    def is_record(self) -> bool:
        """Whether values are mappings of fields."""
        return isinstance(self.tree.root, RecordType) and self.tree.root.kind == "record"

    @cached_property
    def guard(self) -> Guard | None:
        """The guard against values that fastavro would change, or ``None`` if it changes none."""
        return compile_guard(self.tree)

    @cached_property
    def from_json(self) -> FromJson:
        """The function from a JSON value to a value that the schema's encoder accepts."""
        return compile_from_json(self.tree)

    @cached_property
    def locate(self) -> Locate:
        """The function that finds the unreadable part of a payload."""
        return compile_locate(self.tree)

    def misfit(self, value: Any, *, ignore_unknown: bool) -> IncompatibleValue | None:
        """Return the error for the first part of ``value`` that does not fit, with its path, or ``None`` if all fit."""
        find = self._lenient_misfit if ignore_unknown else self._strict_misfit
        return find(value, self.root_name)

    @cached_property
    def _strict_misfit(self) -> FindMisfit:
        return MisfitFold(self.tree, ignore_unknown=False).root()

    @cached_property
    def _lenient_misfit(self) -> FindMisfit:
        return MisfitFold(self.tree, ignore_unknown=True).root()


class AvroSchemas:
    """A cache of parsed schemas by their text. Thread-safe."""

    def __init__(self, size: int = 200) -> None:
        self._parsed: OnceCache[str, AvroSchema] = OnceCache(size)

    def parse(self, definition: str) -> AvroSchema:
        """Return the parsed schema. Raise :class:`UnreadableSchema`."""
        return self._parsed.get(definition, lambda: AvroSchema(definition))


def encoder(schema: AvroSchema, *, prefix: bytes = b"", ignore_unknown: bool = False) -> Callable[[Any], bytes]:
    """Return a function from a value to ``prefix`` and the value's binary encoding.

    It raises :class:`~penstock.serdes.errors.IncompatibleValue` or a subclass with the path of the part that does not fit. A
    field that the schema lacks is an error, because its value would be lost, unless ``ignore_unknown`` is set.
    """
    parsed = schema.parsed
    write = fastavro.schemaless_writer
    bounded = schema.walk_first
    guard = schema.guard
    strict = not ignore_unknown

    def encode(value: Any) -> bytes:
        if bounded and too_deep(value, _LIMITS.depth):
            raise PayloadTooLarge(f"The value nests deeper than {_LIMITS.depth} levels, or contains itself.")
        if guard is not None:
            try:
                guard(value)
            except FAULTS:
                misfit = schema.misfit(value, ignore_unknown=ignore_unknown)
                if misfit is not None:
                    raise misfit from None
            except RecursionError:
                raise PayloadTooLarge("The value nests too deep, so it cannot be checked.") from None
        out = BytesIO()
        out.write(prefix)
        try:
            write(out, parsed, value, strict_allow_default=strict)
        except _UNWRITABLE as error:
            problem = schema.misfit(value, ignore_unknown=ignore_unknown)
            raise problem or unexplained(schema.root_name, error) from error
        return out.getvalue()

    return encode


def decoder(
    writer: AvroSchema, reader: AvroSchema | None = None, *, start: int = 0, limits: Limits = _LIMITS
) -> Callable[[bytes], Any]:
    """Return a function from a message whose payload begins at byte ``start`` to the value, resolved to ``reader`` if given.

    It raises :class:`TruncatedPayload`, :class:`TrailingBytes`, :class:`MalformedPayload` or :class:`PayloadTooLarge`, and
    :class:`UnreadableSchema` if the reader's schema cannot read the writer's.
    """
    read = fastavro.schemaless_reader
    writer_parsed = writer.parsed
    reader_parsed = reader.parsed if reader is not None and reader.parsed != writer.parsed else None
    walk_first, layout = writer.walk_first, writer.layout

    def decode(data: bytes) -> Any:
        if walk_first:
            try:
                check(layout, data, start, limits)
            except (TruncatedPayload, MalformedPayload) as error:
                raise _refused(type(error), writer, data, start, error.message) from None
        source = BytesIO(data)
        source.seek(start)
        try:
            value = read(source, writer_parsed, reader_parsed)
        except _UNREADABLE as error:
            raise _unreadable(error, writer, reader, data, start) from error
        if source.tell() != len(data):
            remaining = len(data) - source.tell()
            raise TrailingBytes(
                f"Payload of {len(data) - start} bytes has {remaining} bytes after its value.",
                remedy="It is damaged, or was written with another schema than the one in its frame.",
            )
        return value

    return decode


def _unreadable(error: BaseException, writer: AvroSchema, reader: AvroSchema | None, data: bytes, start: int) -> SerdeError:
    if isinstance(error, fastavro.read.SchemaResolutionError):
        return _unresolved(error, writer, reader)
    # fastavro reports an integer that is cut after its first byte as an IndexError.
    if isinstance(error, EOFError) or (isinstance(error, IndexError) and "string index" in str(error)):
        return _refused(TruncatedPayload, writer, data, start, "")
    return _refused(MalformedPayload, writer, data, start, f"{type(error).__name__}: {_one_line(error)}")


def _refused(error_class: type[SerdeError], writer: AvroSchema, data: bytes, start: int, reason: str) -> SerdeError:
    """Return the error with the path of the unreadable part. ``reason`` is used if the walk finds no reason itself."""
    path, why = writer.locate(data, start, writer.root_name) or ("", "")
    size, where = len(data) - start, f", at {path}" if path else ""
    if error_class is TruncatedPayload:
        return error_class(f"Payload of {size} bytes ends inside a value{where}.", path=path)
    reason = (why or reason).rstrip(".")
    return error_class(f"Payload of {size} bytes is not a value of its schema{where}: {reason}.", path=path)


def _unresolved(error: BaseException, writer: AvroSchema, reader: AvroSchema | None) -> UnreadableSchema:
    """Return an error with the rule that the two schemas break, and where. If they break none, use fastavro's message."""
    try:
        parsed = [parse_avro(side.definition) for side in (reader or writer, writer)]
        broken = incompatibilities(parsed[0], parsed[1], AvroRules())
    except InvalidSchema:
        broken = []
    if not broken:
        return UnreadableSchema(f"The reader's schema cannot read the writer's: {_one_line(error)}")
    path = writer.root_name + broken[0].path.rstrip("/").replace("/", ".")
    return UnreadableSchema(f"The reader's schema cannot read the writer's: {broken[0]}", path=path)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def _parse(definition: str) -> Tree:
    try:
        tree = json.loads(definition)
    except (ValueError, RecursionError) as error:
        raise UnreadableSchema(f"The schema is not JSON: {_one_line(error)}") from None
    if tree_depth(tree) > MAX_SCHEMA_DEPTH:
        raise UnreadableSchema(f"The schema nests deeper than {MAX_SCHEMA_DEPTH} levels.")
    try:
        return parse_registered(tree, max_depth=MAX_SCHEMA_DEPTH)
    except (InvalidSchema, RecursionError) as error:
        raise UnreadableSchema(f"The schema is not an Avro schema: {_one_line(error)}") from error
