"""Which files readers count: whole batches, whatever the moment at which they look."""

import pytest

from penstock.lake.files import MemoryFiles
from penstock.lake.ledger import CommitHooks, Ledger, Manifest
from penstock.lake.visible import CommittedBatches
from tests.unit.lake.test_ledger import DEAD, QUERY, TABLE, commit, opened

OTHER = "f" * 32


def snapshot(files: MemoryFiles, table: str = TABLE) -> CommittedBatches:
    return CommittedBatches(table, names=files.names, read=lambda path: files.read(path).decode())


def counted(files: MemoryFiles, committed: CommittedBatches, table: str = TABLE) -> set[str]:
    names = [path.rpartition("/")[2] for path in files.walk(table) if "/_penstock/" not in path]
    return {name for name in names if committed.counts(name)}


class Looking(CommitHooks):
    """Looks at the tables at every step of a commit; a look has what was listed after a snapshot of an earlier step."""

    def __init__(self, files: MemoryFiles) -> None:
        self.files = files
        self.snapshots = {table: [snapshot(files, table)] for table in (TABLE, DEAD)}
        self.seen: list[tuple[str, int]] = []

    def look(self) -> None:
        for table, made in self.snapshots.items():
            made.append(snapshot(self.files, table))
            self.seen.extend((table, len(counted(self.files, committed_batches, table))) for committed_batches in made)

    def moved(self, count: int) -> None:
        self.look()

    def update_catalog(self, manifest: Manifest) -> None:
        self.look()

    def committed(self, manifest: Manifest) -> None:
        self.look()


def test_a_batch_is_seen_as_a_whole_at_every_step() -> None:
    files = MemoryFiles()
    ledger = opened(files)
    commit(files, ledger, 0, b"first")
    looking = Looking(files)
    commit(files, ledger, 1, b"second", looking)
    whole = {(TABLE, 2), (TABLE, 4), (DEAD, 1), (DEAD, 2)}
    assert set(looking.seen) == whole
    assert len(counted(files, snapshot(files))) == 4
    assert len(counted(files, snapshot(files, DEAD), DEAD)) == 2


def test_a_new_querys_first_batch_is_not_half_seen_by_a_reader_that_looked_before_it() -> None:
    files = MemoryFiles()
    before = snapshot(files)
    looking = Looking(files)
    commit(files, opened(files), 0, b"first", looking)
    assert set(looking.seen) == {(TABLE, 0), (TABLE, 2), (DEAD, 0), (DEAD, 1)}
    assert counted(files, before) == set()


def test_batches_whose_manifests_were_deleted_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.lake.ledger.KEEP", 2)
    files = MemoryFiles()
    ledger = opened(files)
    for number in range(5):
        commit(files, ledger, number, b"x")
    assert len(counted(files, snapshot(files))) == 10


def test_files_that_no_ledger_knows_count() -> None:
    files = MemoryFiles()
    files.write(f"{TABLE}/day=1/part-{OTHER}-0000000007-0000.snappy.parquet", b"")
    files.write(f"{TABLE}/day=1/any.parquet", b"")
    assert len(counted(files, snapshot(files))) == 2, "no ledger at all"
    commit(files, opened(files), 0, b"x")
    assert len(counted(files, snapshot(files))) == 4


def test_a_batch_that_was_left_prepared_does_not_count_until_it_is_rolled_forward() -> None:
    files = MemoryFiles()
    ledger = opened(files)

    class Killed(CommitHooks):
        def update_catalog(self, manifest: Manifest) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        commit(files, ledger, 0, b"x", Killed())
    assert len([path for path in files.walk(TABLE) if "/_penstock/" not in path]) == 2
    assert counted(files, snapshot(files)) == set()
    again = Ledger(files, table=TABLE, also=(DEAD,), pipeline="p", query=QUERY)
    again.open()
    commit(files, again, 0, b"x")
    assert len(counted(files, snapshot(files))) == 2
