"""The process of a session is no run of a job, whatever the job is called."""

from datetime import UTC, datetime

import pytest

from penstock.errors import AccessDenied, InvalidInput, NotFound
from penstock.jobs.definitions import JobService
from penstock.jobs.model import RUNS
from penstock.jobs.runs import RunRequest, RunService
from penstock.jobs.sessions import SESSIONS, SessionService, session_run
from penstock.store.sql.jobs import SqlJobStore
from penstock.testing.sqlite import new_database

NOW = datetime(2026, 11, 22, tzinfo=UTC)
SETTINGS = {"Role": "r", "Command": {"Name": "pythonshell", "ScriptLocation": "s3://lake/a.py"}}


def test_a_job_with_a_sessions_name_has_no_way_to_the_session() -> None:
    store = SqlJobStore(new_database())
    sessions = SessionService(store, now=lambda: NOW)
    jobs, runs = JobService(store, now=lambda: NOW), RunService(store, now=lambda: NOW)
    sessions.create("s", {"Role": "admin", "Command": {"Name": "glueetl"}}, {})
    jobs.create("session s", SETTINGS, {})
    jobs.create("s", SETTINGS, {})
    with pytest.raises(NotFound):
        runs.get("session s", session_run("s"))
    with pytest.raises(NotFound):
        runs.stop("session s", session_run("s"))
    assert list(runs.page("session s", limit=10).items) == []
    sessions.take(store.active(RUNS)[0])
    assert store.get(SESSIONS, "s").ready  # type: ignore[union-attr]
    sessions.submit("s", "secret()")
    for name in ("session s", "s"):
        stranger = runs.start(name, RunRequest())
        with pytest.raises(AccessDenied):
            sessions.take(stranger)
        with pytest.raises(AccessDenied):
            sessions.answer(stranger, 1, {}, cancelled=False)
        runs.stop(name, stranger.id)
        jobs.delete(name)
    assert sessions.status(sessions.get("s")) == "READY"


def test_an_update_says_the_role_that_it_passes() -> None:
    jobs = JobService(SqlJobStore(new_database()), now=lambda: NOW)
    jobs.create("j", SETTINGS, {})
    for member in SETTINGS:
        with pytest.raises(InvalidInput, match=f"{member} is missing"):
            jobs.update("j", {name: value for name, value in SETTINGS.items() if name != member})
    jobs.update("j", {**SETTINGS, "Description": "new"})
    assert jobs.get("j").settings["Description"] == "new"
