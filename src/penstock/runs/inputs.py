"""What a run reads before it starts: its script and extra files, from the lake by the rights of its role, or from files."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.errors import InvalidInput, NotFound
from penstock.lake.locations import LakeFolder, parse_uri

__all__ = ["LAKE", "fetch"]

LAKE = "PENSTOCK_RUN_LAKE"
"""Environment variable: the folder of the account's lake, where no S3 endpoint serves it."""
_MAX_BYTES = 500_000_000


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
