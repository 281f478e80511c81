"""The ledger on a store that others wrote: the suite of file systems, and kills before and behind its requests."""

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from penstock.lake.files import FileSystem
from penstock.lake.object_files import ObjectFiles
from penstock.testing.stores import S3Store
from penstock.testing.suites import FileSystemSuite
from tests.unit.lake.test_ledger import DEAD, TABLE, Crash
from tests.unit.lake.test_object_files import commit, opened

_CHANGES = frozenset(
    {
        "PutObject",
        "DeleteObject",
        "DeleteObjects",
        "CreateMultipartUpload",
        "UploadPart",
        "CompleteMultipartUpload",
        "AbortMultipartUpload",
    }
)
_folders = itertools.count()


class TestStoreFiles(FileSystemSuite):
    @pytest.fixture
    def files(self, s3_store: S3Store) -> FileSystem:
        return ObjectFiles(s3_store.client())

    @pytest.fixture
    def root(self, s3_store: S3Store) -> str:
        return f"s3://{s3_store.bucket}/suite/{next(_folders)}"


class StoreCrashes(RuleBasedStateMachine):
    """A stream that is killed before a request that changes the store, or before its answer comes."""

    store: S3Store

    def __init__(self) -> None:
        super().__init__()
        self.countdown: int | None = None
        self.next = self.attempt = 0
        self.client = self.store.client()
        self.client.meta.events.register("before-call.s3", self.on_request)
        self.client.meta.events.register("after-call.s3", self.on_request)
        self.files = ObjectFiles(self.client)
        for table in (TABLE, DEAD):
            self.files.delete(table)
            self.files.abort_uploads(table, of=lambda _: True, keep=())

    def on_request(self, model: Any, **_: Any) -> None:
        if self.countdown is not None and model.name in _CHANGES:
            self.countdown -= 1
            if self.countdown < 0:
                raise Crash

    @rule(steps=st.integers(0, 80))
    def run(self, steps: int) -> None:
        self.batch(steps)

    @rule()
    def run_whole(self) -> None:
        self.batch(None)
        assert "Uploads" not in self.client.list_multipart_uploads(Bucket=self.store.bucket)

    def batch(self, crash_after: int | None) -> None:
        self.countdown, self.attempt = crash_after, self.attempt + 1
        try:
            ledger = opened(self.files)
            ledger.clear_staging()
            commit(self.files, ledger, self.next, b"%d/%d:" % (self.next, self.attempt))
            self.next += 1
        except Crash:
            pass
        finally:
            self.countdown = None

    def teardown(self) -> None:
        self.batch(None)
        seen = {path: self.files.read(path) for table in (TABLE, DEAD) for path in self.files.walk(table)}
        for number in range(self.next):
            results = {path: data for path, data in seen.items() if f"-{number:010d}-" in path and "_penstock" not in path}
            assert len(results) == 3
            assert len({data.partition(b":")[0] for data in results.values()}) == 1, "files of two attempts"


def test_no_kill_loses_or_doubles_a_file(s3_store: S3Store) -> None:
    assert TABLE.startswith(f"s3://{s3_store.bucket}/")

    class Machine(StoreCrashes):
        store = s3_store

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=4, stateful_step_count=6, deadline=None, suppress_health_check=list(HealthCheck), database=None
        ),
    )
