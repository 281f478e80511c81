"""Every account's work is done from the server's start on, or from the account's first request on."""

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

    def close(self) -> None:
        self.done.append("close")


def started(account: str) -> Any:
    if account == "broken":
        raise EnvironmentProblem("Its lake is gone.")
    return Fake(account)


def test_work_is_begun_for_all_accounts_and_for_those_that_come_later(caplog: Any) -> None:
    first: Any = Fake("first")
    tenants = ServedTenants(lambda account: account != "none")
    tenants.open(first, started)
    early: Any = tenants.get("early")
    assert early.done == []
    tenants.begin(["first", "broken", "full", "other", "none"])
    late: Any = tenants.get("late")
    for account in ("first", "early", "full", "other", "late"):
        running: Any = tenants.running(account)
        assert running.done == ["recover", "begin"], account
    complaints = [record.getMessage() for record in caplog.records]
    assert complaints == [f"the work of account {name} could not be begun" for name in ("broken", "full")]
    tenants.close()
    assert late.done[2:] == ["close"]
    assert tenants.get("after") is None
