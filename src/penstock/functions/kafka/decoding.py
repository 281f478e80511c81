"""Decodes keys and values by the schema registry before filters and function get them (Lambda's SchemaRegistryConfig).

Rules: https://docs.aws.amazon.com/lambda/latest/dg/services-consume-kafka-events.html. With EventRecordFormat JSON the
function gets the value as JSON; with SOURCE the payload as it was written, without the schema id before it; both with the
schema's format and id as metadata. A record with an unknown schema, or that does not fit its schema, goes to the on-failure
destination.
"""

import json
import math
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from penstock.client.confluent import ConfluentClient
from penstock.client.registry import RegistryClient
from penstock.client.secrets import broker_credentials
from penstock.functions.kafka.event import Schema
from penstock.functions.model import SchemaRegistry
from penstock.names import parse_arn
from penstock.schema.format import DATA_FORMATS
from penstock.serdes import confluent_frame as confluent
from penstock.serdes.codec import MessageReader
from penstock.serdes.errors import SerdeError, UnknownWriterSchema
from penstock.serdes.frame import HEADER_SIZE, Compression, inflate, split
from penstock.serdes.ports import ConfluentSource, SchemaSource

__all__ = ["DESERIALIZATION_ERROR", "SCHEMA_NOT_FOUND", "Decoded", "Decoder", "Undecodable"]

SCHEMA_NOT_FOUND = "SCHEMA_NOT_FOUND"
DESERIALIZATION_ERROR = "DESERIALIZATION_ERROR"

_ATTEMPTS = 2  # per call; the poller retries, and must not stop polling its broker for long
_MAX_PAYLOAD = 64 << 20  # bytes after inflation

Headers = Sequence[tuple[str, bytes | None]]


class Undecodable(Exception):
    """A record that cannot be decoded, with Lambda's reason code."""

    def __init__(self, condition: str, message: str) -> None:
        super().__init__(message)
        self.condition = condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A key or value as the function gets it (``data``) and as filters get it (``view``), and its schema."""

    data: bytes
    view: Any
    schema: Schema


class _NoGlueRegistry:
    """The source of AWS's ids for a mapping with Confluent's registry only."""

    def version(self, version_id: UUID) -> Any:
        raise UnknownWriterSchema(f"Schema version {version_id} is of AWS Glue, but the mapping has a Confluent registry.")

    def latest(self, registry: str, schema: str) -> Any:
        raise UnknownWriterSchema(f"Schema {registry}/{schema} is of AWS Glue, but the mapping has a Confluent registry.")


class Decoder:
    """Decodes the parts of records that ``config`` names. Safe for threads, as are its readers and clients."""

    def __init__(
        self,
        config: SchemaRegistry,
        *,
        source: SchemaSource | None = None,
        confluent_source: ConfluentSource | None = None,
    ) -> None:
        self._config = config
        self._confluent: ConfluentSource | None = None
        if config.is_glue:
            self._source: SchemaSource = source or RegistryClient(
                region=parse_arn(config.uri).region or None, attempts=_ATTEMPTS
            )
        else:
            self._source = _NoGlueRegistry()
            self._confluent = confluent_source or ConfluentClient(config.uri, user_info=_user_info(config.login))
        self._reader = MessageReader(self._source, confluent=self._confluent, formats=DATA_FORMATS)

    @property
    def parts(self) -> frozenset[Literal["KEY", "VALUE"]]:
        """The parts that have a schema: keys, values or both."""
        return self._config.attributes

    def decode(self, data: bytes, headers: Headers, part: Literal["KEY", "VALUE"]) -> Decoded:
        """Decode a key or value; raise :class:`Undecodable` if that fails, the client's errors without the registry."""
        key = part == "KEY"
        present = [(name, value) for name, value in headers if value is not None]
        try:
            value = self._reader.read(data, present, key=key)
            schema, payload = self._origin(data, present, key=key)
        except UnknownWriterSchema as error:
            raise Undecodable(SCHEMA_NOT_FOUND, error.message) from error
        except SerdeError as error:
            raise Undecodable(DESERIALIZATION_ERROR, error.message) from error
        view = json_value(value)
        if self._config.format == "SOURCE":
            return Decoded(data=payload, view=view, schema=schema)
        # AWS's own consumer library takes this as the format of the delivered data.
        return Decoded(data=_json(view), view=view, schema=Schema(data_format="JSON", schema_id=schema.schema_id))

    def _origin(self, data: bytes, headers: Sequence[tuple[str, bytes]], *, key: bool) -> tuple[Schema, bytes]:
        """Return the schema that a message names, and the payload after its frame."""
        if self._confluent is None:
            compression, version_id = split(data)
            version = self._source.version(version_id)
            payload = data[HEADER_SIZE:]
            if compression is Compression.ZLIB:
                payload = inflate(payload, max_payload=_MAX_PAYLOAD)
            return Schema(data_format=version.data_format, schema_id=str(version_id)), payload
        header = confluent.header_of(headers, key=key)
        schema_id = confluent.split(header if header is not None else data)
        payload = data if header is not None else data[confluent.prefix_size(data) :]
        return Schema(data_format=self._confluent.text(schema_id).data_format, schema_id=str(schema_id)), payload


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # JSON escapes lone surrogates, which UTF-8 cannot encode.
        return json.dumps(value, separators=(",", ":")).encode()


def _user_info(secret: str | None) -> str | None:
    if secret is None:
        return None
    login = broker_credentials(secret)
    return f"{login.username}:{login.password}"


def json_value(value: Any) -> Any:
    """Return a decoded value as JSON: bytes and fixed as base64, decimals as text, times in ISO 8601."""
    if isinstance(value, dict):
        return {str(name): json_value(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(inner) for inner in value]
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    unsayable = isinstance(value, Decimal | UUID) or (isinstance(value, float) and not math.isfinite(value))
    return str(value) if unsayable else value
