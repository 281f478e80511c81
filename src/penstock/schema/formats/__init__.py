"""The formats by Glue's DataFormat. A new format is one module here and one entry below."""

from penstock.schema.errors import FormatNotServed
from penstock.schema.format import SchemaFormat
from penstock.schema.formats.avro import AvroFormat
from penstock.schema.formats.jsonschema import JsonSchemaFormat
from penstock.schema.formats.protobuf import ProtobufFormat

__all__ = ["FORMATS", "format_of"]

FORMATS: dict[str, SchemaFormat] = {"AVRO": AvroFormat(), "JSON": JsonSchemaFormat(), "PROTOBUF": ProtobufFormat()}


def format_of(data_format: str) -> SchemaFormat:
    """Return the rules of ``data_format``. Raise :class:`FormatNotServed` for any other."""
    try:
        return FORMATS[data_format]
    except KeyError:
        raise FormatNotServed(
            f"Schemas of data format '{data_format[:40]}' are not supported.",
            remedy=f"Use one of {', '.join(sorted(FORMATS))}.",
        ) from None
