"""The life of a statement: how it is started, stopped, limited and ended."""

import time
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event

import pytest

from penstock.query.errors import TooManyRequests
from penstock.query.execution.children import ChildPool
from penstock.query.service import QueryService, StatementRequest
from penstock.query.settings import QuerySettings
from penstock.sql.errors import InvalidRequest
from penstock.statements.model import StatementId, StatementState
from tests.unit.query.lake_of_flights import Ask, Lake, finished, service_over

ENDLESS = (
    "SELECT count(*) FROM UNNEST(sequence(1, 10000)) a(x), UNNEST(sequence(1, 10000)) b(y), "
    "UNNEST(sequence(1, 10000)) c(z) WHERE x * y * z = -1"
)


def test_a_token_makes_a_start_idempotent(service: QueryService) -> None:
    request = StatementRequest(sql="SELECT 1", token="t" * 32)
    first = service.start(request)
    assert service.start(request) == first
    with pytest.raises(InvalidRequest, match="Idempotent parameters do not match"):
        service.start(replace(request, sql="SELECT 2"))


def test_a_client_that_polls_at_once_gets_the_end_of_a_short_statement(service: QueryService) -> None:
    service.poll(service.start(StatementRequest(sql="SELECT 1")))  # its process starts
    short, long = (service.start(StatementRequest(sql=sql)) for sql in ("SELECT 1", ENDLESS))
    while (statement := service.poll(short)).state in {"QUEUED", "RUNNING"}:
        assert statement.submitted == service.get(short).submitted
    assert statement.state == "SUCCEEDED"
    while service.poll(long).state == "QUEUED":
        pass
    assert service.poll(long).state == "RUNNING"
    service.stop(long)
    assert finished(service, long).state == "CANCELLED"
    assert service.poll(long).state == "CANCELLED"


def test_a_statement_is_stopped_while_it_runs(service: QueryService) -> None:
    statement_id = service.start(StatementRequest(sql=ENDLESS))
    deadline = time.monotonic() + 30
    while service.get(statement_id).state != "RUNNING":
        assert time.monotonic() < deadline
    service.stop(statement_id)
    statement = finished(service, statement_id)
    assert (statement.state, statement.reason) == ("CANCELLED", "Query canceled by user")
    service.stop(statement_id)
    assert service.get(statement_id) == statement


def test_a_stop_requested_in_another_process_is_found_in_the_store(
    lake: Lake, settings: QuerySettings, service: QueryService, children: ChildPool
) -> None:
    statement_id = service.start(StatementRequest(sql=ENDLESS))
    deadline = time.monotonic() + 30
    while service.get(statement_id).state != "RUNNING":
        assert time.monotonic() < deadline
    other = service_over(lake, settings, children, store=service._store)
    other.stop(statement_id)
    assert finished(other, statement_id).state == "CANCELLED"
    other.close()


def test_limits_of_time_memory_result_queue_and_files(lake: Lake, settings: QuerySettings, children: ChildPool) -> None:
    def service(**limits: object) -> QueryService:
        return service_over(lake, replace(settings, **limits), children)  # type: ignore[arg-type]

    def failure(made: QueryService, sql: str) -> str:
        statement = finished(made, made.start(StatementRequest(sql=sql, database="flights_db")))
        made.close()
        assert statement.state == "FAILED", statement
        return str(statement.reason)

    assert failure(service(timeout_seconds=0.2), ENDLESS).startswith("EXCEEDED_TIME_LIMIT")
    hungry = (
        "SELECT cardinality(array_agg(concat(CAST(x * y AS varchar), rpad('x', 500, 'y')))) "
        "FROM UNNEST(sequence(1, 1000)) t(x) CROSS JOIN UNNEST(sequence(1, 500)) u(y)"
    )
    assert failure(service(memory_bytes=40 << 20, spill_bytes=1 << 20), hungry).startswith("EXCEEDED_")
    assert failure(service(result_bytes=1000), "SELECT * FROM flights").startswith("EXCEEDED_RESULT_LIMIT")
    assert failure(service(max_files=5), "SELECT * FROM flights").startswith("EXCEEDED_RESULT_LIMIT")
    full = service(workers=1, queue=1)
    ids = [full.start(StatementRequest(sql=ENDLESS)) for _ in range(2)]
    with pytest.raises(TooManyRequests):
        full.start(StatementRequest(sql="SELECT 1"))
    full.stop(ids[1])
    assert full.get(ids[1]).state == "CANCELLED"
    full.close()
    assert full.get(ids[0]).state == "FAILED"


def test_a_catalog_that_breaks_fails_the_statement_and_not_the_service(
    service: QueryService, lake: Lake, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = Event()

    def broken(*_: object) -> object:
        called.set()
        raise RuntimeError("a defect")

    monkeypatch.setattr(lake.catalog, "table", broken)
    statement = ask("SELECT 1 FROM flights")
    assert called.is_set()
    assert statement.reason == "GENERIC_INTERNAL_ERROR: The engine failed: RuntimeError."
    assert ask("SELECT 1").state == "SUCCEEDED"


def test_a_statement_of_another_machine_is_lost_after_its_silence_whatever_the_clocks_say(
    service: QueryService, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 0.0
    monkeypatch.setattr(service._ownership, "_monotonic", lambda: seconds)
    elsewhere = {"owner": "elsewhere/0123456789abcdef:1:x", "heartbeat": datetime(2026, 11, 20, tzinfo=UTC)}
    done = ask("SELECT 1")
    service._store.add(
        replace(done, id=StatementId("slow"), token=None, state=StatementState.RUNNING, completed=None, **elsewhere)  # type: ignore[arg-type]
    )
    assert service.recover() == 0
    seconds = 9.0
    assert service.get("slow").state == "RUNNING"
    service._store.beat("elsewhere/0123456789abcdef:1:x", at=datetime(2026, 11, 21, tzinfo=UTC))
    seconds = 18.0
    assert service.recover() == 0
    seconds = 29.0
    assert service.get("slow").state == "FAILED"


def test_lost_statements_are_failed_once(service: QueryService, ask: Ask) -> None:
    done = ask("SELECT 1")
    lost = replace(
        done,
        id=StatementId("lost"),
        token=None,
        state=StatementState.RUNNING,
        owner=f"{service._ownership.name.split(':')[0]}:999999999:x",
        completed=None,
    )
    service._store.add(lost)
    assert service.recover() == 1
    assert service.recover() == 0
    statement = service.get("lost")
    assert statement.state == "FAILED"
    assert statement.failure is not None
    assert statement.failure.retryable
