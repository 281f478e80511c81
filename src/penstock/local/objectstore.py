"""The S3 endpoint as a part of the embedded platform: a child process over the lake's folder, like the server.

A bucket is a folder under the lake and an object is a file in it.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import EnvironmentProblem
from penstock.interpreter import python_module
from penstock.local.processes.child import Service, StandaloneService
from penstock.local.processes.ports import answers
from penstock.local.processes.probes import answers_http
from penstock.local.tls.listeners import PlatformTls, listen_arguments, unverified
from penstock.names import DEFAULT_ACCOUNT

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

__all__ = ["ObjectStore"]

_REFUSED = frozenset({"403", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied"})


@dataclass(slots=True, kw_only=True)
class ObjectStore(StandaloneService):
    """An S3 endpoint on ``host:port`` over the folder ``lake``; ``folder`` holds its log.

    It knows the users and further accounts of the server with that ``home``; without one it knows only the one key.
    ``bucket`` is created. Without ``signed`` every request is allowed.
    """

    lake: Path
    folder: Path
    port: int
    access_key_id: str
    secret_access_key: str
    bucket: str = "lake"
    host: str = "127.0.0.1"
    region: str = "us-east-1"
    account: str = DEFAULT_ACCOUNT
    signed: bool = True
    home: Path | None = None
    tls: PlatformTls | None = None
    allowed_hosts: tuple[str, ...] = ()
    insecure_plain_http: bool = False
    arguments: tuple[str, ...] = ()
    """Further arguments of ``penstock serve-s3``."""
    _client: "S3Client | None" = field(default=None, init=False, repr=False)

    @property
    def endpoint_url(self) -> str:
        """The endpoint's URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"

    @property
    def log(self) -> Path:
        """The endpoint's log if it runs without a supervisor."""
        return self.folder / "s3.log"

    def client(self) -> "S3Client":
        """Return a boto3 client of this endpoint with the platform's access key."""
        import boto3  # noqa: PLC0415 - an extra, and slow to import
        from botocore.config import Config  # noqa: PLC0415

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint_url,
            aws_access_key_id=self.access_key_id,
            aws_secret_access_key=self.secret_access_key,
            region_name=self.region,
            verify=str(self.tls.authority) if self.tls is not None and self.tls.authority is not None else None,
            config=Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 1}),
        )

    def service(self) -> Service:
        """Return the service by which a supervisor runs this endpoint."""
        return Service(
            name="s3",
            title="S3 endpoint",
            command=self._command,
            # Its store has the keys.
            after=("server",) if self.home is not None else (),
            # The access key travels in the environment, not among the arguments.
            environment={
                "PENSTOCK_BOOTSTRAP_ACCESS_KEY_ID": self.access_key_id,
                "PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY": self.secret_access_key,
            },
            is_ready=self.healthy,
            is_alive=lambda seconds: answers_http(
                self.host, self.port, "/-/healthz", seconds, tls=None if self.tls is None else unverified()
            ),
            stop_grace=25,
        )

    def healthy(self) -> bool:
        """Return whether the bucket answers a signed request; :class:`EnvironmentProblem` if the key is refused."""
        if not answers(self.host, self.port):
            return False
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

        if self._client is None:
            self._client = self.client()
        try:
            self._client.head_bucket(Bucket=self.bucket)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _REFUSED:
                raise EnvironmentProblem(
                    f"The S3 endpoint on port {self.port} refuses the platform's access key.",
                    remedy="Another program may listen on that port: see 'penstock status', or choose another --s3-port.",
                ) from error
            return False
        except BotoCoreError:
            return False
        return True

    def _command(self) -> list[str]:
        command = python_module("penstock", "serve-s3", "--home", str(self.home or self.folder))
        command += ["--host", self.host, "--port", str(self.port), "--region", self.region, "--account", self.account]
        command += ["--lake", str(self.lake), "--bucket", self.bucket]
        command += listen_arguments(self.tls, self.allowed_hosts, insecure_plain_http=self.insecure_plain_http)
        return [*command, *self.arguments, *([] if self.signed else ["--no-auth"])]
