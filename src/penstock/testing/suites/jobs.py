"""The behaviour of every :class:`~penstock.jobs.store.JobStore`."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from penstock.errors import InvalidInput
from penstock.jobs.bookmarks import BOOKMARKS, Bookmark, BookmarkService
from penstock.jobs.errors import BookmarkMoved, EntryNotFound, TooManyEntries
from penstock.jobs.model import JOBS, RUNS, Job, JobRun
from penstock.jobs.store import JobStore

__all__ = ["JobStoreSuite"]

NOW = datetime(2026, 11, 22, 10, 0, 0, 123456, tzinfo=UTC)
SETTINGS = {"Role": "etl", "Command": {"Name": "glueetl", "ScriptLocation": "s3://lake/für.py"}, "MaxRetries": 1}
JOB = Job(name="flights", settings=SETTINGS, tags={"team": "data"}, created=NOW, modified=NOW)


def run(number: int, **members: object) -> JobRun:
    """The ``number``-th run of :data:`JOB`; ``members`` are those that differ."""
    moment = NOW + timedelta(seconds=number)
    started = JobRun(id=f"jr_{number}", job="flights", settings=SETTINGS, started=moment, modified=moment)
    return replace(started, **members)  # type: ignore[arg-type]


class JobStoreSuite:
    """Fixture ``store`` is an empty :class:`~penstock.jobs.store.JobStore`; threads use it at the same time."""

    def test_entries_come_back_as_they_went_in(self, store: JobStore) -> None:
        whole = run(1, predecessors=("a/b",), began=NOW, completed=NOW, error="It failed.", heartbeat=NOW, handled=True)
        assert store.add(JOBS, JOB)
        assert store.add(RUNS, whole)
        assert (store.get(JOBS, "flights"), store.get(RUNS, "jr_1")) == (JOB, whole)
        assert not store.add(JOBS, replace(JOB, tags={}))
        assert store.get(JOBS, "flights") == JOB
        assert store.get(RUNS, "flights") is None

    def test_a_scope_has_no_more_entries_than_its_limit(self, store: JobStore) -> None:
        assert store.add(RUNS, run(1), limit=2)
        assert store.add(RUNS, run(2), limit=2)
        assert store.add(RUNS, run(3, job="other"), limit=1)
        with pytest.raises(TooManyEntries, match="There are 2 runs already"):
            store.add(RUNS, run(4), limit=2)
        assert not store.add(RUNS, run(2), limit=2)
        assert store.get(RUNS, "jr_4") is None

    def test_entries_are_listed_by_rank_within_a_scope(self, store: JobStore) -> None:
        for number in (2, 1, 3):
            store.add(RUNS, run(number))
        store.add(RUNS, run(9, job="other"))
        names = [job_run.id for job_run in store.list(RUNS, "flights", after=None, limit=2)]
        assert names == ["jr_1", "jr_2"]
        newest = store.list(RUNS, "flights", after=None, limit=2, newest_first=True)
        assert [job_run.id for job_run in newest] == ["jr_3", "jr_2"]
        assert [job_run.id for job_run in store.list(RUNS, "flights", after=run(2).rank, limit=9)] == ["jr_3"]
        behind = store.list(RUNS, "flights", after=run(2).rank, limit=9, newest_first=True)
        assert [job_run.id for job_run in behind] == ["jr_1"]

    def test_entries_with_something_to_do_are_known(self, store: JobStore) -> None:
        for number in (2, 1):
            store.add(RUNS, run(number))
        assert [job_run.id for job_run in store.active(RUNS)] == ["jr_1", "jr_2"]
        store.change(RUNS, "jr_1", lambda entry: replace(entry, handled=True))
        assert [job_run.id for job_run in store.active(RUNS)] == ["jr_2"]

    def test_entries_are_added_under_a_parent_one_after_the_other(self, store: JobStore) -> None:
        def make(job: Job, running: Sequence[JobRun]) -> JobRun:
            if len(running) >= 2:
                raise InvalidInput(job.name)
            return run(len(running))

        assert store.add_under(JOBS, "flights", RUNS, make) is None
        store.add(JOBS, JOB)
        barrier, refused = threading.Barrier(6), []

        def add() -> None:
            barrier.wait()
            try:
                store.add_under(JOBS, "flights", RUNS, make)
            except InvalidInput as error:
                refused.append(error)

        threads = [threading.Thread(target=add) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 4
        assert [job_run.id for job_run in store.list(RUNS, "flights", after=None, limit=9)] == ["jr_0", "jr_1"]
        stored = run(1)
        store.change(RUNS, "jr_1", lambda added: replace(added, state="FAILED"))
        added = store.add_under(JOBS, "flights", RUNS, lambda _job, _running: stored)
        assert added == (replace(stored, state="FAILED"), False)

    def test_a_change_that_raises_changes_nothing(self, store: JobStore) -> None:
        store.add(JOBS, JOB)
        changed = store.change(JOBS, "flights", lambda entry: replace(entry, tags={}))
        assert changed == store.get(JOBS, "flights") == replace(JOB, tags={})

        def refuse(_: Job) -> Job:
            raise InvalidInput("no")

        with pytest.raises(InvalidInput):
            store.change(JOBS, "flights", refuse)
        assert store.get(JOBS, "flights") == changed
        assert store.change(JOBS, "missing", refuse) is None

    def test_entries_are_deleted_alone_or_with_their_scope(self, store: JobStore) -> None:
        for number in (1, 2):
            store.add(RUNS, run(number))
        store.add(RUNS, run(3, job="other"))
        assert store.delete(RUNS, "jr_1")
        assert not store.delete(RUNS, "jr_1")
        store.delete_scope(RUNS, "flights")
        assert [job_run.id for job_run in store.active(RUNS)] == ["jr_3"]

    def test_a_bookmark_is_committed_once_for_a_version(self, store: JobStore) -> None:
        service = BookmarkService(store)
        assert service.read("flights") == Bookmark(job="flights")
        with pytest.raises(EntryNotFound):
            service.get("flights")
        first = service.commit("flights", "jr_1", '{"a": 1}', version=0)
        assert (first.version, first.run, first.run_id, first.document) == (1, 1, "jr_1", '{"a": 1}')
        with pytest.raises(BookmarkMoved):
            service.commit("flights", "jr_2", "{}", version=0)
        second = service.commit("flights", "jr_2", '{"a": 2}', version=1)
        assert (second.version, second.run, second.previous_run_id) == (2, 2, "jr_1")
        assert service.read("flights") == second == store.get(BOOKMARKS, "flights")
        assert service.get("flights", "jr_1").document == '{"a": 1}'
        for text in ("[]", "x", "[" * 100_000):
            with pytest.raises(InvalidInput):
                service.commit("flights", "jr_2", text, version=2)

    def test_a_bookmark_is_rewound_and_reset(self, store: JobStore) -> None:
        service = BookmarkService(store)
        with pytest.raises(EntryNotFound):
            service.reset("flights")
        store.add(JOBS, JOB)
        for number in range(3):
            service.commit("flights", f"jr_{number}", f'{{"a": {number}}}', version=number)
        rewound = service.reset("flights", "jr_1")
        assert (rewound.version, rewound.run_id, rewound.document) == (4, "jr_1", '{"a": 1}')
        with pytest.raises(EntryNotFound):
            service.reset("flights", "jr_2")
        blank = service.reset("flights")
        assert (blank.version, blank.run, blank.document, blank.history) == (5, 0, "", ())
        # A run that read before the reset does not undo it.
        with pytest.raises(BookmarkMoved):
            service.commit("flights", "jr_2", "{}", version=3)
