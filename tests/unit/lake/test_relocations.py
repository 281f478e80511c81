"""Where the journal of compactions says that files have to be."""

import pytest

from penstock.errors import DataProblem
from penstock.lake.compaction import Compaction, Journal, Relocations
from penstock.lake.files import MemoryFiles
from tests.unit.lake.test_ledger import TABLE

MOVED = f"{TABLE}/_compacted/000000/day=1"
SWAPPED = Compaction(partition="day=1", number=0, state="swapped", source=f"{TABLE}/day=1", target=MOVED, swapped_at=0.0)


def test_a_place_follows_the_journal() -> None:
    files = MemoryFiles()
    file = f"{TABLE}/day=1/part-0.parquet"
    journal = Journal(files, TABLE)
    for state, folder in (
        ("planned", f"{TABLE}/day=1"),
        ("written", f"{TABLE}/day=1"),
        ("swapped", MOVED),
        ("deleted", MOVED),
    ):
        journal.write(SWAPPED.at(state))  # type: ignore[arg-type]
        assert Relocations(files, [TABLE]).place(file) == f"{folder}/part-0.parquet"
        assert Relocations(files, [TABLE]).place(f"{TABLE}/day=2/part-0.parquet") == f"{TABLE}/day=2/part-0.parquet"
    assert journal.last("day=2") is None
    assert journal.all() == [SWAPPED.at("deleted")]


def test_partitions_within_partitions_have_a_file_each() -> None:
    files = MemoryFiles()
    journal = Journal(files, TABLE)
    for partition in ("a=1/b=x%2Fy", "a=1%2Fb=x/y"):
        journal.write(Compaction(partition=partition, number=0, state="planned", source="s", target="t"))
    assert {compaction.partition for compaction in journal.all()} == {"a=1/b=x%2Fy", "a=1%2Fb=x/y"}


def test_a_damaged_journal_is_named() -> None:
    files = MemoryFiles()
    files.write(f"{TABLE}/_penstock/_compaction/day=1.json", b"{")
    with pytest.raises(DataProblem, match=r"day=1\.json of a compaction is damaged"):
        Journal(files, TABLE).last("day=1")
