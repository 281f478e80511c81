"""Payload encoders by the format of the schema; the counterpart of ``decoders``.

The JSON and Protobuf modules are loaded with the first schema of their format, so that users of Avro start faster.
"""

from collections.abc import Callable
from typing import Any

from penstock.schema.version import SchemaText
from penstock.serdes.avro.codec import AvroSchema, encoder
from penstock.serdes.errors import UnreadableSchema

__all__ = ["payload_encoder"]

Encode = Callable[[Any], bytes]


def payload_encoder(
    schema: SchemaText, *, message: str | None = None, ignore_unknown: bool = False
) -> Callable[[bytes], Encode]:
    """Return a function from a prefix to the encoder that puts it in front of each payload.

    ``message`` names the Protobuf type that mappings are written as. ``ignore_unknown`` drops the fields that an Avro or
    Protobuf schema lacks; a JSON Schema defines itself what it allows. Raise :class:`UnreadableSchema`.
    """
    match schema.data_format:
        case "AVRO":
            parsed = AvroSchema(schema.definition)
            return lambda prefix: encoder(parsed, prefix=prefix, ignore_unknown=ignore_unknown)
        case "JSON":
            from penstock.serdes.json.encoder import json_encoder  # noqa: PLC0415

            return json_encoder(schema)
        case "PROTOBUF":
            from penstock.serdes.protobuf.decoder import ProtobufSchema  # noqa: PLC0415
            from penstock.serdes.protobuf.encoder import protobuf_encoder  # noqa: PLC0415

            compiled = ProtobufSchema(schema)
            return lambda prefix: protobuf_encoder(compiled, message=message, prefix=prefix, ignore_unknown=ignore_unknown)
        case other:
            raise UnreadableSchema(f"Nothing is written as {other}.")
