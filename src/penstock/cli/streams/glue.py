"""``penstock glue``: checks and runs scripts written for AWS Glue on this machine."""

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import click

from penstock.cli.options import FILE, home_option
from penstock.cli.platform.fetch import fetch_shown, spark_archive
from penstock.cli.streams.spark_options import session_options, spark_setting, spark_settings
from penstock.errors import InvalidInput
from penstock.glue.check.script import check_script, refuse_sure
from penstock.glue.context.streaming import ONCE
from penstock.glue.datalake import datalake_configuration, datalake_formats, datalake_groups, is_lock
from penstock.glue.jobs.bookmark_store import FOLDER, FileBookmarks
from penstock.glue.jobs.reserved import reserved_arguments, values_of
from penstock.glue.launch import launcher
from penstock.glue.launch.authorities import write_truststore
from penstock.glue.launch.catalog_service import METASTORE, wants_catalog
from penstock.glue.launch.executors import write_library
from penstock.glue.launch.launcher import SCRATCH
from penstock.glue.launch.monitoring import EVENTS, event_log, notes
from penstock.interpreter import SAFE_PATH, with_hidden_arguments
from penstock.jobs.modules import INSTALLER_OPTION, MODULES, check_installer_option, parse_modules
from penstock.local.artefacts import cache_folder, class_path
from penstock.local.java import find_java
from penstock.runs.environments import DEFAULT_INDEX, Environments, Reach
from penstock.runs.inputs import LAKE, fetch
from penstock.sandbox.confinement import is_possible
from penstock.settings.home import Home
from penstock.spark.catalog_session import catalog_configuration
from penstock.spark.session import SessionSettings, is_local, s3a_configuration, submit_arguments

__all__ = ["command"]

# Defaults of Glue's Spark (3.5 at the latest) that Spark 4 has changed.
_AS_GLUE = {"spark.sql.ansi.enabled": "false"}
_SUPERVISED = "PENSTOCK_RUN_TOKEN"
# Spark's other way to write checkpoints asks Hadoop for a second class by scheme: that of s3a:// is of its S3 connector, and
# other schemes of a lake's folder have none, for which Spark takes this way by itself.
_FOLDER_CHECKPOINTS = {
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileSystemBasedCheckpointFileManager"
}
_TAKEN_FROM_HOME_WITHOUT = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_PROFILE")


@click.group("glue")
def command() -> None:
    """Run scripts written for AWS Glue."""


@command.command("check")
@click.argument("script", metavar="SCRIPT.py", type=FILE)
@click.option("--extra-py-files", default="", metavar="FILE[,FILE]", help="Further files of Python, as of the job.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def check_command(script: Path, extra_py_files: str, as_json: bool) -> None:
    """Say what SCRIPT.py uses of AWS Glue's library: what is refused, what differs, what is served.

    A notebook (.ipynb) is checked by its cells. Nothing of it is run. The exit status is 1 if anything is refused that a run
    may reach.
    """
    report = check_script(script, extra_files=[part for part in extra_py_files.split(",") if part])
    click.echo(json.dumps(report.document(), indent=2) if as_json else report.text())
    if report.failing:
        sys.exit(1)


@command.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("script", metavar="SCRIPT.py", type=FILE)
@click.argument("arguments", metavar="[--NAME VALUE]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--unchecked", is_flag=True, help="Start the script even if the check finds that it cannot succeed.")
@click.option("--once", is_flag=True, help="Process the records that each stream's source has now, then end the stream.")
@session_options
def run_command(  # noqa: PLR0917 - click passes them by name
    script: Path,
    arguments: tuple[str, ...],
    master: str,
    unchecked: bool,
    once: bool,
    lake: Path | None,
    log: Path | None,
    driver_memory: str,
    configuration: tuple[str, ...],
    home: Path | None,
) -> None:
    """Run SCRIPT.py as AWS Glue does, with the job's arguments after it. JOB_NAME defaults to the script's name.

    The script makes its own SparkContext. SIGTERM and SIGINT stop streams cleanly, after the current batch.
    """
    if not script.is_file():
        raise InvalidInput(f"The script {script} does not exist.")
    formats = datalake_formats(arguments)
    where = Home.at(home, os.environ)
    environment, lake = _platform(where, lake)
    modules = _modules(arguments, lake, master)
    # At the end, as what the check itself imports comes first.
    sys.path += modules
    if not unchecked:
        _check(script, arguments)
    reserved = reserved_arguments(arguments, lake=lake, supervised=_SUPERVISED in os.environ)
    java_home = find_java(os.environ).home
    start = _start(script, arguments, formats, environment, lake)
    own = [f"{key}={value}" for key, value in reserved.settings.items()]
    if reserved.modules and not is_local(master):
        own.append(f"spark.submit.pyFiles={','.join(map(str, reserved.modules))}")
    settings = SessionSettings(
        master=master,
        jars=[*class_path("spark"), *(class_path("s3a") if lake is None else ())],
        more_jars=[
            *(jar for group in _groups(start) for jar in class_path(group)),
            *reserved.jars,
        ],
        log=(log or where.logs / f"glue-{script.stem}.log").absolute(),
        lake=lake,
        driver_memory=driver_memory,
        # The archive does not fit with S3A's jars, nor with a cluster's, and the JVM would say so among the script's output.
        archive=spark_archive(java_home) if lake is not None and is_local(master) else None,
        extra=_spark_settings(start, [*own, *(f"{key}={value}" for key, value in spark_settings(configuration).items())]),
    )
    environment |= _process_environment(start, settings, java_home=java_home, home=where, once=once)
    environment["PYTHONPATH"] = os.pathsep.join([environment["PYTHONPATH"], *map(str, reserved.python), *modules])
    for other in ("SPARK_HOME", "SPARK_CONF_DIR"):
        environment.pop(other, None)
    # Replace this process, so that the script gets the signals and gives the exit status.
    os.execve(  # noqa: S606
        sys.executable,
        with_hidden_arguments(
            Path(environment[SCRATCH], "arguments.json"),
            [str(script), *_job_arguments(start), *arguments],
            module=launcher.__name__,
        ),
        environment,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """A script that is about to run.

    ``text`` is the script's, ``formats`` are those of ``--datalake-formats``; ``environment`` is that of its process,
    ``lake`` the folder of the buckets or None. ``bucket`` is that of temporary files and of Iceberg's warehouse; with
    ``catalog``, Spark's SQL finds tables of the catalog by their names.
    """

    script: Path
    text: str
    arguments: Sequence[str]
    formats: Sequence[str]
    environment: Mapping[str, str]
    lake: Path | None
    bucket: str | None
    catalog: bool


def _groups(start: _Start) -> Sequence[str]:
    """Return the groups of JVM artefacts beside Spark's own; AWS's image has its login for MSK, which scripts name."""
    by_iam = "IAMLoginModule" in start.text or "AWS_MSK_IAM" in start.text
    return ("postgresql", *datalake_groups(start.formats), *(("msk-iam",) if by_iam else ()))


def _start(
    script: Path, arguments: Sequence[str], formats: Sequence[str], environment: Mapping[str, str], lake: Path | None
) -> _Start:
    text = script.read_text(errors="replace")
    return _Start(
        script=script,
        text=text,
        arguments=arguments,
        formats=formats,
        environment=environment,
        lake=lake,
        bucket=_bucket(environment, lake),
        catalog=wants_catalog(arguments, environment),
    )


def _spark_settings(start: _Start, configuration: Sequence[str]) -> dict[str, str]:
    """Return Spark's settings beside the session's own; ``configuration`` are those of ``--conf``, which win."""
    lake = start.lake
    return {
        **_AS_GLUE,
        **datalake_configuration(
            start.formats,
            "\n".join([start.text, *configuration]),
            arguments=start.arguments,
            environment=start.environment,
            bucket=start.bucket,
            folder_lake=lake is not None,
        ),
        **(s3a_configuration(start.environment) if lake is None else _FOLDER_CHECKPOINTS),
        **(_catalog(start.environment, lake, start.bucket) if start.catalog else {}),
        **{name: value for name, value in map(spark_setting, configuration) if not is_lock(name, value)},
    }


def _process_environment(
    start: _Start, settings: SessionSettings, *, java_home: Path, home: Home, once: bool
) -> dict[str, str]:
    """Return the variables that the launcher and Spark's processes need, beside those that are there."""
    environment, script = start.environment, start.script
    scratch = Path(tempfile.mkdtemp(prefix="penstock-glue-"))
    settings = replace(settings, truststore=write_truststore(scratch / "authorities.p12", environment))
    log = event_log(start.arguments)
    if log is not None:
        (scratch / "events").mkdir()
        settings = replace(settings, extra={**log.settings(scratch / "events"), **settings.extra})
    python = sys.executable
    if not is_local(settings.master):
        settings = replace(settings, library=write_library(scratch / "library.zip"))
        python = "python3"  # the executors' own
    return {
        "JAVA_HOME": str(java_home),
        "PYSPARK_SUBMIT_ARGS": submit_arguments(settings, name=script.stem, locations=_buckets(start.lake), folder=scratch),
        "PYSPARK_PYTHON": settings.extra.get("spark.pyspark.python") or environment.get("PYSPARK_PYTHON", python),
        # Spark's Python workers import what the script imports: modules beside it, not those of the working directory.
        "PYTHONPATH": os.pathsep.join([*launcher.modules_beside(script), *filter(None, [environment.get("PYTHONPATH")])]),
        **SAFE_PATH,
        SCRATCH: str(scratch),
        EVENTS: log.target if log is not None else "",
        FOLDER: environment.get(FOLDER) or str(home.root / "glue" / "bookmarks"),
        ONCE: "1" if once else "0",
        METASTORE: ("s3" if start.lake is None else str(start.lake)) if start.catalog else "",
    }


@command.command("fetch", hidden=True)
@click.option("--datalake-formats", "formats", default="", help="Those of the job.")
@click.option("--with-s3", is_flag=True, help="Fetch the connector to an S3 endpoint, too.")
def fetch_command(formats: str, with_s3: bool) -> None:
    """Fetch what a job's process reads of the cache, which it may not write."""
    job_formats = datalake_formats(["--datalake-formats", formats] if formats else [])
    groups = ("spark", "postgresql", "msk-iam", *datalake_groups(job_formats), *(["s3a"] if with_s3 else []))
    fetch_shown(groups, cache=cache_folder(os.environ))


def _job_arguments(start: _Start) -> list[str]:
    """Return the arguments that a job has without being given them: its name, and a place for temporary files."""
    names = {argument.split("=")[0] for argument in start.arguments if argument.startswith("--")}
    job = [] if "--JOB_NAME" in names else ["--JOB_NAME", start.script.stem]
    if not names & {"--TempDir", "--RedshiftTempDir"} and start.bucket:
        job += ["--TempDir", f"s3://{start.bucket}/glue/temporary/"]
    return job


def _modules(arguments: Sequence[str], lake: Path | None, master: str) -> list[str]:
    """Return the folder of the modules of ``--additional-python-modules``, installed as for jobs; none if there are none.

    The server has installed those of a run that it supervises.
    """
    modules = parse_modules(",".join(values_of(arguments, MODULES)))
    for name in values_of(arguments, INSTALLER_OPTION):
        check_installer_option(name)
    if not modules or _SUPERVISED in os.environ:
        return []
    if not is_local(master):
        raise InvalidInput(f"{MODULES} is not served on a cluster.", remedy="Give the modules as --extra-py-files.")
    environments = Environments(
        cache_folder(os.environ).parent / "python-modules",
        index=os.environ.get("PIP_INDEX_URL") or DEFAULT_INDEX,
        reach=Reach(sandbox=is_possible()),
        environment=os.environ,
    )
    with tempfile.TemporaryDirectory(prefix="penstock-wheels-") as staging:
        wheels = [Path(staging, PurePosixPath(wheel).name) for wheel in modules.wheels]
        copies = [{"from": name, "to": wheel.name} for name, wheel in zip(modules.wheels, wheels, strict=True)]
        fetch(copies, Path(staging), {**os.environ, **({} if lake is None else {LAKE: str(lake.absolute())})})
        folder, lock = environments.of(modules, wheels)
    os.set_inheritable(lock, True)  # held for as long as the script runs
    return [str(folder)]


def _catalog(environment: Mapping[str, str], lake: Path | None, bucket: str | None) -> dict[str, str]:
    """Return Spark's configuration of the data catalog; the launcher knows the metastore's address."""
    configuration = catalog_configuration(
        "",
        warehouse=f"s3://{bucket or 'lake'}/warehouse",
        environment=environment,
        iceberg=False,
        folder_lake=lake is not None,
    )
    del configuration["spark.hadoop.hive.metastore.uris"]
    return configuration


def _check(script: Path, arguments: Sequence[str]) -> None:
    """Refuse a script that cannot succeed, and warn of what it may reach; before Spark, which takes seconds to start."""
    extra = [name for files in values_of(arguments, "--extra-py-files") for name in files.split(",")]
    if script.suffix.lower() == ".ipynb":
        raise InvalidInput(
            f"{script} is a notebook, and a job is a script.", remedy="Export it: jupyter nbconvert --to script."
        )
    report = check_script(script, extra_files=extra)
    refuse_sure(report, [*arguments, "--JOB_NAME"])
    for note in notes(arguments):
        click.echo(f"note: {note}", err=True)
    for finding in report.failing:
        click.echo(
            f"penstock: {script}, line {finding.line}: {finding.name} is refused when it is reached. {finding.note}",
            err=True,
        )


@command.command("shell")
@session_options
@click.pass_context
def shell_command(context: click.Context, /, **options: Any) -> None:
    """Start a Python prompt with a GlueContext at hand: spark, sc and glueContext."""
    script = Path(launcher.__file__).with_name("shell.py")
    context.invoke(run_command, script=script, arguments=(), unchecked=True, once=False, **options)


@command.command("session", hidden=True)
@click.argument("arguments", metavar="-- [--NAME VALUE]...", nargs=-1, type=click.UNPROCESSED)
@session_options
@click.pass_context
def session_command(context: click.Context, /, arguments: tuple[str, ...], **options: Any) -> None:
    """Run the process of an interactive session, which asks its server for statements."""
    script = Path(launcher.__file__).with_name("interactive.py")
    context.invoke(run_command, script=script, arguments=arguments, unchecked=True, once=False, **options)


@command.command("bookmark")
@click.argument("job")
@click.option("--reset", is_flag=True, help="Forget what the job has read: the next run reads everything.")
@click.option("--run-id", help="With --reset, go back to what this run had read.")
@home_option
def bookmark_command(job: str, reset: bool, run_id: str | None, home: Path | None) -> None:
    """List the last runs that the bookmark of JOB knows, oldest first, of runs by 'penstock glue run' on this machine.

    The server keeps the bookmarks of jobs that it has started: 'aws glue get-job-bookmark', 'aws glue reset-job-bookmark'.
    """
    bookmarks = FileBookmarks(Home.at(home, os.environ).root / "glue" / "bookmarks", job)
    if reset:
        bookmarks.reset(run_id)
        click.echo(f"The bookmark of job {job} is {'empty' if run_id is None else f'at run {run_id}'}.")
        return
    for run in bookmarks.runs():
        click.echo(run)


def _bucket(environment: Mapping[str, str], lake: Path | None) -> str | None:
    """Return the bucket of temporary files: the platform's, else the lake's first one."""
    bucket = environment.get("PENSTOCK_BUCKET")
    if lake is None or (bucket and (lake / bucket).is_dir()):
        return bucket
    folders = sorted(path.name for path in lake.iterdir() if path.is_dir() and not path.name.startswith("."))
    return folders[0] if folders else None


def _platform(home: Home, lake: Path | None) -> tuple[dict[str, str], Path | None]:
    """Return this process's environment, with that of ``penstock env`` if it has neither endpoint nor credentials."""
    environment = dict(os.environ)
    if any(environment.get(name) for name in _TAKEN_FROM_HOME_WITHOUT) or not home.config_file.is_file():
        return environment, lake
    return {**home.load().client_environment(), **environment}, lake or home.lake


def _buckets(lake: Path | None) -> list[str]:
    """Return one location in each bucket, by which the session knows the bucket."""
    if lake is None:
        return ["s3://any/"]
    if not lake.is_dir():
        raise InvalidInput(
            f"The lake {lake} is not a folder.", remedy="Give the folder of the buckets: --lake or PENSTOCK_LAKE."
        )
    return [f"s3://{path.name}/" for path in sorted(lake.iterdir()) if path.is_dir() and not path.name.startswith(".")]
