"""A machine with a runner of jobs, for tests: ``python machine.py STORE HOME NUMBER``.

Its host name is that of every other one, and its process ids mean nothing on them. Beside HOME are ``script.py``, which its
runs read, and ``begun``, which they write. It runs until its standard input ends.
"""

import os
import select
import socket
import sys
from pathlib import Path

from penstock import owners
from penstock.runs.folders import machine_of
from penstock.runs.isolation import Isolation
from penstock.runs.plans import RunSettings
from penstock.runs.runner import JobRunner
from penstock.store.sql.database import Database
from penstock.store.sql.jobs import SqlJobStore


def main(url: str, home: str, number: str) -> None:
    socket.gethostname = lambda: "worker"
    # A process id that no process has on the other machine.
    os.getpid = lambda: (1 << 22) + 1 + int(number)
    owners._BOOT = Path(home, "boot")
    settings = RunSettings(
        folder=Path(home, "jobs/111122223333"),
        endpoint_url="http://127.0.0.1:1",
        account="111122223333",
        region="eu-west-1",
        lake=Path(home),
        at_once=3,
    )
    host = machine_of(Path(home, "jobs"))
    owners._BOOT.write_text(f"boot {number}")
    database = Database(url)
    beside = Path(home).parent
    isolation = Isolation(account="111122223333", readable=(beside / "script.py",), writable=(beside / "begun",))
    runner = JobRunner(SqlJobStore(database), settings, host=host, check=lambda _run: None, isolation=isolation)
    runner.begin()
    while not select.select([sys.stdin], [], [], 1.0)[0]:
        runner.wake()
    runner.close()
    database.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
