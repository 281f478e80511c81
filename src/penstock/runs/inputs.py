"""What a run reads before it starts: its script and extra files, from the lake by the rights of its role, or from files.

``python -m penstock.runs.inputs FOLDER`` reads what ``run.json`` of the folder names, and becomes the run's process: a stop
and a timeout end both alike.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.errors import InvalidInput, NotFound, PenstockError
from penstock.interpreter import with_hidden_arguments
from penstock.lake.locations import LakeFolder, parse_uri
from penstock.runs.folders import RunFolder

__all__ = ["LAKE", "fetch", "main"]

LAKE = "PENSTOCK_RUN_LAKE"
"""Environment variable: the folder of the account's lake, where no S3 endpoint serves it."""
_MAX_BYTES = 500_000_000


def main(arguments: Sequence[str]) -> None:
    """Fetch the inputs of the run in the folder, and replace this process by the run's; exit if that fails."""
    folder = RunFolder(Path(arguments[0]))
    plan = folder.plan()
    try:
        fetch(plan["inputs"], folder.work, os.environ)
    except PenstockError as error:
        print(f"penstock: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:
        print(f"penstock: The run's files cannot be copied: {error}.", file=sys.stderr)
        sys.exit(1)
    command = with_hidden_arguments(folder.command, **plan["command"])
    os.execve(command[0], command, {**os.environ, **plan["environment"]})  # noqa: S606


def fetch(inputs: Sequence[Mapping[str, Any]], folder: Path, environment: Mapping[str, str]) -> None:
    """Copy each of ``inputs`` (``from``: ``s3://`` or a path; ``to``: a name) into ``folder``.

    Raises :class:`NotFound`, :class:`AccessDenied` if the role may not read an object, :class:`InvalidInput`.
    """
    for each in inputs:
        source, target = each["from"], folder / each["to"]
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
    shutil.copyfile(source, target)


def _download(source: str, target: Path) -> None:
    # boto3 takes half a second, and the server, which imports this module, does without it.
    from penstock.client.connection import open_client, translated_errors  # noqa: PLC0415

    uri, client = parse_uri(source), open_client("s3")
    with translated_errors(client, source):
        client.download_file(uri.bucket, uri.key, str(target))


if __name__ == "__main__":
    main(sys.argv[1:])
