"""What a run reads before it starts: its script and extra files, from the lake by the rights of its role, or from files.

``python -m penstock.runs.inputs FOLDER`` confines itself as ``run.json`` of the folder says, reads what that names, and
becomes the run's process: a stop and a timeout end both alike. Inputs, too, are only read where the run itself may read.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.errors import AccessDenied, InvalidInput, NotFound, PenstockError
from penstock.interpreter import python_module, with_hidden_arguments
from penstock.jobs.modules import PythonModules
from penstock.lake.locations import LakeFolder, parse_uri
from penstock.runs.folders import RunFolder
from penstock.sandbox.confinement import Confinement, confine
from penstock.sandbox.privileges import end_with_parent

__all__ = ["LAKE", "fetch", "main"]

LAKE = "PENSTOCK_RUN_LAKE"
"""Environment variable: the folder of the account's lake, where no S3 endpoint serves it."""
_MAX_BYTES = 500_000_000


def main(arguments: Sequence[str]) -> None:
    """Fetch the inputs of the run in the folder, and replace this process by the run's; exit if that fails."""
    parent = os.getppid()
    plan = RunFolder(Path(arguments[0])).plan()
    folder = RunFolder(Path(arguments[0]), Path(plan["scratch"]) if plan.get("scratch") else None)
    command = with_hidden_arguments(folder.command, **plan["command"])
    environment = {**os.environ, **plan["environment"]}
    try:
        if plan.get("prepare"):
            # What all runs share is fetched with the server's rights, which may write it.
            subprocess.run(python_module("penstock", *plan["prepare"]), check=True)
        modules = _modules(plan, folder)
        if modules is not None:
            environment["PYTHONPATH"] = os.pathsep.join([environment["PYTHONPATH"], str(modules)])
        if plan.get("confinement"):
            confinement = Confinement.of(plan["confinement"])
            confinement = replace(confinement, read=(*confinement.read, *([] if modules is None else [modules])))
            if confinement.user is not None:
                os.chown(folder.command, *confinement.user)
            confine(confinement)
            end_with_parent(parent)
        fetch(plan["inputs"], folder.work, os.environ)
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)  # it has printed why
    except PenstockError as error:
        print(f"penstock: LAUNCH ERROR | {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:
        print(f"penstock: LAUNCH ERROR | The run's files cannot be copied: {error}.", file=sys.stderr)
        sys.exit(1)
    os.execve(command[0], command, environment)  # noqa: S606


def _modules(plan: Mapping[str, Any], folder: RunFolder) -> Path | None:
    """Return the folder of the run's further Python modules, None if it has none."""
    wanted = plan.get("modules")
    if not wanted:
        return None
    # A tenth of a second, for runs that have such modules only.
    from penstock.runs.environments import Environments, Reach  # noqa: PLC0415

    sandbox = bool((plan.get("confinement") or {}).get("sandbox"))
    lake = () if wanted["lake"] is None else (Path(wanted["lake"]),)
    environments = Environments(
        Path(wanted["folder"]),
        index=wanted["index"],
        reach=Reach(read=lake, connect=tuple(wanted["ports"]), sandbox=sandbox),
        environment=os.environ,
    )
    modules = PythonModules(wanted["requirements"], wanted["wheels"])
    with environments.fetched(modules, folder.root / "wheels") as wheels:
        environment, lock = environments.of(modules, wheels)
    if folder.scratch is None:
        os.set_inheritable(lock, True)  # held for as long as the run's process lives
        return environment
    # The run's user cannot enter the home.
    own = folder.tmp / "python-modules"
    shutil.copytree(environment, own, dirs_exist_ok=True)
    os.close(lock)
    return own


def fetch(inputs: Sequence[Mapping[str, Any]], folder: Path, environment: Mapping[str, str]) -> None:
    """Copy each of ``inputs`` (``from``: ``s3://`` or a path; ``to``: a name) into ``folder``.

    Raises :class:`NotFound`, :class:`AccessDenied` if the role may not read an object, :class:`InvalidInput`.
    """
    for input_ in inputs:
        source, target = input_["from"], folder / input_["to"]
        if not source.startswith(("s3://", "s3a://")):
            _copy(Path(source.removeprefix("file://")), target, source)
        elif environment.get(LAKE):
            _copy(LakeFolder(Path(environment[LAKE])).path(source), target, source)
        else:
            _download(source, target)


def _copy(source: Path, target: Path, name: str) -> None:
    if not source.is_file():
        raise NotFound(f"{name} does not exist.", remedy="Write it first, or change the job's location of it.")
    if source.stat().st_size > _MAX_BYTES:
        raise InvalidInput(f"{name} has more than {_MAX_BYTES:,} bytes.")
    try:
        shutil.copyfile(source, target)
    except PermissionError:
        raise AccessDenied(
            f"{name} is a file of the server's machine that runs of jobs may not read.",
            remedy="Write it to the lake, or start the server with --jobs-read FOLDER.",
        ) from None


def _download(source: str, target: Path) -> None:
    # boto3 takes half a second, and the server, which imports this module, does without it.
    from penstock.client.connection import open_client, translated_errors  # noqa: PLC0415

    uri, client = parse_uri(source), open_client("s3")
    with translated_errors(client, source):
        client.download_file(uri.bucket, uri.key, str(target))


if __name__ == "__main__":
    main(sys.argv[1:])
