"""Records in frames of every kind: the schema version that each names, and its payload.

AWS's frame: byte 3, compression byte, 16 bytes of version id. Confluent's: byte 0 and 4 bytes of id, or byte 1 and 16 bytes
of GUID; either in front of the payload or in a record header. The *prefix* of a record is what names its version, in the
form ``03 | id``, ``00 | id`` or ``01 | GUID``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from uuid import UUID

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from penstock.pipelines.decode import Frames
from penstock.serdes.confluent_frame import KEY_HEADER, VALUE_HEADER
from penstock.spark.decode.formats.port import INDEX_AWS, INDEX_CONFLUENT, INDEX_NONE
from penstock.spark.decode.inflate import inflate

__all__ = ["KEY", "VALUE", "FrameSite", "SchemaPrefix", "has_confluent_frame", "prefix_text", "with_payloads"]

SchemaPrefix = int | UUID
"""What a frame names: Confluent's id, or a version id (AWS's, or Confluent's GUID, which is the same in our registry)."""

_GLUE, _BY_ID, _BY_GUID = b"\x03", b"\x00", b"\x01"
_GLUE_SIZE, _ID_SIZE, _GUID_SIZE = 18, 5, 17


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSite:
    """A column with framed bytes, the record header that may name its schema, and the beginning of the results' names."""

    column: str
    header: str
    name: str


VALUE = FrameSite(column="value", header=VALUE_HEADER, name="_")
KEY = FrameSite(column="key", header=KEY_HEADER, name="_key_")


def has_confluent_frame(records: DataFrame, site: FrameSite = VALUE) -> Column:
    """Return whether a record may have a frame of Confluent's: it begins with 0 or 1, or a header names its schema."""
    first = F.substring(site.column, 1, 1)
    bytes_ = (_is(first, _BY_ID) & (F.length(site.column) >= _ID_SIZE)) | (
        _is(first, _BY_GUID) & (F.length(site.column) >= _GUID_SIZE)
    )
    header = _header(records, site)
    return F.coalesce(bytes_ if header is None else bytes_ | _header_frame(header), F.lit(False))


def with_payloads(
    records: DataFrame, versions: Mapping[bytes, int], *, frames: Frames, unframed: int | None, zlib: bool, site: FrameSite
) -> DataFrame:
    """Return ``records`` with ``prefix``, ``version``, ``payload``, ``index`` and ``flaw``, each after ``site.name``.

    ``versions`` maps prefixes to numbers of versions; ``unframed`` is the number of records without a frame. ``payload`` is
    null for compressed payloads without ``zlib``. ``flaw`` is why a record has no frame, and null for null bytes.
    """
    data, name = F.col(site.column), site.name
    if frames == "none":
        return (
            records.withColumn(f"{name}prefix", F.lit(None).cast("binary"))
            .withColumn(f"{name}version", F.when(data.isNotNull(), F.lit(unframed)))
            .withColumn(f"{name}payload", data)
            .withColumn(f"{name}index", F.lit(INDEX_NONE))
            .withColumn(f"{name}flaw", F.lit(None).cast("string"))
        )
    arms = _arms(records, frames, site)
    rows = records.withColumn(f"{name}prefix", _case([(arm.has, arm.prefix) for arm in arms], "binary"))
    payload = _case([(arm.has, arm.payload) for arm in arms], "binary")
    compressed = is_compressed(site) if frames != "confluent" else F.lit(False)
    if zlib and frames != "confluent":
        rest = F.substring(data, F.lit(_GLUE_SIZE + 1), F.length(data))
        rows = rows.withColumn(f"{name}inflated", inflate(F.when(compressed, rest)))
        payload = F.when(compressed, F.col(f"{name}inflated")).otherwise(payload)
    else:
        payload = F.when(~compressed, payload)
    return (
        rows.withColumn(f"{name}version", _numbers(F.col(f"{name}prefix"), versions))
        .withColumn(f"{name}payload", payload)
        .withColumn(f"{name}index", _case([(arm.has, F.lit(arm.index)) for arm in arms], "int"))
        .withColumn(f"{name}flaw", F.when(F.col(f"{name}prefix").isNull() & data.isNotNull(), _flaw(frames, site)))
        .drop(f"{name}inflated")
    )


def is_compressed(site: FrameSite) -> Column:
    """Return whether a record has AWS's frame with a zlib payload."""
    return F.coalesce(_is(F.substring(site.column, 1, 2), b"\x03\x05") & (F.length(site.column) >= _GLUE_SIZE), F.lit(False))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arm:
    """One kind of frame: whether a record has it, what names its version, its payload, the form of its message index."""

    has: Column
    prefix: Column
    payload: Column
    index: int


def _arms(records: DataFrame, frames: Frames, site: FrameSite) -> list[_Arm]:
    data = F.col(site.column)
    first, size = F.substring(data, 1, 1), F.length(data)
    arms = []
    header = _header(records, site) if frames != "glue" else None
    if header is not None:
        for lead, length in ((_BY_ID, _ID_SIZE), (_BY_GUID, _GUID_SIZE)):
            # What follows in the header is the message index of a Protobuf payload.
            index = F.substring(header, F.lit(length + 1), F.length(header))
            has = data.isNotNull() & _header_frame(header) & _is(F.substring(header, 1, 1), lead)
            whole = F.concat(index, data)
            arms.append(_Arm(has=has, prefix=F.substring(header, 1, length), payload=whole, index=INDEX_CONFLUENT))
    if frames != "confluent":
        arms.append(
            _Arm(
                has=F.substring(data, 1, 2).isin(bytearray(b"\x03\x00"), bytearray(b"\x03\x05")) & (size >= _GLUE_SIZE),
                prefix=F.concat(F.lit(bytearray(_GLUE)), F.substring(data, 3, 16)),
                payload=F.substring(data, F.lit(_GLUE_SIZE + 1), size),
                index=INDEX_AWS,
            )
        )
    if frames != "glue":
        for lead, length in ((_BY_ID, _ID_SIZE), (_BY_GUID, _GUID_SIZE)):
            arms.append(
                _Arm(
                    has=_is(first, lead) & (size >= length),
                    prefix=F.substring(data, 1, length),
                    payload=F.substring(data, F.lit(length + 1), size),
                    index=INDEX_CONFLUENT,
                )
            )
    return arms


def _header(records: DataFrame, site: FrameSite) -> Column | None:
    """Return the record header that names the schema, the first if there are several; None without headers."""
    if "headers" not in records.columns:
        return None
    named = F.filter("headers", lambda column: column["key"] == site.header)
    return F.get(named, F.lit(0))["value"]


def _header_frame(header: Column) -> Column:
    first, size = F.substring(header, 1, 1), F.length(header)
    by_header = (_is(first, _BY_ID) & (size >= _ID_SIZE)) | (_is(first, _BY_GUID) & (size >= _GUID_SIZE))
    return F.coalesce(by_header, F.lit(False))


def _flaw(frames: Frames, site: FrameSite) -> Column:
    first, size = F.substring(site.column, 1, 1), F.length(site.column)
    flaw = F.when(size < (_ID_SIZE if frames != "glue" else _GLUE_SIZE), "SHORT_FRAME")
    if frames != "glue":
        flaw = flaw.when(_is(first, _BY_GUID), "SHORT_FRAME")
    if frames != "confluent":
        flaw = flaw.when(_is(first, _GLUE), F.when(size < _GLUE_SIZE, "SHORT_FRAME").otherwise("WRONG_COMPRESSION"))
    return flaw.otherwise("WRONG_HEADER")


def _numbers(prefix: Column, versions: Mapping[bytes, int]) -> Column:
    by_number: dict[int, list[bytearray]] = {}
    for version, number in versions.items():
        by_number.setdefault(number, []).append(bytearray(version))
    return _case([(prefix.isin(prefixes), F.lit(number)) for number, prefixes in by_number.items()], "int")


def _case(branches: Sequence[tuple[Column, Column]], type_name: str) -> Column:
    if not branches:
        return F.lit(None).cast(type_name)
    return reduce(lambda case, branch: case.when(*branch), branches[1:], F.when(*branches[0]))


def _is(column: Column, value: bytes) -> Column:
    return column == F.lit(bytearray(value))


def prefixes_of(version_id: UUID, ids: Iterable[int] = ()) -> list[bytes]:
    """Return all prefixes that name a version: its id in AWS's frame and as a GUID, and Confluent's ids."""
    return [_GLUE + version_id.bytes, _BY_GUID + version_id.bytes, *(_BY_ID + id_.to_bytes(4, "big") for id_ in ids)]


def prefix_text(prefix: Column) -> Column:
    """Return the column of what prefixes name, as text: a UUID, or Confluent's id."""
    sizes = (4, 2, 2, 2, 2, 4)
    starts = [2 + sum(sizes[:number]) for number in range(len(sizes))]
    # From numbers: Spark's lower() takes seconds to load its tables.
    parts = [
        F.conv(F.hex(F.substring(prefix, start, size)), 16, 10).cast("bigint")
        for start, size in zip(starts, sizes, strict=True)
    ]
    number = F.conv(F.hex(F.substring(prefix, 2, 4)), 16, 10)
    return F.when(_is(F.substring(prefix, 1, 1), _BY_ID), number).otherwise(
        F.format_string("%08x-%04x-%04x-%04x-%04x%08x", *parts)
    )
