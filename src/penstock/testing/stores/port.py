"""What a test gets of a running store: where it answers, a key, a bucket."""

import os
import secrets
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from botocore.config import Config

from penstock.errors import EnvironmentProblem
from penstock.local.artefacts import cache_folder
from penstock.names import DEFAULT_REGION
from penstock.testing.clients import boto3_client

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

__all__ = ["BUCKET", "S3Store", "find_program", "new_key"]

BUCKET = "lake"
"""The bucket that a store has at its start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Store:
    """A store that answers at ``endpoint_url``, by path style; ``bucket`` is empty at its start.

    ``name`` and ``version`` are those of the program.
    """

    name: str
    version: str
    endpoint_url: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    region: str = DEFAULT_REGION
    bucket: str = BUCKET

    def client(self, **overrides: Any) -> "S3Client":
        """Return a boto3 client of the store, without retries."""
        keys = {"access_key_id": self.access_key_id, "secret_access_key": self.secret_access_key}
        # boto3 makes presigned addresses of version 2 otherwise, which few stores take.
        config = Config(signature_version="s3v4", retries={"total_max_attempts": 1})
        client: S3Client = boto3_client("s3", self.endpoint_url, self.region, **keys, **({"config": config} | overrides))
        return client

    def environment(self) -> dict[str, str]:
        """Return the variables by which a child process's AWS clients use the store."""
        return {
            "AWS_ENDPOINT_URL_S3": self.endpoint_url,
            "AWS_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
        }


def new_key(access_key_id: str = "AKIATESTING") -> dict[str, str]:
    """Return a key with a secret of its own, as arguments of :class:`S3Store`."""
    return {"access_key_id": access_key_id, "secret_access_key": secrets.token_hex(20)}


def find_program(name: str) -> str:
    """Return the path of a store's program: of the PATH, or in the cache, where ``make store-NAME`` puts what it builds.

    Raises :class:`EnvironmentProblem` if it is in neither.
    """
    folder = cache_folder(os.environ).parent / "stores" / "bin"
    program = shutil.which(name) or shutil.which(name, path=folder)
    if program is None:
        raise EnvironmentProblem(
            f"The program {name} is not on the PATH nor in {folder}.",
            remedy="Install the store: make store-radosgw, store-garage or store-versitygw.",
        )
    return program
