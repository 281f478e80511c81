"""Reading results: pages by byte offset, in time linear in the bytes read."""

import io

import pytest

from penstock.query.errors import InvalidRequest
from penstock.query.execution import results
from penstock.query.execution.results import read_rows


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
    monkeypatch.setattr(results, "_MAX_ROW", 100)
    file = Counting(stored)
    with pytest.raises(InvalidRequest, match="larger than 100 bytes"):
        read_rows(file, offset=0, count=10, quoted=True)
    assert file.taken <= 102


def test_a_row_of_a_million_lines_is_read_in_time_linear_in_them() -> None:
    # Counting the quotes of all lines again at each line would take hours here.
    value = "a\n" * 1_000_000 + '"' * 100_000
    stored = '"x"\n"' + value.replace('"', '""') + '"\n'
    assert read_rows(io.BytesIO(stored.encode()), offset=0, count=10, quoted=True).rows == [["x"], [value]]
