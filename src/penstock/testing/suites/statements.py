"""The behaviour of every :class:`~penstock.statements.store.StatementStore`."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock.errors import InvalidInput
from penstock.statements.model import (
    ResultColumn,
    ResultOptions,
    Statement,
    StatementFailure,
    StatementId,
    StatementState,
    StatementStatistics,
    StatementType,
)
from penstock.statements.store import StatementStore

__all__ = ["StatementStoreSuite"]

NOW = datetime(2026, 11, 21, 10, 22, 56, 123456, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)


def statement(name: str = "a", **changes: object) -> Statement:
    queued = Statement(
        id=StatementId(name),
        sql="SELECT 'é'",
        type=StatementType.DML,
        substatement="SELECT",
        database="db",
        output_location="s3://lake/out/",
        result_uri=f"s3://lake/out/{name}.csv",
        parameters=("'x'", "1"),
        principal="arn:aws:iam::000000000000:user/penstock",
        submitted=NOW,
        owner="host:1:x",
        heartbeat=NOW,
    )
    return replace(queued, **changes)  # type: ignore[arg-type]


class StatementStoreSuite:
    """Fixture ``store`` is an empty :class:`~penstock.statements.store.StatementStore`; many threads use it at once."""

    def test_a_statement_is_kept_whole(self, store: StatementStore) -> None:
        stored = statement(
            started=LATER,
            completed=LATER,
            state=StatementState.FAILED,
            reason="why",
            failure=StatementFailure(message="why", category=1, type=2, retryable=True),
            statistics=StatementStatistics(scanned_bytes=2**40, output_rows=3, update_count=0, manifest_uri="s3://lake/m"),
            columns=(ResultColumn(name="x", type="decimal", precision=10, scale=2),),
            options=ResultOptions(encryption="SSE_KMS", kms_key="k", expected_bucket_owner="1" * 12, acl="a"),
            managed=True,
            token="t" * 32,
            reuse_minutes=60,
            digest="d" * 64,
        )
        store.add(stored)
        assert store.get(stored.id) == stored
        assert store.get(StatementId("other")) is None

    def test_a_life_to_success(self, store: StatementStore) -> None:
        queued = store.add(statement())
        assert store.start(queued.id, at=LATER)
        assert not store.start(queued.id, at=LATER)
        columns = (ResultColumn(name="x", type="integer", precision=10),)
        statistics = StatementStatistics(engine_ms=5)
        assert store.finish(queued.id, StatementState.SUCCEEDED, at=LATER, statistics=statistics, columns=columns)
        succeeded = replace(
            queued, state=StatementState.SUCCEEDED, started=LATER, completed=LATER, statistics=statistics, columns=columns
        )
        assert store.get(queued.id) == succeeded
        assert not store.finish(queued.id, StatementState.FAILED, at=LATER, reason="too late")
        assert store.get(queued.id) == succeeded
        assert store.request_cancel(queued.id, at=LATER, reason="too late") is StatementState.SUCCEEDED
        assert store.get(queued.id) == succeeded

    def test_the_latest_statement_of_a_digest_that_was_computed(self, store: StatementStore) -> None:
        def done(name: str, at: datetime, *, digest: str = "d", state: str = "SUCCEEDED", reused: bool = False) -> None:
            latest = StatementStatistics(reused=reused)
            store.add(statement(name, digest=digest, state=StatementState(state), completed=at, statistics=latest))

        assert store.latest("d", since=NOW) is None
        done("old", NOW)
        done("new", LATER)
        done("other", LATER, digest="o")
        done("failed", LATER, state="FAILED")
        done("reused", LATER, reused=True)
        store.add(statement("running", digest="d"))
        latest = store.latest("d", since=NOW)
        assert latest is not None
        assert latest.id == "new"
        assert store.latest("d", since=LATER) == latest
        assert store.latest("d", since=LATER + timedelta(microseconds=1)) is None

    def test_cancelling(self, store: StatementStore) -> None:
        queued, running = store.add(statement("queued")), store.add(statement("running"))
        store.start(running.id, at=LATER)
        assert store.request_cancel(queued.id, at=LATER, reason="stop") is StatementState.CANCELLED
        assert store.request_cancel(running.id, at=LATER, reason="stop") is StatementState.RUNNING
        assert store.request_cancel(StatementId("none"), at=LATER, reason="stop") is None
        assert not store.start(queued.id, at=LATER)
        stored = store.get(queued.id)
        assert stored is not None
        assert (stored.state, stored.reason, stored.completed) == (StatementState.CANCELLED, "stop", LATER)
        assert store.cancelled_among([queued.id, running.id]) == {running.id}
        assert store.cancelled_among([]) == frozenset()

    def test_a_token_is_used_once_even_by_concurrent_callers(self, store: StatementStore) -> None:
        statements = [statement(f"s{number}", token="same" * 8) for number in range(16)]
        with ThreadPoolExecutor(8) as pool:
            added = list(pool.map(store.add, statements))
        assert len({answer.id for answer in added}) == 1
        assert sum(store.get(answer.id) is not None for answer in statements) == 1

    def test_one_of_many_concurrent_workers_starts_a_statement(self, store: StatementStore) -> None:
        queued = store.add(statement())
        with ThreadPoolExecutor(8) as pool:
            started = list(pool.map(lambda _: store.start(queued.id, at=LATER), range(16)))
        assert started.count(True) == 1

    def test_pages_are_newest_first_and_do_not_shift(self, store: StatementStore) -> None:
        for number in range(5):
            store.add(statement(f"s{number}"))
        store.add(statement("other", workgroup="other"))
        first = store.page(workgroup="primary", limit=2)
        assert first.ids == ("s4", "s3")
        store.add(statement("s5"))
        second = store.page(workgroup="primary", limit=2, token=first.next_token)
        assert second.ids == ("s2", "s1")
        last = store.page(workgroup="primary", limit=2, token=second.next_token)
        assert (last.ids, last.next_token) == (("s0",), None)
        exact = store.page(workgroup="primary", limit=6)
        assert (len(exact.ids), exact.next_token) == (6, None)
        with pytest.raises(InvalidInput, match="not a page token"):
            store.page(workgroup="primary", limit=2, token="x; DROP TABLE statements")

    def test_many_are_answered_in_the_order_asked(self, store: StatementStore) -> None:
        for name in "abc":
            store.add(statement(name))
        assert [item.id for item in store.get_many([StatementId(name) for name in "cxab"])] == ["c", "a", "b"]

    def test_heartbeats_reach_the_owners_unfinished_statements_alone(self, store: StatementStore) -> None:
        mine, other, finished = (
            store.add(statement("mine")),
            store.add(statement("other", owner="host:2:y")),
            store.add(statement("done")),
        )
        store.finish(finished.id, StatementState.SUCCEEDED, at=NOW)
        store.beat("host:1:x", at=LATER)
        assert {item.id: item.heartbeat for item in store.unfinished()} == {mine.id: LATER, other.id: NOW}
        stored = store.get(finished.id)
        assert stored is not None
        assert stored.heartbeat == NOW

    def test_a_statement_is_taken_as_its_taker_saw_it(self, store: StatementStore) -> None:
        made = store.add(statement())
        assert not store.take(made.id, "new", of="other", at=LATER)
        assert not store.take(made.id, "new", of=made.owner, heartbeat=LATER, at=LATER)
        assert store.take(made.id, made.owner, of=made.owner, at=LATER), "its own owner's sign of life"
        assert not store.take(made.id, "new", of=made.owner, heartbeat=NOW, at=LATER), "it was seen before that"
        assert store.take(made.id, "new", of=made.owner, heartbeat=LATER, at=LATER)
        assert not store.take(made.id, made.owner, of=made.owner, at=LATER)
        assert [(item.owner, item.heartbeat) for item in store.unfinished()] == [("new", LATER)]
        store.finish(made.id, StatementState.FAILED, at=LATER)
        assert not store.take(made.id, "new", of="new", at=LATER)

    def test_statements_that_are_done_are_found_by_age_and_forgotten(self, store: StatementStore) -> None:
        def done(name: str, at: datetime, **changes: object) -> None:
            store.add(statement(name, state=StatementState.SUCCEEDED, completed=at, **changes))

        done("late", LATER, managed=True)
        done("early", NOW, managed=True)
        done("other", NOW, workgroup="other")
        store.add(statement("running"))

        def ids(**which: Any) -> list[str]:
            return [item.id for item in store.finished(**{"limit": 9, **which})]

        assert sorted(ids()[:2]) == ["early", "other"]
        assert ids()[2:] == ["late"]
        assert len(ids(limit=1)) == 1
        assert ids(before=NOW) == []
        assert sorted(ids(before=LATER)) == ["early", "other"]
        assert ids(workgroup="other") == ["other"]
        assert ids(with_managed_result=True) == ["early", "late"]
        store.drop_results([StatementId("early")])
        assert ids(with_managed_result=True) == ["late"]
        store.forget([StatementId(item) for item in ("early", "running", "none")])
        assert sorted(ids()) == ["late", "other"]
        assert store.get(StatementId("running")) is not None
