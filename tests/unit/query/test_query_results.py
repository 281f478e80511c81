"""Reading results: pages by byte offset, in time linear in the bytes read."""

import csv
import io
import math
import tempfile
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock.query.errors import without_paths
from penstock.query.results import rows
from penstock.query.results.rows import read_rows
from penstock.query.results.values import csv_lines, texts
from penstock.sql.errors import InvalidRequest


class Counting(io.BytesIO):
    """A file that counts the bytes that were read from it."""

    taken = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(-1 if size is None else size)
        self.taken += len(line)
        return line


def test_a_value_of_many_lines_is_one_row_and_is_read_once() -> None:
    value = "a\n" * 80_000
    stored = Counting(b'"x"\n"' + value.encode() + b'"\n"next"\n')
    page = read_rows(stored, offset=0, count=10, quoted=True)
    assert page.rows == [["x"], [value], ["next"]]
    assert page.next_offset is None
    assert stored.taken == len(stored.getvalue())


def test_the_next_page_begins_behind_a_value_of_many_lines() -> None:
    stored = b'"x"\n"one\ntwo ""three"""\n"next"\n'
    first = read_rows(io.BytesIO(stored), offset=0, count=2, quoted=True)
    assert first.rows == [["x"], ['one\ntwo "three"']]
    assert first.next_offset is not None
    file = io.BytesIO(stored)
    file.seek(first.next_offset)
    assert read_rows(file, offset=first.next_offset, count=2, quoted=True).rows == [["next"]]


@pytest.mark.parametrize("stored", [b'"' + b"x" * 500 + b'"\n', b'"' + b"x\n" * 250 + b'"\n', b"x" * 500])
def test_a_row_beyond_the_limit_is_refused_before_it_is_read_completely(
    stored: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_MAX_ROW", 100)
    file = Counting(stored)
    with pytest.raises(InvalidRequest, match="larger than 100 bytes"):
        read_rows(file, offset=0, count=10, quoted=True)
    assert file.taken <= 102


def test_a_row_of_a_million_lines_is_read_in_time_linear_in_them() -> None:
    # Counting the quotes of all lines again at each line would take hours here.
    value = "a\n" * 1_000_000 + '"' * 100_000
    stored = '"x"\n"' + value.replace('"', '""') + '"\n'
    assert read_rows(io.BytesIO(stored.encode()), offset=0, count=10, quoted=True).rows == [["x"], [value]]


@given(st.lists(st.one_of(st.none(), st.floats(), st.integers(-(10**9), 10**9).map(lambda item: item / 100)), max_size=40))
def test_doubles_are_printed_as_java_prints_them(numbers: list[float | None]) -> None:
    def java(number: float | None) -> str | None:
        if number is None or math.isnan(number) or math.isinf(number):
            return None if number is None else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(number)]
        sign = "-" if math.copysign(1, number) < 0 else ""
        digits, _, exponent = f"{Decimal(repr(abs(number))):e}".partition("e")
        figures = digits.replace(".", "").rstrip("0") or "0"
        power = int(exponent) if number else 0
        if number and not -3 <= power < 7:
            return f"{sign}{figures[0]}.{figures[1:] or '0'}E{power}"
        if power < 0:
            return f"{sign}0.{'0' * (-power - 1)}{figures}"
        padded = figures.ljust(power + 2, "0")
        return f"{sign}{padded[: power + 1]}.{padded[power + 1 :]}"

    assert list(texts(pa.array(numbers, pa.float64()))) == [java(item) for item in numbers]


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.text()),
            st.one_of(st.none(), st.decimals(allow_nan=False, places=10, min_value=-9, max_value=9)),
        )
    )
)
def test_lines_are_read_back_by_another_reader(rows: list[tuple[str | None, Decimal | None]]) -> None:
    columns = [pa.array([row[0] for row in rows], pa.string()), pa.array([row[1] for row in rows], pa.decimal128(20, 10))]
    expected = [[text or "", "" if number is None else format(number, "f")] for text, number in rows]
    read = list(csv.reader(io.StringIO(csv_lines(columns).to_pybytes().decode(), newline="")))
    assert [[line[0], line[1]] for line in read] == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("No magic bytes at '{lake}/lk/a/b.parquet'", "No magic bytes at 's3://lk/a/b.parquet'"),
        ("Spark SQL: file://{lake}/lk/a.parquet is not a file", "Spark SQL: s3://lk/a.parquet is not a file"),
        ("Spark SQL: file:{lake}/lk/x y", "Spark SQL: s3://lk/x y"),
        ("cannot open {home}/store.db: locked", "cannot open store.db: locked"),
        ("in {temporary}/penstock-sql-x/spill/a.tmp", "in a.tmp"),
        ('File "{code}/penstock/query/service.py", line 3', 'File "service.py", line 3'),
        ("2013/01/02 of s3://lk/a/b stays", "2013/01/02 of s3://lk/a/b stays"),
    ],
)
def test_errors_name_no_folder_of_this_machine(tmp_path: Path, text: str, shown: str) -> None:
    lake = tmp_path / "home" / "lake"
    places = {
        "lake": lake,
        "home": lake.parent,
        "temporary": tempfile.gettempdir(),
        "code": Path(penstock.__file__).parents[1],
    }
    assert without_paths(text.format(**places), lake) == shown
