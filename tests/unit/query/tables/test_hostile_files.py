"""Files that are small and become large, or take long to take apart: a statement over one ends with the file's name.

Each runs in its own process within limits, so what is tested is that it ends, says why, and that the next statement works.
"""

import bz2
import gzip
import struct
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.unit.query.lake_of_flights import Ask, Lake, Rows
from tests.unit.query.tables.files_of_formats import CSV, HCATALOG, OPENX, REGEX, TEXT, formatted, write

MB = 1 << 20
ZEROS = bytes(40 * MB)


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


def lz4(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="lz4", asbytes=True))


def hadoop(*numbers: int, tail: bytes = b"") -> bytes:
    """Hadoop's framing: a block's size, then sizes of chunks, which stand for more than they have."""
    return b"".join(struct.pack(">I", number) for number in numbers) + tail


LONG_LINE = "longer than"
REFUSED: dict[str, tuple[str, dict[str, str], str, bytes, str]] = {
    # The name, the SerDe's properties, the file's name, its bytes, and what the statement says.
    "a line of zeros, gzip": (TEXT, {}, "a.gz", gzip.compress(ZEROS), LONG_LINE),
    "a line of zeros, bzip2": (TEXT, {}, "a.bz2", bz2.compress(ZEROS), LONG_LINE),
    "a line of zeros, zstd": (TEXT, {}, "a.zst", zstd(ZEROS), LONG_LINE),
    "a line of zeros, lz4": (TEXT, {}, "a.lz4", lz4(ZEROS), LONG_LINE),
    "a snappy block of 4 GB": (TEXT, {}, "a.snappy", hadoop(2**32 - 1, 10, tail=bytes(10)), "Hadoop's framing"),
    "a snappy chunk of 4 GB": (TEXT, {}, "a.snappy", hadoop(100, 2**32 - 1, tail=bytes(10)), "Hadoop's framing"),
    "a snappy chunk that says 4 GB": (
        TEXT, {}, "a.snappy", hadoop(60 * MB, 6, tail=b"\xff\xff\xff\xff\x0f\0"), "decompressed",
    ),
    "an lz4 chunk of another size": (TEXT, {}, "a.lz4", hadoop(60 * MB, 6, tail=b"\xff\xff\xff\xff\x0f\0"), "decompressed"),
    "quotes without end": (CSV, {}, "a.csv", b'"' * 40 * MB, LONG_LINE),
    "nested lists": (OPENX, {}, "a.json", b'{"n":' + b"[" * 1_000_000, "Line 1"),
    "nested objects": (HCATALOG, {}, "a.json", b'{"n":' * 100_000 + b"1" + b"}" * 100_000, "Line 1"),
    "a pattern that tries all ways": (
        REGEX, {"input.regex": "(?=(a|b|ab)*c).*"}, "a.log", b"ab" * 60 + b"d\n", "one text",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_a_file_that_is_not_what_real_files_are_is_refused_by_its_name(lake: Lake, ask: Ask, rows: Rows, what: str) -> None:
    library, serde, name, content, reason = REFUSED[what]
    formatted(lake, "t", {"n": "string"}, library, serde=serde)
    write(lake, f"t/{name}", content)
    said = ask("SELECT count(n) FROM t").reason or ""
    assert said.startswith(f"HIVE_BAD_DATA: s3://lake/t/{name}: "), said
    assert reason in said
    assert rows("SELECT 1") == [["1"]]


def test_patterns_of_tables_and_functions_do_not_backtrack(lake: Lake, rows: Rows, ask: Ask) -> None:
    line = "é" + "a" * 20_000
    formatted(lake, "t", {"n": "string"}, REGEX, serde={"input.regex": "(?:a+)+(b)"})
    write(lake, "t/a.log", f"{'a' * 20_000}\n{line}\n")
    assert rows("SELECT count(n), count(*) FROM t") == [["0", "2"]]
    formatted(lake, "u", {"n": "string", "p": "string"}, TEXT, serde={"field.delim": "~"})
    write(lake, "u/a.txt", f"{line}~(a+)+b\n{line}~(.*a){{20}}b\n")
    for call in ("count_if(regexp_like(n, p))", "sum(regexp_count(n, p))", "sum(cardinality(regexp_extract_all(n, p)))"):
        assert rows(f"SELECT {call} FROM u") == [["0"]]
    assert rows("SELECT count(regexp_extract(n, p)), max(regexp_position(n, p)) FROM u") == [["0", "-1"]]
    assert rows("SELECT bool_and(regexp_replace(n, p, 'x') = n), max(cardinality(regexp_split(n, p))) FROM u") == [
        ["true", "1"]
    ]
    write(lake, "u/a.txt", f"{'ab' * 60}d~(?=(a|b|ab)*c)\n")
    assert "took more than 2 s for one text" in (ask("SELECT count_if(regexp_like(n, p)) FROM u").reason or "")


def test_rows_without_data_are_counted_and_not_made(lake: Lake, rows: Rows, tmp_path: Any) -> None:
    """Parquet keeps a thousand million NULLs in a few bytes; they cost what their vectors cost."""
    count = 20_000_000
    lake.table("t", {"n": "string"})
    path = lake.folder.root / "lake/t/a.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([("n", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(count // 4_000_000):
            writer.write_table(pa.table({"n": pa.nulls(4_000_000, pa.string())}), row_group_size=4_000_000)
    assert path.stat().st_size < 65_536
    assert rows("SELECT count(*), count(n) FROM t") == [[str(count), "0"]]


def test_documents_of_a_statement_are_parsed_within_bounds(ask: Ask, rows: Rows) -> None:
    for sql in (
        "SELECT json_parse(repeat('[', 100000))",
        "SELECT json_extract(repeat('{\"a\":', 100000), '$.a')",
        "SELECT json_extract('[]', '$' || repeat('.a', 100000))",
        "SELECT json_query('[]', 'lax $" + "[*]" * 20_000 + "')",
        "SELECT from_base64(repeat('A', 1001))",
        "SELECT regexp_like('a', repeat('(', 10000))",
    ):
        answer = ask(sql)
        assert answer.state == "SUCCEEDED" or "INTERNAL" not in (answer.reason or ""), (sql[:60], answer.reason)
    assert rows("SELECT 1") == [["1"]]
