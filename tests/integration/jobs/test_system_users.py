"""Where the server is root, and another user can start its Python, the runs of an account have a user of its own."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.sandbox.users import can_change_user, nobody

ACCOUNT = "999900001111"
# A server's runner, without a server: it runs one job, and prints what the job printed.
PROGRAM = """
import json, sys, time
from datetime import UTC, datetime
from pathlib import Path
from penstock.jobs.model import JOBS, RUNS, Job
from penstock.jobs.runs import RunRequest, RunService
from penstock.runs.isolation import Isolation
from penstock.runs.plans import RunSettings
from penstock.runs.runner import JobRunner
from penstock.store.sql.jobs import SqlJobStore
from penstock.testing.sqlite import new_database

account, home, scratch, sandbox = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4] == "sandbox"
store, now = SqlJobStore(new_database()), datetime.now(UTC)
settings = {"Role": "r", "Command": {"Name": "pythonshell", "ScriptLocation": str(scratch / "script.py")}}
store.add(JOBS, Job(name="j", settings=settings, created=now, modified=now))
isolation = Isolation(account=account, readable=(scratch,), own_users=True, scratch=scratch, sandbox=sandbox)
how = RunSettings(folder=home / "jobs", endpoint_url="http://127.0.0.1:1", account=account, region="r")
runner = JobRunner(store, how, host="h", check=lambda run: None, isolation=isolation)
run = RunService(store).start("j", RunRequest())
while not (found := store.get(RUNS, run.id)).ended:
    runner.tick()
    time.sleep(0.1)
print(found.state, found.error, isolation.system_user(), file=sys.stderr)
for file in sorted((runner.folder(run.id).root / "output").glob("*.jsonl")):
    print(*[json.loads(line)[1] for line in file.read_text().splitlines()], sep="\\n")
runner.close()
"""
SCRIPT = """
import getpass, json, os, shutil
def attempt(what):
    try:
        what()
        return "done"
    except OSError as error:
        return type(error).__name__
home = HOME
found = {"user": getpass.getuser(), "uid": os.getuid() != 0, "write": attempt(lambda: open("x", "w").close())}
found["copy"] = attempt(lambda: shutil.copy2("x", "y"))
found["root again"] = attempt(lambda: os.setuid(0))
found["key"] = attempt(lambda: open(home + "/master.key"))
found["shadow"] = attempt(lambda: open("/etc/shadow"))
found["server"] = attempt(lambda: os.kill(PARENT, 0))
found["environment"] = attempt(lambda: open(f"/proc/PARENT/environ"))
print(json.dumps(found))
"""


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder that every user can enter."""
    made = Path(tempfile.mkdtemp(prefix="penstock-tests-", dir="/var/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)
    if can_change_user():
        subprocess.run(["/usr/sbin/userdel", f"penstock-{ACCOUNT}"], capture_output=True, check=False)


def python_for_all(folder: Path) -> Path | None:
    """Return a Python with Penstock's modules that every user can start: the machine's own, if it is of this version."""
    for candidate in (Path("/usr/bin/python3"), Path(sys.executable)):
        if not candidate.exists():
            continue
        subprocess.run(
            [str(candidate), "-m", "venv", "--without-pip", str(folder / "venv")], check=True, capture_output=True
        )
        python = folder / "venv" / "bin" / "python"
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        packages = folder / "venv" / "lib" / version / "site-packages"
        if packages.is_dir():
            packages.joinpath("all.pth").write_text("\n".join(name for name in sys.path if Path(name).is_dir()))
            program = [str(python), "-P", "-c", "import penstock, orjson"]
            user = nobody()
            done = subprocess.run(program, cwd="/", user=user.uid, group=user.gid, extra_groups=[], check=False)
            if done.returncode == 0:
                return python
        shutil.rmtree(folder / "venv")
    return None


@pytest.mark.skipif(sys.platform != "linux", reason="Linux confines processes")
@pytest.mark.parametrize("sandbox", ["sandbox", "user alone"])
def test_runs_of_an_account_are_a_user_of_its_own(scratch: Path, tmp_path: Path, sandbox: str) -> None:
    python = python_for_all(scratch) if can_change_user() else None
    program = str(python or sys.executable)
    (tmp_path / "master.key").write_text("secret")
    (tmp_path / "master.key").chmod(0o600)
    script = SCRIPT.replace("HOME", repr(str(tmp_path)), 1).replace("PARENT", str(os.getpid()))
    (scratch / "script.py").write_text(script)
    (scratch / "script.py").chmod(0o644)
    given = [ACCOUNT, str(tmp_path), str(scratch), sandbox]
    done = subprocess.run([program, "-P", "-c", PROGRAM, *given], capture_output=True, text=True, check=True, cwd="/")
    if python is None:
        # Then the sandbox stands alone; without that the run is refused.
        assert "None" in done.stderr
        assert ("FAILED The run is refused" in done.stderr) is (sandbox != "sandbox")
        return
    document = json.loads(done.stdout)
    assert document.pop("user") == f"penstock-{ACCOUNT}", done.stderr
    assert document.pop("uid")
    assert [document.pop(name) for name in ("write", "copy")] == ["done", "done"]
    assert {*document.values()} == {"PermissionError"}, document
