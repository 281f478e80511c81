"""Payload formats by Glue's DataFormat."""

from penstock.errors import DataProblem
from penstock.spark.decode.formats.avro import AvroPayloads
from penstock.spark.decode.formats.port import PayloadFormat

__all__ = ["FORMATS", "format_of"]

FORMATS: dict[str, PayloadFormat] = {"AVRO": AvroPayloads()}
"""The formats that pipelines decode."""


def format_of(data_format: str) -> PayloadFormat:
    """Return the format. Raises :class:`DataProblem` for one that pipelines do not decode."""
    try:
        return FORMATS[data_format]
    except KeyError:
        raise DataProblem(
            f"Payloads of data format {data_format} are not decoded.", remedy=f"Use one of {', '.join(sorted(FORMATS))}."
        ) from None
