"""Generated values, written by others' libraries, arrive unchanged in the Parquet files that Spark writes of them."""

import io
import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql.types import NullType

from penstock.pipelines.decode import Decode
from penstock.schema.version import SchemaText
from penstock.serdes.protobuf.decoder import ProtobufSchema
from penstock.spark.decode.records import body_columns, decoded
from penstock.spark.decode.versions import SchemaVersions
from tests.integration.spark.decode.decoding import Listed, glue, version, write_records
from tests.integration.spark.decode.type_cases import JSON, PROTOBUF, avro_schema, json_schema, protobuf_schema

pytestmark = pytest.mark.spark

FEW = settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
INT, LONG = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
FLOAT = st.floats(width=32, allow_nan=False, allow_infinity=False)
DOUBLE = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TIMES = st.datetimes(datetime(1900, 1, 1), datetime(2199, 1, 1))
MILLIS = TIMES.map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000))


def zoned(times: st.SearchStrategy[datetime]) -> st.SearchStrategy[datetime]:
    return times.map(lambda time: time.replace(tzinfo=UTC))


def digits(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    return st.integers(-(10**precision) + 1, 10**precision - 1).map(lambda number: Decimal(number).scaleb(-scale))


AVRO_VALUES: list[st.SearchStrategy[Any]] = [
    st.none(), st.booleans(), INT, LONG, FLOAT, DOUBLE, st.binary(max_size=9), TEXT, st.binary(min_size=3, max_size=3),
    st.sampled_from("AB"), st.lists(INT, max_size=3), st.dictionaries(TEXT, LONG, max_size=3),
    st.fixed_dictionaries({"a": INT}), st.dates(date(1900, 1, 1), date(2199, 1, 1)),
    INT, LONG, zoned(MILLIS), zoned(TIMES), LONG, MILLIS, TIMES,
    digits(10, 2), digits(18, 4), st.uuids().map(str), st.binary(min_size=16, max_size=16),
    st.binary(min_size=12, max_size=12),
    st.none() | TEXT, INT | LONG, FLOAT, st.none() | INT | TEXT,
]  # fmt: skip


def as_member(value: Any) -> Any:
    """A value of the last union as its struct."""
    if value is None:
        return None
    return {"member0": value, "member1": None} if isinstance(value, int) else {"member0": None, "member1": value}


def decode_to_files(
    spark: SparkSession, folder: Path, values: Sequence[bytes], definition: Any, data_format: str
) -> list[dict[str, Any]]:
    """Decode values of one version, write the rows as a sink does, and read them with another reader of Parquet."""
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")  # as the runner does
    versions = SchemaVersions(Listed([version(1, definition, data_format)]), Decode(registry="tests", schema="things"))
    versions.refresh()
    records = write_records(
        spark, folder / "records.parquet", [glue(version(1, definition, data_format), data) for data in values]
    )
    frame = decoded(records, versions.plan(), branches=40, zlib=False)
    rows = frame.select("offset", "_reason", *body_columns(frame))
    rows = rows.select(*(field.name for field in rows.schema if not isinstance(field.dataType, NullType)))
    rows.write.mode("overwrite").parquet(f"file://{folder}/rows")
    results = sorted(pq.read_table(folder / "rows").to_pylist(maps_as_pydicts="strict"), key=lambda row: row["offset"])
    assert [row["_reason"] for row in results] == [None] * len(values)
    return [{name: value for name, value in row.items() if name.startswith("f")} for row in results]


def test_avro(spark: SparkSession, tmp_path: Path) -> None:
    schema = avro_schema()
    parsed = fastavro.parse_schema(json.loads(json.dumps(schema)))
    rows = st.lists(st.tuples(*AVRO_VALUES), min_size=1, max_size=10)

    def written(values: Sequence[Any]) -> bytes:
        data = io.BytesIO()
        fastavro.schemaless_writer(data, parsed, {f"f{number}": value for number, value in enumerate(values)})
        return data.getvalue()

    @FEW
    @given(rows)
    def check(records: list[tuple[Any, ...]]) -> None:
        results = decode_to_files(spark, tmp_path, [written(record) for record in records], schema, "AVRO")
        expected = [
            {f"f{number}": value for number, value in enumerate([*record[:-1], as_member(record[-1])]) if number}
            for record in records
        ]
        assert results == expected

    check()


JSON_ANY = st.recursive(st.integers(-1000, 1000) | st.booleans(), lambda inner: st.lists(inner, max_size=2), max_leaves=4)
JSON_VALUES: list[st.SearchStrategy[Any]] = [
    st.booleans(), LONG, DOUBLE, TEXT, st.sampled_from(["a", "b"]), st.lists(LONG, max_size=3), st.lists(LONG, max_size=1),
    st.fixed_dictionaries({"a": LONG}), st.dictionaries(TEXT, DOUBLE, min_size=1, max_size=3),
    st.fixed_dictionaries({"x": JSON_ANY}), st.none() | LONG, TEXT | st.fixed_dictionaries({"y": JSON_ANY}), st.none(),
]  # fmt: skip


def test_json(spark: SparkSession, tmp_path: Path) -> None:
    def column(number: int, value: Any) -> Any:
        if number == 6:
            return [json.dumps(item) for item in value]
        return value if number not in (9, 11) or isinstance(value, str) else json.dumps(value, separators=(",", ":"))

    @FEW
    @given(st.lists(st.tuples(*JSON_VALUES), min_size=1, max_size=30))
    def check(records: list[tuple[Any, ...]]) -> None:
        values = [json.dumps({f"f{number}": value for number, value in enumerate(record)}).encode() for record in records]
        results = decode_to_files(spark, tmp_path, values, json_schema(), "JSON")
        assert results == [
            {f"f{number}": column(number, value) for number, value in enumerate(record)} for record in records
        ]

    assert len(JSON_VALUES) == len(JSON)
    check()


UNSIGNED = st.integers(0, 2**32 - 1)
PROTOBUF_VALUES: list[st.SearchStrategy[Any]] = [
    DOUBLE, FLOAT, INT, LONG, UNSIGNED, st.integers(0, 2**64 - 1), st.booleans(), TEXT, st.binary(max_size=9),
    st.just("ZERO"), st.none() | st.fixed_dictionaries({"a": INT}),
    st.lists(INT, max_size=3), st.dictionaries(TEXT, LONG, max_size=3),
    st.none() | zoned(TIMES), st.none() | st.fixed_dictionaries({"seconds": st.integers(0, 10**9), "nanos": st.just(0)}),
    st.none() | TEXT, st.none(),
]  # fmt: skip


def in_protobuf_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return f"{value['seconds']}s" if isinstance(value, dict) and "seconds" in value else value


def test_protobuf(spark: SparkSession, tmp_path: Path) -> None:
    compiled = ProtobufSchema(SchemaText(definition=protobuf_schema(), data_format="PROTOBUF"))
    make: Callable[[], Any] = compiled.message("Types")
    index = compiled.index("Types")

    def written(values: Sequence[Any]) -> bytes:
        set_ = {f"f{number}": in_protobuf_json(value) for number, value in enumerate(values) if value is not None}
        return index + bytes(ParseDict(set_, make(), descriptor_pool=compiled.pool).SerializeToString())

    @FEW
    @given(st.lists(st.tuples(*PROTOBUF_VALUES), min_size=1, max_size=30))
    def check(records: list[tuple[Any, ...]]) -> None:
        results = decode_to_files(spark, tmp_path, [written(record) for record in records], protobuf_schema(), "PROTOBUF")
        assert results == [{f"f{number}": value for number, value in enumerate(record)} for record in records]

    assert len(PROTOBUF_VALUES) == len(PROTOBUF)
    check()
