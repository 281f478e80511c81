"""What a run's process is given, and what other users of the machine see of it."""

import json
import socket
import sys
from dataclasses import replace

import pytest

from penstock.jobs.model import JOBS, RUNS
from penstock.jobs.runs import RunRequest
from penstock.runs.folders import RunFolder
from penstock.runs.plans import clean_environment
from tests.unit.runs.conftest import World, printed

LOGIN = "user:hush" + "@"


def test_a_script_sees_no_variable_of_the_server_that_may_be_a_secret(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "DATABASE_URL", "SPARK_X"):
        monkeypatch.setenv(name, "hush")
    monkeypatch.setenv("HTTPS_PROXY", f"http://{LOGIN}proxy:8080")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:8080")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    (world.folder / "script.py").write_text("import json, os\nprint(json.dumps(dict(os.environ)))\n")
    here = world.runner("here")
    run = world.until(here, world.runs.start("j", RunRequest()).id, "SUCCEEDED")
    (line,) = printed(here, run.id)
    document = json.loads(line)
    assert "hush" not in line
    assert (document["TZ"], document["HTTP_PROXY"], "HTTPS_PROXY" in document) == (
        "Europe/Berlin",
        "http://proxy:8080",
        False,
    )
    assert document["PATH"]
    own = {name for name in document if name.startswith(("AWS_", "PENSTOCK_"))} - {"AWS_CA_BUNDLE", "PENSTOCK_CACHE"}
    assert own == {
        *("AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_EC2_METADATA_DISABLED"),
        *("AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN"),
        *("PENSTOCK_BUCKET", "PENSTOCK_LAKE", "PENSTOCK_RUN_LAKE", "PENSTOCK_RUN_URL", "PENSTOCK_RUN_TOKEN"),
    }


def test_the_operator_names_further_variables(world: World) -> None:
    settings = world.settings("here", environment=("ORACLE_HOME", "HTTPS_PROXY"))
    inherited = {"ORACLE_HOME": "/opt", "PGPASSWORD": "hush", "HTTPS_PROXY": f"http://{LOGIN}proxy"}
    results = clean_environment(settings, inherited, token="t")
    assert results.items() >= {"ORACLE_HOME": "/opt", "HTTPS_PROXY": f"http://{LOGIN}proxy"}.items()
    assert "PGPASSWORD" not in results


PROCESSES = """
import sys
from pathlib import Path
print(sys.argv[1:], __name__, Path(sys.argv[0]).name)
lines = []
for each in Path("/proc").glob("[0-9]*/cmdline"):
    try:
        lines.append(each.read_bytes())
    except OSError:
        continue
print(any(sys.argv[2].encode() in each for each in lines), any(b"penstock.runs.supervisor" in each for each in lines))
raise ValueError(sys.argv[2][:4])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_arguments_of_a_run_are_in_no_list_of_processes(world: World) -> None:
    (world.folder / "script.py").write_text(PROCESSES)
    here = world.runner("here")
    secret = "hush-5f2d"
    run = world.until(here, world.runs.start("j", RunRequest(arguments={"--password": secret, "--flag": ""})).id, "FAILED")
    assert printed(here, run.id) == [f"['--password', '{secret}', '--flag'] __main__ script.py", "False True"]
    kept = here.folder(run.id)
    assert [oct(file.stat().st_mode & 0o777) for file in (kept.command, kept.root / "run.json")] == ["0o600"] * 2
    # The script's own traceback, as if Python had been called with it.
    script = kept.work / "script.py"
    lines = printed(here, run.id, "error")
    assert lines[:2] == ["Traceback (most recent call last):", f'  File "{script}", line 12, in <module>']
    job_run = world.store.get(RUNS, run.id)
    assert job_run is not None
    assert job_run.error == "Error Category: UNCLASSIFIED_ERROR; Failed Line Number: 12; ValueError: hush (script.py)"


def test_a_run_is_stopped_and_timed_out_while_its_script_is_fetched(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "hush")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    command = {"Name": "pythonshell", "ScriptLocation": "s3://lake/a.py"}
    several = {"Role": "r", "Command": command, "ExecutionProperty": {"MaxConcurrentRuns": 2}}
    world.store.change(JOBS, "j", lambda found: replace(found, settings=several))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
        here = world.runner("here", s3_endpoint_url=endpoint, environment=keys)
        stopped = world.runs.start("j", RunRequest())
        world.until(here, stopped.id, "RUNNING")
        waiting, _ = silent.accept()
        world.runs.stop("j", stopped.id)
        world.until(here, stopped.id, "STOPPED")
        prepare = RunFolder.prepare
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RunFolder, "prepare", lambda folder, plan: prepare(folder, {**plan, "seconds": 0.5}))
            late = world.runs.start("j", RunRequest(settings={"Timeout": 1}))
            here.tick()
        found = world.until(here, late.id, "TIMEOUT")
        waiting.close()
    assert found.error == "The run took longer than its Timeout of 1 minutes."
    assert not here.folder(stopped.id).supervised
