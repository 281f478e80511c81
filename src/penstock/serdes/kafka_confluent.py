"""Serialiser for confluent-kafka that writes Confluent's frames, for topics whose readers are Confluent's clients.

Its twin for AWS's frame is in :mod:`penstock.serdes.kafka`, and so is the deserialiser, which reads both.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal

from confluent_kafka.serialization import MessageField, SerializationContext, Serializer

from penstock.client.cache import OnceCache
from penstock.errors import InvalidInput
from penstock.serdes.avro import AvroSchemas
from penstock.serdes.codec import MessageWriter, confluent_writer
from penstock.serdes.confluent import KEY_HEADER, VALUE_HEADER, SchemaId, prefix
from penstock.serdes.errors import SerdeError, UnreadableSchema
from penstock.serdes.ports import ConfluentRegistrar

__all__ = ["ConfluentAvroSerializer", "IdPlace"]

IdPlace = Literal["prefix", "guid", "header"]
"""Where the schema's id goes: 4 bytes in front of the payload, a GUID there, or a GUID in a record header."""


class ConfluentAvroSerializer(Serializer):
    """Values to messages in Confluent's frame; safe for threads.

    ``registry`` knows the ids, usually a :class:`penstock.client.confluent.ConfluentClient`. ``schema`` is the Avro
    definition to write with, looked up under ``subject`` (by default ``TOPIC-value`` or ``TOPIC-key``) and registered there
    first with ``auto_register``.
    """

    __slots__ = ("_auto", "_definition", "_ignore", "_known", "_place", "_registry", "_schema", "_subject")

    def __init__(
        self,
        registry: ConfluentRegistrar,
        schema: str | Mapping[str, Any] | list[Any],
        *,
        subject: str | None = None,
        auto_register: bool = False,
        id_in: IdPlace = "prefix",
        ignore_unknown_fields: bool = False,
    ) -> None:
        self._registry = registry
        self._definition = schema if isinstance(schema, str) else json.dumps(schema, separators=(",", ":"))
        self._schema = AvroSchemas(1).parse(self._definition)
        self._subject = subject
        self._auto = auto_register
        self._place = id_in
        self._ignore = ignore_unknown_fields
        self._known: OnceCache[str, tuple[SchemaId, MessageWriter]] = OnceCache(200)

    def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """The message; ``None`` for ``None``. An id that goes in a header is added to the context's headers.

        Raises :class:`SerdeError` with the topic in its text, :class:`InvalidInput` where no subject or no headers are
        given, and what the registry raises.
        """
        if obj is None:
            return None
        subject = self._subject or _subject(ctx)
        schema_id, write = self._known.get(subject, lambda: self._prepare(subject))
        if self._place == "header":
            _add_header(schema_id, ctx)
        try:
            return write(obj)
        except SerdeError as error:
            raise error.at(ctx.topic if ctx is not None else None) from error.__cause__

    def _prepare(self, subject: str) -> tuple[SchemaId, MessageWriter]:
        ask = self._registry.register if self._auto else self._registry.find
        number, guid = ask(subject, self._definition)
        schema_id: SchemaId = number
        if self._place != "prefix":
            if guid is None:
                raise UnreadableSchema(
                    f"The registry gives no GUID for schema {number}.", remedy="Write the id in front: id_in='prefix'."
                )
            schema_id = guid
        in_header = self._place == "header"
        return schema_id, confluent_writer(schema_id, self._schema, in_header=in_header, ignore_unknown=self._ignore)


def _subject(ctx: SerializationContext | None) -> str:
    if ctx is None or not ctx.topic:
        raise InvalidInput("No subject: name one, or call the serialiser with a context that has a topic.")
    return f"{ctx.topic}-{'key' if ctx.field == MessageField.KEY else 'value'}"


def _add_header(schema_id: SchemaId, ctx: SerializationContext | None) -> None:
    headers = ctx.headers if ctx is not None else None
    if ctx is None or headers is None:
        raise InvalidInput("The schema's id goes in a header, and the context has none.", remedy="Produce with headers=[].")
    name = KEY_HEADER if ctx.field == MessageField.KEY else VALUE_HEADER
    if isinstance(headers, dict):
        headers[name] = prefix(schema_id)
    else:
        headers.append((name, prefix(schema_id)))
