"""An account's services start with its first request or its first work, and its work is done from then on."""

from typing import Any

from penstock.errors import EnvironmentProblem
from penstock.server.tenants import ServedTenants


class Fake:
    """A tenant that records what is done for it."""

    operations = ()

    def __init__(self, account: str) -> None:
        self.account = account
        self.done: list[str] = []

    def recover(self) -> None:
        self.done.append("recover")
        if self.account == "full":
            raise EnvironmentProblem("The store is full.")

    def begin(self) -> None:
        self.done.append("begin")

    def wake(self) -> None:
        self.done.append("wake")

    def close(self) -> None:
        self.done.append("close")


def started(account: str) -> Any:
    if account == "broken":
        raise EnvironmentProblem("Its lake is gone.")
    return Fake(account)


def test_work_is_begun_for_accounts_that_run_and_for_those_that_come_later(caplog: Any) -> None:
    first: Any = Fake("first")
    tenants = ServedTenants(lambda account: account != "none")
    tenants.open(first, started)
    early: Any = tenants.get("early")
    assert early.done == []
    tenants.begin()
    for account in ("first", "early"):
        running: Any = tenants.running(account)
        assert running.done == ["recover", "begin"], account
    assert tenants.running("other") is None
    late: Any = tenants.get("late")
    assert late.done == ["recover", "begin"]
    tenants.attend(["first", "broken", "full", "other", "none"])
    assert first.done[2:] == ["recover", "wake"]
    other: Any = tenants.running("other")
    assert other.done == ["recover", "begin", "recover", "wake"]
    assert late.done == ["recover", "begin"]
    complaints = [record.getMessage() for record in caplog.records]
    assert complaints == [f"the work of account {name} could not be done" for name in ("broken", "full", "full")]
    tenants.close()
    assert late.done[2:] == ["close"]
    assert tenants.get("after") is None
