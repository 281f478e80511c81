"""Avro payloads, decoded in the JVM by ``from_avro`` between a framed writer and a framed reader schema."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.avro.functions import from_avro

from penstock.schema.version import SchemaVersion
from penstock.spark.decode.formats.port import FormatSettings, Payloads
from penstock.spark.decode.readers import MARK, framed, missing_fields, reader_definition

__all__ = ["AvroPayloads"]


class AvroPayloads:
    """AVRO. Frames of AWS alone take a shorter way, in :mod:`penstock.spark.decode.records`."""

    def __init__(self, settings: FormatSettings) -> None:
        """No setting is about Avro."""

    def reader(self, reader: SchemaVersion, writers: Sequence[SchemaVersion]) -> str:
        """Return the reader's schema with which records of all ``writers`` can be read."""
        return reader_definition(reader.definition, [version.definition for version in writers])

    def rows(self, payloads: Payloads, writers: Sequence[SchemaVersion], reader: str) -> Column:
        """Return a CASE over the writers' versions; each is resolved to ``reader`` by Avro's rules."""
        marked = F.concat(payloads.payload, F.lit(bytearray(MARK)))
        options = {"avroSchema": framed(reader), "mode": "PERMISSIVE"}
        branches = [
            (payloads.version == version.number, from_avro(marked, framed(version.definition), options))
            for version in writers
        ] or [(F.lit(False), from_avro(marked, framed(reader), options))]
        return reduce(lambda case, branch: case.when(*branch), branches[1:], F.when(*branches[0]))

    def missing_fields(self, writer: str, reader: str) -> list[str]:
        """Return the fields of ``writer`` that ``reader`` would drop."""
        return missing_fields(writer, reader)
