"""A page of a log has a bound in characters, forward and backward, and no event is left out between pages."""

from pathlib import Path

from penstock.runs.logs import LogWriter, read_log


def test_pages_are_bounded_and_lose_nothing(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path)
    lines = [f"{number:04}" + "x" * 150_000 for number in range(20)]
    for line in lines:
        writer.write(line.encode() + b"\n")
    writer.close()
    read, place = [], None
    while (page := read_log(tmp_path, place=place, limit=10_000)).events:
        assert sum(len(each.message) for each in page.events) <= 1_000_000
        read += [each.message for each in page.events]
        place = page.end
    assert read == lines
    back: list[str] = []
    place = None
    while (page := read_log(tmp_path, place=place, limit=10_000, backward=True)).events:
        assert sum(len(each.message) for each in page.events) <= 1_000_000
        back = [each.message for each in page.events] + back
        place = page.begin
    assert back == lines
