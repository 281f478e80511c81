"""The shorter decoder of plain Avro in AWS's frames: one ``from_avro`` for all versions, counts of the bare records.

It does what :mod:`penstock.spark.decode.records` does for records that become rows, and distinguishes all others only as far
as the next step needs; a batch that has such records takes the long way for them. It costs what a hand-written
``from_avro`` costs: per record a comparison of the frame's header, one copy of the payload with the index of its version
before it and the mark behind it, and the check of the mark.

Counts are taken where the records come from Spark's source. There they are rows in Spark's memory format already; in the
middle of the decoding, each row would be copied into it once more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.avro.functions import from_avro

from penstock.spark.decode.frames import has_confluent_frame
from penstock.spark.decode.readers import HEADER, MARK, MARK_VALUE, framed
from penstock.spark.decode.unions import index, never_null, reader_of_union, union_of_writers
from penstock.spark.decode.versions import DecodePlan
from penstock.spark.sources.port import shown_metadata

__all__ = ["DirectDecode"]

_PLAIN = b"\x03\x00"
_TOMBSTONE, _DAMAGED, _COMPRESSED, _UNKNOWN, _OTHER_FRAME = -1, -2, -4, -8, -16
"""Why a record is not a plain frame of a planned version; as bits, so that one number holds all reasons in a batch."""
_VERSION = "_version"


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Columns that are made once for a plan, because each costs calls of the JVM."""

    counts: tuple[Column, ...]
    decoded: tuple[Column, ...]
    good: Column
    shown: tuple[Column, ...]


class DirectDecode:
    """The decoding of one plan; :meth:`rows` is called for each batch."""

    def __init__(self, plan: DecodePlan) -> None:
        self._plan = plan
        self._prepared: _Prepared | None = None
        self.never_null = never_null(plan.reader_definition)

    def rows(self, records: DataFrame, counts: Observation) -> DataFrame:
        """Return the rows of ``records``: the reader's fields and the metadata, named as in the view ``records``.

        ``counts`` gets counts of all records, which :meth:`found` reads.
        """
        if self._prepared is None:
            self._prepared = self._prepare(records)
        prepared = self._prepared
        return (
            records.observe(counts, *prepared.counts).select(*prepared.decoded).filter(prepared.good).select(*prepared.shown)
        )

    @staticmethod
    def found(counts: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``records``, ``oldest``, ``vN`` for each version N, and the reasons that decide the next step.

        ``TOMBSTONE`` is a count. The other reasons are 1 if the batch has such records: these become dead letters, which are
        counted as they are written, or the batch is read again.
        """
        others = counts["others"] or 0
        bits = {"UNKNOWN_VERSION": _UNKNOWN, "NEEDS_INFLATE": _COMPRESSED, "NEEDS_FRAMES": _OTHER_FRAME}
        return {
            **counts,
            "TOMBSTONE": counts["records"] - counts["values"],
            **{reason: int(bool(others & -bit)) for reason, bit in bits.items()},
        }

    def _prepare(self, records: DataFrame) -> _Prepared:
        metadata = shown_metadata(records)
        outcome = self._kind(records)
        decoded = (
            *(F.col(name) for name in metadata if name != _VERSION),
            F.substring("value", 1, HEADER).alias("_head"),
            self._struct().alias("_row"),
            # Not the same for each row, as far as Spark knows: so it does not move the filter below the decoding, which
            # would then run twice.
            F.spark_partition_id().alias("_task"),
        )
        good = (F.col("_row.tail") == F.lit(MARK_VALUE)) & (F.col("_task") >= 0)
        version = self._case(
            F.col("_head"), [F.lit(writer.number) for writer in self._plan.writers], F.lit(None).cast("int")
        )
        shown = [(version if name == _VERSION else F.col(name)).alias(alias) for name, alias in metadata.items()]
        body = records.select(*decoded).select("_row.body").schema[0].dataType
        names: list[str] | None = getattr(body, "names", None)
        row = F.col("_row.body")
        fields = [row.alias("value")] if names is None else [row.getField(name).alias(name) for name in names]
        return _Prepared(counts=self._counts(outcome), decoded=decoded, good=good, shown=(*fields, *shown))

    def _struct(self) -> Column:
        writers, reader = [version.definition for version in self._plan.writers], self._plan.reader_definition
        marked = [F.col("value"), F.lit(bytearray(MARK))]
        head = F.substring("value", 1, HEADER)
        if len(writers) == 1:
            options = {"avroSchema": framed(reader), "mode": "PERMISSIVE"}
            row = from_avro(F.concat(*marked), framed(writers[0], header=True), options)
            return self._case(head, [row], F.lit(None))
        prefixes = [F.lit(bytearray(index(number))) for number in range(len(writers))]
        which = self._case(head, prefixes, F.lit(None).cast("binary"))
        options = {"avroSchema": reader_of_union(reader, writers), "mode": "PERMISSIVE"}
        return from_avro(F.concat(which, *marked), union_of_writers(writers), options)

    def _case(self, head: Column, values: Sequence[Column], otherwise: Column) -> Column:
        """Return the value of the version whose plain header ``head`` is."""
        pairs = zip(self._plan.writers, values, strict=True)
        whens = [(head == F.lit(bytearray(_PLAIN + version.id.bytes)), value) for version, value in pairs]
        return reduce(lambda case, item: case.when(*item), whens[1:], F.when(*whens[0])).otherwise(otherwise)

    def _kind(self, records: DataFrame) -> Column:
        """Return what a record is: its version's number if it is a plain frame of one, else a negative number."""
        value, compression = F.col("value"), F.substring("value", 2, 1)
        ids = [bytearray(version.id.bytes) for version in self._plan.writers]
        zlib = compression == F.lit(bytearray(b"\x05"))
        other = F.when(value.isNull(), _TOMBSTONE)
        if self._plan.frames == "any":
            other = other.when(has_confluent_frame(records), _OTHER_FRAME)
        other = (
            other.when(F.length(value) < HEADER, _DAMAGED)
            .when(F.substring("value", 1, 1) != F.lit(bytearray(_PLAIN[:1])), _DAMAGED)
            .when(~(zlib | (compression == F.lit(bytearray(_PLAIN[1:])))), _DAMAGED)
            .when(zlib & F.substring("value", 3, 16).isin(ids), _COMPRESSED)
            .otherwise(_UNKNOWN)
        )
        return self._case(F.substring("value", 1, HEADER), [F.lit(writer.number) for writer in self._plan.writers], other)

    def _counts(self, outcome: Column) -> tuple[Column, ...]:
        """Return only the counts that decide the next step: each costs a fiftieth of a decoding."""
        return (
            F.count(F.lit(1)).alias("records"),
            F.unix_millis(F.min("timestamp")).alias("oldest"),
            F.count("value").alias("values"),
            F.bit_or(F.when(outcome < 0, outcome * -1).otherwise(0)).alias("others"),
            *(F.count(F.when(outcome == writer.number, 1)).alias(f"v{writer.number}") for writer in self._plan.writers),
        )
