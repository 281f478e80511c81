"""Payload formats by Glue's DataFormat."""

from collections.abc import Callable

from penstock.errors import DataProblem
from penstock.spark.decode.formats.avro import AvroPayloads
from penstock.spark.decode.formats.json import JsonPayloads
from penstock.spark.decode.formats.port import FormatSettings, PayloadFormat
from penstock.spark.decode.formats.protobuf import ProtobufPayloads

__all__ = ["FORMATS", "format_of"]

FORMATS: dict[str, Callable[[FormatSettings], PayloadFormat]] = {
    "AVRO": AvroPayloads,
    "JSON": JsonPayloads,
    "PROTOBUF": ProtobufPayloads,
}
"""The formats that pipelines decode."""


def format_of(data_format: str, settings: FormatSettings | None = None) -> PayloadFormat:
    """Return the format. Raises :class:`DataProblem` for one that pipelines do not decode."""
    try:
        return FORMATS[data_format](settings or FormatSettings())
    except KeyError:
        raise DataProblem(
            f"Payloads of data format {data_format} are not decoded.", remedy=f"Use one of {', '.join(sorted(FORMATS))}."
        ) from None
