"""The S3 gateway: s3proxy over the lake's folder, signatures checked, one bucket made for the user.

A bucket is a folder under the lake and an object is a file in it. Files that came another way get their ETag from
``penstock.lake.etags``.
"""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from penstock.errors import EnvironmentProblem
from penstock.local.artefacts import class_path
from penstock.local.child import Child, Service
from penstock.local.files import properties_text, write_private
from penstock.local.java import Java, find_java
from penstock.local.ports import answers
from penstock.local.probes import answers_http

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

__all__ = ["ObjectStore"]

# s3proxy holds a signed single put in memory, about twice, to check its hash: what eight at once may need is bounded by
# the largest put. Larger objects go as multipart uploads, which boto3's upload_file begins at 8 MB.
_HEAP = "512m"
_LARGEST_SINGLE_PUT = 32 * 1024 * 1024
_THREADS = 20
_REFUSED = frozenset({"403", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied"})


@dataclass(slots=True, kw_only=True)
class ObjectStore:
    """An S3 endpoint on ``host:port`` over the folder ``lake``; ``folder`` holds its configuration and log.

    ``bucket`` is created. Without ``signed`` anybody may do anything. Usable as a context manager.
    """

    lake: Path
    folder: Path
    port: int
    access_key_id: str
    secret_access_key: str
    bucket: str = "lake"
    host: str = "127.0.0.1"
    region: str = "us-east-1"
    signed: bool = True
    java: Java | None = None
    _child: Child | None = field(default=None, init=False, repr=False)
    _client: "S3Client | None" = field(default=None, init=False, repr=False)

    @property
    def endpoint_url(self) -> str:
        """The endpoint's URL."""
        return f"http://{self.host}:{self.port}"

    @property
    def log(self) -> Path:
        """The gateway's log when it runs without a supervisor."""
        return self.folder / "s3.log"

    def client(self) -> "S3Client":
        """A boto3 client of this endpoint with the platform's access key."""
        import boto3  # noqa: PLC0415 - an extra, and slow to import
        from botocore.config import Config  # noqa: PLC0415

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint_url,
            aws_access_key_id=self.access_key_id,
            aws_secret_access_key=self.secret_access_key,
            region_name=self.region,
            config=Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 1}),
        )

    def start(self) -> float:
        """Start and wait until the bucket answers; the seconds that took."""
        began = time.monotonic()
        self._child = Child(self.service(), self.log)
        self._child.start()
        try:
            self._child.wait_ready()
        except BaseException:
            self.stop()
            raise
        return time.monotonic() - began

    def stop(self) -> None:
        """End the gateway and wait for it; nothing to do where it does not run."""
        if self._child is not None:
            self._child.stop()
            self._child = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def service(self) -> Service:
        """How a supervisor runs this gateway."""
        return Service(
            name="s3",
            title="S3 endpoint",
            command=self._command,
            prepare=self._prepare,
            is_ready=self.healthy,
            is_alive=lambda seconds: answers_http(self.host, self.port, "/", seconds),
            stop_grace=10,
        )

    def healthy(self) -> bool:
        """Whether the bucket answers a signed request; :class:`EnvironmentProblem` where the key is refused."""
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
                    remedy="Something else may listen on that port: see 'penstock status', or choose another --s3-port.",
                ) from error
            return False
        except BotoCoreError:
            return False
        return True

    @property
    def _properties_file(self) -> Path:
        return self.folder / "s3proxy.properties"

    def _command(self) -> list[str]:
        java = self.java or find_java(os.environ)
        return [
            str(java.executable),
            f"-Xmx{_HEAP}",
            "-XX:+UseSerialGC",
            "-XX:+ExitOnOutOfMemoryError",
            "-Djava.awt.headless=true",
            "-cp",
            os.pathsep.join(str(path) for path in class_path("s3proxy")),
            "org.gaul.s3proxy.Main",
            "--properties",
            str(self._properties_file),
        ]

    def _prepare(self) -> None:
        (self.lake / self.bucket).mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        properties = {
            "s3proxy.endpoint": self.endpoint_url,
            # boto3 and the AWS CLI presign by version 2 in us-east-1 unless they are told otherwise.
            "s3proxy.authorization": "aws-v2-or-v4" if self.signed else "none",
            "s3proxy.identity": self.access_key_id,
            "s3proxy.credential": self.secret_access_key,
            "s3proxy.v4-max-non-chunked-request-size": str(_LARGEST_SINGLE_PUT),
            "s3proxy.jetty.max-threads": str(_THREADS),
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(self.lake),
            # The folder asks for no credentials of its own, and s3proxy insists that there are some.
            "jclouds.identity": "unused",
            "jclouds.credential": "unused",
        }
        write_private(self._properties_file, properties_text(properties))
