"""How a job's settings become Spark's, on a cluster and on this machine."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from penstock.jobs.model import JobRun
from penstock.jobs.sessions import session_run
from penstock.runs.folders import RunFolder
from penstock.runs.plans import RunSettings, plan

_NOW = datetime(2026, 11, 22, tzinfo=UTC)
_HERE = RunSettings(folder=Path("/runs"), endpoint_url="http://h", account="1", region="r", lake=Path("/lake"))
_FILES = {"--extra-py-files": "s3://lake/a.py,s3://lake/b-1.whl", "--extra-jars": "s3://lake/c.jar"}


def _run(**settings: object) -> JobRun:
    command = {"Name": "glueetl", "ScriptLocation": "s3://lake/j.py"}
    return JobRun(
        id="jr", job="j", settings={"Command": command, "DefaultArguments": _FILES, **settings}, started=_NOW, modified=_NOW
    )


def _options(run: JobRun, settings: RunSettings) -> tuple[dict[str, str], list[str]]:
    results = plan(run, settings, folder=RunFolder(Path("/runs/jr")))
    arguments = results["command"]["arguments"]
    pairs = list(zip(arguments[2::2], arguments[3::2], strict=False))
    conf = dict(value.split("=", 1) for name, value in pairs if name == "--conf")
    return {**conf, **{name: value for name, value in pairs if name != "--conf"}}, [
        input_["to"] for input_ in results["inputs"]
    ]


def test_executors_of_a_cluster_are_workers_and_get_modules_and_jars() -> None:
    options, inputs = _options(_run(WorkerType="G.2X", NumberOfWorkers=5), replace(_HERE, master="spark://m:7077"))
    assert (options["--master"], options["spark.executor.instances"]) == ("spark://m:7077", "4")
    assert (options["spark.executor.cores"], options["spark.executor.memory"]) == ("8", "20g")
    # A wheel's modules are found in a .zip.
    assert options["spark.submit.pyFiles"] == "/runs/jr/work/a.py,/runs/jr/work/b-1.whl.zip"
    assert options["spark.jars"] == "/runs/jr/work/c.jar"
    assert inputs == ["j.py", "a.py", "b-1.whl", "c.jar", "b-1.whl.zip"]


def test_the_driver_s_heap_is_a_share_of_this_machine() -> None:
    for master in ("local[*]", "spark://m:7077"):
        options, _ = _options(_run(WorkerType="G.8X", NumberOfWorkers=5), replace(_HERE, master=master, at_once=10_000))
        assert options["--driver-memory"] == "1g"


def test_one_spark_needs_no_files_for_executors() -> None:
    options, inputs = _options(_run(), _HERE)
    assert "spark.submit.pyFiles" not in options
    assert inputs == ["j.py", "a.py", "b-1.whl", "c.jar"]


def test_a_session_is_run_by_its_own_command_and_not_by_a_file() -> None:
    settings = {"Command": {"Name": "glueetl"}, "DefaultArguments": {"--conf": "spark.a=b"}}
    run = JobRun(id=session_run("notebook"), job="session notebook", settings=settings, started=_NOW, modified=_NOW)
    made = plan(run, _HERE, folder=RunFolder(Path("/runs/jr")))
    assert made["command"]["module"] == "penstock"
    program, arguments = made["command"]["arguments"][:2], made["command"]["arguments"]
    assert program == ["glue", "session"]
    # Everything behind the dashes is the session's: its --conf is an argument of Glue's, and an option before them.
    assert arguments[arguments.index("--") + 1 :][:2] == ["--JOB_NAME", "session notebook"]
    assert arguments[arguments.index("--") + 1 :].count("--conf") == 1
    assert (made["inputs"], made["script"]) == ([], None)


def test_a_job_with_a_session_s_name_is_run_by_its_script() -> None:
    made = plan(replace(_run(), job="session notebook"), _HERE, folder=RunFolder(Path("/runs/jr")))
    assert made["command"]["arguments"][:2] == ["glue", "run"]
