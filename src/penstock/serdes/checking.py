"""Validation of data against a definition, without a registry, for producers and consumers that do not frame messages."""

import json
from collections.abc import Callable
from typing import Any

from penstock.client.cache import OnceCache
from penstock.errors import InvalidInput
from penstock.schema.format import DATA_FORMATS
from penstock.schema.version import SchemaText
from penstock.serdes import frame
from penstock.serdes.avro.codec import AvroSchema, AvroSchemas, encoder
from penstock.serdes.avro.limits import Limits, tree_depth
from penstock.serdes.decoders import PayloadDecoders
from penstock.serdes.encoders import payload_encoder
from penstock.serdes.errors import MalformedPayload, PayloadTooLarge, SerdeError

__all__ = ["DataChecks"]

Check = Callable[[bytes], None]


class DataChecks:
    """Validates data and keeps one compiled check per definition. Thread-safe. ``limits`` bound the cost of hostile data."""

    def __init__(self, *, size: int = 200, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._checks: OnceCache[tuple[str, str], Check] = OnceCache(size)

    def misfit(self, data_format: str, definition: str, data: bytes | str) -> SerdeError | None:
        """Return why ``data`` is not a value of ``definition``, with the path of the fault, or ``None`` if it is valid.

        ``data`` is a message in AWS's frame, or the value as JSON text; for PROTOBUF also the message's own bytes. Raise
        :class:`InvalidInput` for an unknown format and :class:`UnreadableSchema` for a definition that cannot be used.
        """
        if data_format not in DATA_FORMATS:
            raise InvalidInput(f"Unknown data format {data_format!r}.", remedy=f"Use one of {', '.join(DATA_FORMATS)}.")
        check = self._checks.get((data_format, definition), lambda: self._compile(data_format, definition))
        try:
            check(data.encode() if isinstance(data, str) else bytes(data))
        except SerdeError as error:
            return error
        return None

    def _compile(self, data_format: str, definition: str) -> Check:
        text = SchemaText(definition=definition, data_format=data_format)
        payloads = PayloadDecoders(None, formats=DATA_FORMATS, schemas=AvroSchemas(1), limits=self._limits)
        read = payloads.decoder(text, "The definition", start=0)
        plain = self._plain(text)

        def check(data: bytes) -> None:
            if frame.is_framed(data):
                read(frame.decode(data, max_payload=self._limits.payload).payload)
            else:
                plain(data)

        return check

    def _plain(self, schema: SchemaText) -> Check:
        if schema.data_format == "AVRO":
            parsed = AvroSchema(schema.definition)
            encode = encoder(parsed)
            return lambda data: _discard(encode(parsed.from_json(self._json(data))))
        write = payload_encoder(schema)(b"")
        if schema.data_format == "JSON":
            return lambda data: _discard(write(self._json(data)))
        read = _bare_protobuf(schema)
        return lambda data: _discard(write(self._json(data)) if data.lstrip()[:1] == b"{" else read(data))

    def _json(self, data: bytes) -> Any:
        if len(data) > self._limits.payload:
            raise PayloadTooLarge(f"The data has {len(data)} bytes; at most {self._limits.payload} are allowed.")
        try:
            value = json.loads(data)
        except RecursionError:
            raise PayloadTooLarge(f"The data nests deeper than {self._limits.depth} levels.") from None
        except ValueError as error:
            raise MalformedPayload(
                f"The data ({len(data)} bytes) is neither a message in AWS's frame nor JSON: {str(error)[:200]}"
            ) from None
        if tree_depth(value) > self._limits.depth:
            raise PayloadTooLarge(f"The data nests deeper than {self._limits.depth} levels.")
        return value


def _discard(_value: object) -> None:
    """Ignore a value: only whether it could be read or written matters."""


def _bare_protobuf(schema: SchemaText) -> Callable[[bytes], Any]:
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - an extra's library

    from penstock.serdes.protobuf.decoder import ProtobufSchema  # noqa: PLC0415

    compiled = ProtobufSchema(schema)
    message_class = compiled.message(compiled.first_name())

    def read(data: bytes) -> Any:
        try:
            return message_class.FromString(data)
        except DecodeError as error:
            raise MalformedPayload(
                f"The data ({len(data)} bytes) is not a message {compiled.first_name()}: {error}"
            ) from None

    return read
