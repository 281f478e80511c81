"""``penstock dlq list`` and ``show`` on a table of Parquet files, also one of an earlier release."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.cli.main import main
from penstock.spark.dead_letter_table import LETTER_COLUMNS

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
DAY = datetime(2026, 11, 21, 8, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Two days of letters; those of the first day are without the columns that came later."""
    old: dict[str, list[Any]] = {
        "reason": ["SHORT_FRAME"] * 2,
        "message": ["The value has 1 bytes."] * 2,
        "topic": ["t"] * 2,
        "partition": [0, 1],
        "offset": [5, 6],
        "kafka_timestamp": [DAY, DAY],
        "key": [b"k", None],
        "value": [b"x", None],
        "pipeline": ["p"] * 2,
    }
    new = {name: values[:1] for name, values in old.items()} | {"reason": ["UNDECODABLE"], "value": [bytes(range(60))]}
    new |= {"attempt": [1], "offset": [None], "sequence": ["49590338271490256608559692538361571095921575989136588898"]}
    new |= {"headers": pa.array([[{"key": "trace", "value": b"\x01"}]], HEADERS)}
    for date, values in (("2026-11-21", old), ("2026-11-22", new)):
        folder = tmp_path / "lk" / "dead" / f"date={date}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table(values), folder / "part-0.parquet")
    hidden = tmp_path / "lk" / "dead" / "_penstock" / "p" / "staging" / "0" / "date=2026-11-22"
    hidden.mkdir(parents=True)
    pq.write_table(pa.table(old), hidden / "part-1.parquet")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main(["dlq", *arguments])
    result = capsys.readouterr()
    return result.out if not caught.value.code else f"exit {caught.value.code}: {result.err}"


def test_letters_are_counted_by_day_and_reason_without_those_in_staging(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run(capsys, "list", "--from", "s3://lk/dead", "--lake", str(lake)).splitlines()
    assert [line.split() for line in lines] == [
        ["2026-11-22", "UNDECODABLE", "1", "p,", "replayed", "1", "times"],
        ["2026-11-21", "SHORT_FRAME", "2", "p"],
    ]
    first = json.loads(run(capsys, "list", "--from", "s3://lk/dead", "--lake", str(lake), "--json").splitlines()[0])
    assert (first["letters"], first["attempt"], first["first"]) == (1, 1, "2026-11-21T08:00:00+00:00")


def test_letters_are_shown_with_place_reason_and_bytes(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "show", "--from", str(lake / "lk" / "dead"), "--reason", "short_frame")
    assert "t/0/5  2026-11-21T08:00:00.000+00:00  SHORT_FRAME" in text
    assert "78 (1 bytes)" in text
    assert "UNDECODABLE" not in text
    [line] = run(capsys, "show", "--from", str(lake / "lk" / "dead"), "--date", "2026-11-22", "--json").splitlines()
    letter = json.loads(line)
    assert letter["value"].startswith("AAECAwQF")
    assert letter["headers"] == [{"key": "trace", "value": "AQ=="}]
    assert "4959033827149025660855969253836157109592157598913658889" in run(
        capsys, "show", "--from", str(lake / "lk" / "dead"), "--date", "2026-11-22"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("list", "--from", "s3://lk/none"), "There are no dead letters in s3://lk/none"),
        (("list",), "There is no table to read"),
        (("replay",), "A replay needs a pipeline"),
        (("list", "--from", "gs://x/y"), "is not an S3 location"),
    ],
)
def test_a_wrong_table_is_one_sentence(
    lake: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    extra = () if arguments == ("replay",) else ("--lake", str(lake))
    result = run(capsys, *arguments, *extra)
    assert message in result
    assert "Traceback" not in result


def test_the_page_lists_the_columns_of_the_table() -> None:
    page = (Path(__file__).parents[3] / "docs" / "pipelines" / "dead-letters.md").read_text()
    rows = [f"| `{name}` | `{column.type}` | {column.meaning} |" for name, column in LETTER_COLUMNS.items()]
    assert [line for line in page.splitlines() if line.startswith("| `")] == rows
