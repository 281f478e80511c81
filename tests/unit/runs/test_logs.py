"""A page of a log has a bound in characters, forward and backward, and no event is left out between pages."""

import os
from pathlib import Path
from typing import Any

import pytest

from penstock.api.aws import logs
from penstock.errors import InvalidInput, NotFound
from penstock.locks import file_lock
from penstock.runs.logs import LogWriter, read_log
from tests.unit.api.handlers import called


def test_pages_are_bounded_and_lose_nothing(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path)
    lines = [f"{number:04}" + "x" * 150_000 for number in range(20)]
    for line in lines:
        writer.write(line.encode() + b"\n")
    writer.close()
    read, place = [], None
    while (page := read_log(tmp_path, place=place, limit=10_000)).events:
        assert sum(len(event.message) for event in page.events) <= 1_000_000
        read += [event.message for event in page.events]
        place = page.end
    assert read == lines
    back: list[str] = []
    place = None
    while (page := read_log(tmp_path, place=place, limit=10_000, backward=True)).events:
        assert sum(len(event.message) for event in page.events) <= 1_000_000
        back = [event.message for event in page.events] + back
        place = page.begin
    assert back == lines


GROUP = "/aws-glue/jobs/output"


def searched(folder: Path, **members: Any) -> list[list[tuple[str, str]]]:
    """The pages of a search, each event as its stream and its text."""
    handler = logs.operations(folder).handlers["FilterLogEvents"]
    pages = []
    token: dict[str, str] = {}
    while True:
        answer = called(handler, {"logGroupName": GROUP, **members, **token})
        pages.append([(event["logStreamName"], event["message"]) for event in answer["events"]])
        if "nextToken" not in answer:
            return pages
        token = {"nextToken": answer["nextToken"]}


def test_a_search_reads_no_file_that_was_not_written_since_its_page_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.runs.logs._FILE_BYTES", 20)
    lines = [(run, f"{run} {number}") for number in range(6) for run in ("jr_a", "jr_b")]
    writers = {run: LogWriter(tmp_path / run / "output") for run in ("jr_a", "jr_b")}
    for seconds, (run, line) in enumerate(lines, start=1_000):
        monkeypatch.setattr("time.time", lambda now=float(seconds): now)
        writers[run].write(line.encode() + b"\n")
    for run, writer in writers.items():
        writer.close()
        files = sorted((tmp_path / run / "output").iterdir())
        assert len(files) == 6
        for at, file in zip(range(1_000 + (run == "jr_b"), 1_012, 2), files, strict=True):
            os.utime(file, (at, at))
    assert searched(tmp_path) == [lines, []]
    assert searched(tmp_path, limit=5) == [lines[:5], lines[5:10], lines[10:], []]
    # Of what is broken before the pages begin, nothing is read.
    for run in writers:
        (tmp_path / run / "output" / "000000.jsonl").write_bytes(b"broken\n")
        os.utime(tmp_path / run / "output" / "000000.jsonl", (1_000, 1_000))
    assert searched(tmp_path, startTime=1_006_000, limit=5) == [lines[6:11], lines[11:], []]
    assert searched(tmp_path, nextToken="m/1006000:1")[0] == lines[7:]
    assert searched(tmp_path, startTime=1_006_000, logStreamNames=["jr_b"])[0] == lines[7::2]


def described(folder: Path | None, **members: Any) -> Any:
    return called(logs.operations(folder).handlers["DescribeLogStreams"], {"logGroupName": GROUP, **members})


def test_streams_are_listed_by_name_and_by_time(tmp_path: Path) -> None:
    for seconds, run in enumerate(("jr_b", "jr_c", "jr_a", "session_1"), start=1_000):
        writer = LogWriter(tmp_path / run / "output")
        writer.write(b"x\n")
        writer.close()
        os.utime(tmp_path / run / "output" / "000000.jsonl", (seconds, seconds))
    (tmp_path / "jr_d" / "output").mkdir(parents=True)  # it has written nothing
    (tmp_path / "jr_e").mkdir()  # it has not begun
    for order, expected in (
        ({}, ["jr_a", "jr_b", "jr_c", "jr_d", "session_1"]),
        ({"descending": True}, ["session_1", "jr_d", "jr_c", "jr_b", "jr_a"]),
        ({"orderBy": "LastEventTime"}, ["jr_d", "jr_b", "jr_c", "jr_a", "session_1"]),
        ({"orderBy": "LastEventTime", "descending": True}, ["session_1", "jr_a", "jr_c", "jr_b", "jr_d"]),
        ({"logStreamNamePrefix": "jr_", "orderBy": "LogStreamName"}, ["jr_a", "jr_b", "jr_c", "jr_d"]),
    ):
        results: list[str] = []
        token: dict[str, str] = {}
        while True:
            answer = described(tmp_path, limit=2, **order, **token)
            results += [log_stream["logStreamName"] for log_stream in answer["logStreams"]]
            if "nextToken" not in answer:
                break
            token = {"nextToken": answer["nextToken"]}
        assert results == expected
    first, *_, empty, _ = described(tmp_path)["logStreams"]
    assert first["arn"] == "arn:aws:logs:us-east-1:000000000000:log-group:/aws-glue/jobs/output:log-stream:jr_a"
    assert first["firstEventTimestamp"] <= first["lastEventTimestamp"] == first["lastIngestionTime"]
    assert not {"firstEventTimestamp", "lastEventTimestamp"} & empty.keys()
    of_other_order = described(tmp_path, limit=1)["nextToken"]
    for wrong in (
        {"nextToken": "x"},
        {"nextToken": of_other_order, "descending": True},
        {"orderBy": "LastEventTime", "logStreamNamePrefix": "jr_"},
    ):
        with pytest.raises(InvalidInput) as refused:
            described(tmp_path, **wrong)
        assert refused.value.aws_code == "InvalidParameterException"
    for folder in (None, tmp_path / "none"):
        assert described(folder) == {"logStreams": []}
        with pytest.raises(NotFound):
            described(folder, logGroupName="/aws/lambda/x")


def test_groups_are_listed_by_prefix() -> None:
    handler = logs.operations(None).handlers["DescribeLogGroups"]

    def names(**members: Any) -> list[str]:
        return [log_group["logGroupName"] for log_group in called(handler, members)["logGroups"]]

    both = ["/aws-glue/jobs/error", "/aws-glue/jobs/output"]
    assert names() == names(logGroupNamePrefix="/aws-glue") == both
    assert names(logGroupNamePrefix="/aws-glue/jobs/o") == both[1:]
    assert names(logGroupNamePrefix="/aws/lambda") == []
    one = called(handler, {"limit": 1})
    assert names(nextToken=one["nextToken"]) == both[1:]
    own = "arn:aws:logs:us-east-1:000000000000:log-group:/aws-glue/jobs/error"
    assert (one["logGroups"][0]["arn"], one["logGroups"][0]["logGroupArn"]) == (f"{own}:*", own)


def test_a_search_of_logs_that_are_being_written_leaves_no_late_event_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writers = {run: LogWriter(tmp_path / run / "output") for run in ("jr_a", "jr_b")}

    def write(seconds: float, run: str, line: str) -> None:
        monkeypatch.setattr("time.time", lambda: seconds)
        writers[run].write(line.encode() + b"\n")

    def search(seconds: float, **members: Any) -> list[list[tuple[str, str]]]:
        monkeypatch.setattr("time.time", lambda: seconds)
        return searched(tmp_path, **members)

    write(1_000.0, "jr_a", "1")
    write(1_002.0, "jr_b", "3")
    with file_lock(tmp_path / "jr_b" / "lock"):  # a run that goes on
        assert search(1_002.5) == [[("jr_a", "1")], []]
        write(1_001.9, "jr_a", "2")  # read before, and written now
        assert search(1_002.5, logStreamNames=["jr_b"]) == [[("jr_b", "3")], []]
        assert search(1_003.1, nextToken="m/1000000:1") == [[("jr_a", "2"), ("jr_b", "3")], []]
    write(1_003.0, "jr_a", "4")
    assert search(1_003.0, startTime=1_003_000) == [[("jr_a", "4")], []]
    for writer in writers.values():
        writer.close()
