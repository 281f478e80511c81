"""What a run's process is: its command, environment and inputs, from the job's settings and the machine.

A Spark job is run by ``penstock glue run``, a session by ``penstock glue session``, a Python shell job by Python itself.
Source: Glue developer guide, "Using job parameters in AWS Glue jobs", "Worker types".
"""

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from penstock.errors import InvalidInput
from penstock.interpreter import SAFE_PATH
from penstock.jobs.definitions import WORKERS
from penstock.jobs.model import JobRun
from penstock.jobs.modules import MODULES, parse_modules
from penstock.jobs.sessions import is_session_run
from penstock.jobs.settings import split_settings
from penstock.runs.folders import RunFolder
from penstock.runs.inputs import LAKE
from penstock.runs.isolation import port_of

__all__ = ["RUN_TOKEN", "RUN_URL", "RunSettings", "clean_environment", "plan"]

RUN_URL = "PENSTOCK_RUN_URL"
"""Environment variable: where a run asks for its credentials and its bookmark."""
RUN_TOKEN = "PENSTOCK_RUN_TOKEN"
"""Environment variable: the token by which a run asks for them."""
_INHERITED = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "JAVA_HOME", "LD_LIBRARY_PATH"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE", "PENSTOCK_CA_FILE"),
        *("PENSTOCK_CACHE", "PENSTOCK_MAVEN_REPOSITORY"),
        # Where a cluster is; its logins are files.
        *("HADOOP_CONF_DIR", "YARN_CONF_DIR", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    }
)
_INHERITED_PREFIXES = ("LC_", "OMP_", "OPENBLAS_", "MKL_")
_LOGIN = re.compile(r"://[^/\s]*@")  # of a URL
_MOST_FILES = 100
_LIBRARIES = (".zip", ".egg", ".whl")
_GB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How one server runs the jobs of one account.

    ``folder`` has a folder for each run. ``endpoint_url`` is the server's own; ``s3_endpoint_url`` that of the lake, None if
    none serves it: runs then get the folder ``lake``. ``master`` is Spark's, ``at_once`` the greatest number of runs that
    have a process on this machine.
    """

    folder: Path
    endpoint_url: str
    account: str
    region: str
    lake: Path | None = None
    s3_endpoint_url: str | None = None
    bucket: str = "lake"
    master: str = "local[*]"
    at_once: int = 4
    authenticate: bool = True
    environment: tuple[str, ...] = ()
    """Further variables of the server's environment that runs inherit."""
    modules: Path | None = None
    """Folder of the environments of further Python modules; None to refuse such modules."""
    python_index: str | None = None
    """The index of packages that the operator allows: a URL, ``default`` for pip's own, None for none."""
    cache: Path | None = None
    """Folder of the JVM's artefacts (``PENSTOCK_CACHE``), which runs read; None for that of the environment."""

    @property
    def renews(self) -> bool:
        """Whether clients can ask for credentials again: boto3 does so without TLS of an authority of one's own only."""
        return self.endpoint_url.startswith("http://")


def plan(run: JobRun, settings: RunSettings, *, folder: RunFolder) -> Mapping[str, Any]:
    """Return what the supervisor of ``run`` does in ``folder``; raise :class:`InvalidInput` if it cannot be done."""
    arguments = dict(run.all_arguments)
    inputs = _Inputs()
    name = None if is_session_run(run) else inputs.add(run.settings["Command"]["ScriptLocation"])
    libraries = [inputs.add(location) for location in _listed(arguments, "--extra-py-files")]
    for location in _listed(arguments, "--extra-files"):
        inputs.add(location)
    work = folder.work
    python_path = [str(work), *(str(work / library) for library in libraries if library.endswith(_LIBRARIES))]
    tmp = str(folder.tmp)
    environment = {
        "PYTHONPATH": os.pathsep.join(python_path),
        "PYTHONUNBUFFERED": "1",
        **dict.fromkeys(("HOME", "TMPDIR", "SPARK_LOCAL_DIRS"), tmp),
        **SAFE_PATH,
    }
    modules = _modules(arguments, settings)
    prepare: list[str] = []
    job_type = run.settings["Command"].get("Name") or "glueetl"
    if name is not None and job_type == "pythonshell":
        command = {"script": str(work / name), "arguments": _command_line(arguments)}
    else:
        files = {
            "spark.jars": [str(work / inputs.add(location)) for location in _listed(arguments, "--extra-jars")],
            # Executors of a cluster get the modules, too; Spark takes a wheel for a module only as a .zip.
            "spark.submit.pyFiles": [
                str(work / inputs.add(location, ending=".zip" if location.endswith(".whl") else ""))
                for location in _listed(arguments, "--extra-py-files")
                if not settings.master.startswith("local")
            ],
        }
        options = _spark_options(run, settings, arguments, folder=folder, files=files)
        defaults = {
            "--JOB_NAME": run.job,
            "--JOB_ID": f"j_{hashlib.sha256(run.job.encode()).hexdigest()}",
            "--JOB_RUN_ID": run.id,
            "--TempDir": f"s3://{settings.bucket}/glue-temporary/{run.job}/",
        }
        prepare = ["glue", "fetch", *_formats(arguments), *(["--with-s3"] if settings.lake is None else [])]
        command_line = _command_line({**defaults, **arguments})
        # A session's own program takes the place of a script.
        program = ["session", *options, "--"] if name is None else ["run", *options, str(work / name)]
        command = {"module": "penstock", "arguments": ["glue", *program, *command_line]}
    timeout = run.settings.get("Timeout")
    return {
        "command": command,
        "environment": environment,
        "script": name,
        "inputs": inputs.files,
        "prepare": prepare,
        "modules": modules,
        "scratch": None if folder.scratch is None else str(folder.scratch),
        "seconds": None if timeout is None else timeout * 60,
        # The first request ends streams after their batch; a script that has none ends at the second.
        "requests": 1 if job_type == "gluestreaming" else 2,
        "grace": 60 if job_type == "gluestreaming" else 10,
    }


def clean_environment(settings: RunSettings, inherited: Mapping[str, str], *, token: str) -> dict[str, str]:
    """Return the environment of a run: those of the server's variables that are not secrets, and the run's own.

    ``token`` is the run's. What it may do is what its role may do, by the credentials that it gets for the token. A URL with
    a login, such as a proxy's, is left out unless ``settings`` names its variable.
    """
    inherited_variables = {
        name: value
        for name, value in inherited.items()
        if name in settings.environment
        or ((name in _INHERITED or name.startswith(_INHERITED_PREFIXES)) and not _LOGIN.search(value))
    }
    own = {
        "AWS_ENDPOINT_URL": settings.endpoint_url,
        "AWS_REGION": settings.region,
        "AWS_DEFAULT_REGION": settings.region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "PENSTOCK_BUCKET": settings.bucket,
        RUN_URL: f"{settings.endpoint_url}/penstock/run",
        RUN_TOKEN: token,
    }
    if settings.s3_endpoint_url is not None:
        own["AWS_ENDPOINT_URL_S3"] = settings.s3_endpoint_url
    elif settings.lake is not None:
        own |= {LAKE: str(settings.lake), "PENSTOCK_LAKE": str(settings.lake)}
    if settings.cache is not None:
        own["PENSTOCK_CACHE"] = str(settings.cache)
    if settings.renews:
        # As in containers: every client of AWS fetches new ones before the credentials expire.
        own |= {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{own[RUN_URL]}/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": token,
        }
    return {**inherited_variables, **own}


class _Inputs:
    """The files that a run reads first, each under a name of its own."""

    def __init__(self) -> None:
        self.files: list[dict[str, str]] = []

    def add(self, location: str, *, ending: str = "") -> str:
        name = PurePosixPath(location).name + ending
        sources = {entry["to"]: entry["from"] for entry in self.files}
        if sources.get(name, location) != location:
            raise InvalidInput(f"{location} and {sources[name]} have the same name.", remedy="Rename one of them.")
        if len(sources) >= _MOST_FILES:
            raise InvalidInput(f"The job has more than {_MOST_FILES} files.")
        if name not in sources:
            self.files.append({"from": location, "to": name})
        return name


def _spark_options(
    run: JobRun,
    settings: RunSettings,
    arguments: Mapping[str, str],
    *,
    folder: RunFolder,
    files: Mapping[str, Sequence[str]],
) -> list[str]:
    cores, gigabytes, count = _resources(run)
    conf = {name: ",".join(paths) for name, paths in files.items() if paths}
    local = settings.master.startswith("local")
    master = settings.master
    share = _machine_gigabytes() // (2 * settings.at_once)
    if local:
        # One machine stands for all workers, as far as it goes.
        cores = max(1, min(cores * count, os.cpu_count() or 1))
        master = f"local[{cores}]"
        # Other runs of the machine find its ports; Spark makes the secret itself.
        conf["spark.authenticate"] = "true"
    else:
        conf |= {
            "spark.executor.instances": str(max(1, count - 1)),
            "spark.executor.cores": str(cores),
            "spark.executor.memory": f"{max(1, gigabytes * 10 // 16)}g",
        }
        gigabytes = gigabytes * 10 // 16
    heap = max(1, min(gigabytes, share))
    options = ["--master", master, "--log", str(folder.log), "--driver-memory", f"{heap}g"]
    configuration = dict(split_settings(arguments.get("--conf", "")))
    return [*options, *(part for key, value in {**conf, **configuration}.items() for part in ("--conf", f"{key}={value}"))]


def _modules(arguments: Mapping[str, str], settings: RunSettings) -> Mapping[str, Any] | None:
    """Return the further Python modules of a run, and where they come from; None if it has none."""
    modules = parse_modules(arguments.get(MODULES, ""))
    if not modules:
        return None
    if settings.modules is None or not settings.master.startswith("local"):
        raise InvalidInput(
            f"{MODULES} is not served with Spark's master {settings.master}: executors would not have the modules.",
            remedy="Install them where the cluster's Python is, or give them as --extra-py-files.",
        )
    if modules.requirements and settings.python_index is None:
        raise InvalidInput(
            f"{MODULES} names packages of an index ({', '.join(modules.requirements)[:200]}), and this server uses none.",
            remedy="Its operator allows one by --jobs-python-index. Or write all the wheels that are needed to the lake, "
            "and name them: s3://BUCKET/KEY.whl.",
        )
    return {
        "requirements": list(modules.requirements),
        "wheels": list(modules.wheels),
        "index": settings.python_index,
        "folder": str(settings.modules),
        "lake": None if settings.lake is None else str(settings.lake),
        "ports": sorted({*filter(None, map(port_of, (settings.endpoint_url, settings.s3_endpoint_url or "")))}),
    }


def _resources(run: JobRun) -> tuple[int, int, int]:
    """Return the cores and the GB of a worker, and the number of workers; Glue's default is ten of G.1X."""
    worker = run.settings.get("WorkerType") or "G.1X"
    count = run.settings.get("NumberOfWorkers") or int(run.settings.get("MaxCapacity") or 10)
    return *WORKERS[worker], max(1, count)


def _machine_gigabytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _GB


def _formats(arguments: Mapping[str, str]) -> list[str]:
    """Return the argument by which a script has further table formats."""
    value = arguments.get("--datalake-formats")
    return ["--datalake-formats", value] if value else []


def _listed(arguments: Mapping[str, str], name: str) -> list[str]:
    return [part.strip() for part in arguments.get(name, "").split(",") if part.strip()]


def _command_line(arguments: Mapping[str, str]) -> list[str]:
    return [part for name, value in arguments.items() for part in ((name, value) if value else (name,))]
