"""Avro payloads, decoded in the JVM by ``from_avro`` between a framed writer and a framed reader schema."""

import json
from collections.abc import Sequence
from functools import lru_cache, reduce
from graphlib import CycleError, TopologicalSorter

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.avro.functions import from_avro

from penstock.errors import DataProblem
from penstock.schema.avro.fold import types_within
from penstock.schema.avro.model import ArrayType, AvroSchema, AvroType, MapType, RecordType, UnionType
from penstock.schema.avro.parse import parse_registered
from penstock.schema.version import SchemaVersion
from penstock.spark.decode.formats.port import FormatSettings, Payloads
from penstock.spark.decode.readers import MARK, framed, missing_fields, reader_definition

__all__ = ["AvroPayloads"]


class AvroPayloads:
    """AVRO. Frames of AWS alone are decoded by the shorter :mod:`penstock.spark.decode.records`."""

    def __init__(self, settings: FormatSettings) -> None:
        """No setting is about Avro."""

    def reader(self, reader: SchemaVersion, writers: Sequence[SchemaVersion]) -> str:
        """Return the reader's schema with which records of all ``writers`` can be read."""
        _check_finite(reader.definition)
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


@lru_cache(maxsize=1000)
def _check_finite(definition: str) -> None:
    """Raise :class:`DataProblem` for a record that contains itself: Spark's columns are finite."""
    schema = parse_registered(json.loads(definition))
    records = [record for record in types_within(schema, schema.root) if isinstance(record, RecordType)]
    try:
        TopologicalSorter({record.name: _records_in(schema, record) for record in records}).prepare()
    except CycleError as error:
        raise DataProblem(
            f"A schema version cannot be used for decoding. Record {error.args[1][0]} contains itself, and columns "
            "are finite.",
            remedy="Bound the recursion, for example by an array of ids in place of the nested record.",
        ) from None


def _records_in(schema: AvroSchema, record: RecordType) -> set[str]:
    """Return the full names of the records that are fields of ``record``, in arrays, maps and unions too."""
    names: set[str] = set()
    todo: list[AvroType] = [field.type for field in record.fields]
    while todo:
        match schema.resolve(todo.pop()):
            case RecordType(name=name):
                names.add(name)
            case ArrayType(items=inner) | MapType(values=inner):
                todo.append(inner)
            case UnionType(branches=branches):
                todo.extend(branches)
            case _:
                pass
    return names
