"""A server with many accounts against one with a single account: time to the first answer, and the processor while idle.

PENSTOCK_BENCH_ACCOUNTS sets the number of accounts (default: 100). Each one has a store, in which is nothing to do.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.sizes import size
from benchmarks.timing import Row
from penstock.store.sql.database import Database
from penstock.store.sql.tenancy import account_ids, beside
from penstock.testing.server import RunningServer, start_server
from penstock.testing.sqlite import new_database

__all__ = ["run"]

ACCOUNTS = size("ACCOUNTS", 100, 3)

_SETTLE_SECONDS = size(None, 15.0, 0.1)
_IDLE_SECONDS = size(None, 30.0, 0.1)
_START_AIM, _IDLE_AIM = 2.0, 1.0


def run() -> list[Row]:
    """Return two rows: seconds from the start to the first answer, percent of a core while nobody asks."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        one, many = Path(folder, "one"), Path(folder, "many")
        for home, further in ((one, 0), (many, ACCOUNTS - 1)):
            _make(home, further)
        return list(_rows(_measure(many), _measure(one)))


def _start(home: Path) -> RunningServer:
    return start_server(home, access_key_id="AKIAMANYACCOUNTS0", secret_access_key="one-secret-for-each-start")


def _make(home: Path, further: int) -> None:
    server = _start(home)
    try:
        organization = server.client("organizations")
        for number in range(further):
            organization.create_account(AccountName=f"a{number}", Email=f"a{number}@example.com")
    finally:
        server.stop()
    store = home / "store" / "penstock.db"
    database = Database(f"sqlite:///{store}")
    for account in account_ids(database):
        if account != server.account:
            new_database(beside(store, account)).close()
    database.close()


def _measure(home: Path) -> tuple[float, float]:
    began = time.monotonic()
    server = _start(home)
    try:
        server.client("glue").list_registries()
        ready = time.monotonic() - began
        time.sleep(_SETTLE_SECONDS)
        return ready, _idle(server)
    finally:
        server.stop()


def _idle(server: RunningServer) -> float:
    process = psutil.Process(server.process.pid)
    before = sum(process.cpu_times()[:2])
    time.sleep(_IDLE_SECONDS)
    return float((sum(process.cpu_times()[:2]) - before) / _IDLE_SECONDS * 100)


def _rows(many: tuple[float, float], one: tuple[float, float]) -> Iterator[Row]:
    yield Row(
        f"first answer of a server with {ACCOUNTS} accounts, against one account",
        f"{many[0]:.2f} s", f"{one[0]:.2f} s", many[0] / one[0], f"{_START_AIM:g} s or less", many[0] <= _START_AIM,
    )  # fmt: skip
    yield Row(
        f"processor of an idle server with {ACCOUNTS} accounts, against one account",
        f"{many[1]:.2f} %", f"{one[1]:.2f} %", many[1] / max(one[1], 0.01), f"{_IDLE_AIM:g} % or less", many[1] <= _IDLE_AIM,
    )  # fmt: skip
