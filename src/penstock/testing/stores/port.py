"""What a test gets of a running store: where it answers, a key, a bucket."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.names import DEFAULT_REGION
from penstock.testing.clients import boto3_client

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

__all__ = ["BUCKET", "S3Store"]

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
        client: S3Client = boto3_client("s3", self.endpoint_url, self.region, **keys, **overrides)
        return client

    def environment(self) -> dict[str, str]:
        """Return the variables by which a child process's AWS clients use the store."""
        return {
            "AWS_ENDPOINT_URL_S3": self.endpoint_url,
            "AWS_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
        }
