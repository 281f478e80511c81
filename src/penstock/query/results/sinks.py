"""Where results are stored: directly in the lake's folder, or through the S3 endpoint in front of it.

Use the endpoint if the objects are not files of a local lake, or if the endpoint's own rules must apply to them.
"""

import contextlib
import errno
import io
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from penstock.durable import make_folder, sync
from penstock.errors import InvalidInput, NotFound
from penstock.lake.etags import HASHED_BYTES, tag_file
from penstock.lake.locations import LakeFolder, parse_uri
from penstock.sql.errors import StatementError

__all__ = ["LakeSink", "S3Sink"]


class LakeSink:
    """:class:`penstock.query.ports.ResultSink` over the lake's folder."""

    def __init__(self, lake: LakeFolder) -> None:
        self._lake = lake

    def check(self, location: str) -> None:
        self._lake.check_bucket(location, remedy="Create it, or give another OutputLocation.")

    def put(self, uri: str, file: Path) -> None:
        self._store([(uri, file)], shutil.copyfile)

    def take(self, files: Sequence[tuple[str, Path]]) -> None:
        self._store(files, _moved)

    def _store(self, files: Sequence[tuple[str, Path]], bring: Callable[[Path, Path], object]) -> None:
        """Bring each file beside its object's, sync it and rename it; then sync each folder once."""
        uri = ""
        scratches: list[tuple[Path, Path]] = []
        try:
            for uri, file in files:
                target = self._lake.path(uri)
                scratch = target.with_name(f"_{target.name}.{os.getpid()}.tmp")
                make_folder(target.parent)
                scratches.append((scratch, target))
                bring(file, scratch)
                if scratch.stat().st_size <= HASHED_BYTES:
                    tag_file(scratch)
                sync(scratch)
            for scratch, target in scratches:
                scratch.replace(target)
            for folder in dict.fromkeys(target.parent for _, target in scratches):
                sync(folder)
        except OSError as error:
            for scratch, _ in scratches:
                with contextlib.suppress(OSError):
                    scratch.unlink()
            raise StatementError(
                "GENERIC_INTERNAL_ERROR", f"The result cannot be written to {uri}: {error.strerror}."
            ) from error

    def remove(self, uri: str) -> None:
        try:
            self._lake.path(uri).unlink(missing_ok=True)
        except OSError as error:
            raise StatementError("GENERIC_INTERNAL_ERROR", f"{uri} cannot be removed: {error.strerror}.") from error

    def open(self, uri: str, offset: int = 0) -> BinaryIO:
        try:
            file = self._lake.path(uri).open("rb")
        except OSError:
            raise NotFound(f"The result {uri} does not exist any more.", remedy="Run the statement again.") from None
        file.seek(offset)
        return file


def _moved(file: Path, target: Path) -> None:
    try:
        file.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copyfile(file, target)  # another file system


class S3Sink:
    """:class:`penstock.query.ports.ResultSink` through an S3 endpoint. ``connect`` makes a boto3 S3 client at first use."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._made: Any = None

    @property
    def _client(self) -> Any:
        with self._lock:
            if self._made is None:
                self._made = self._connect()
            return self._made

    @classmethod
    def connect(cls, endpoint_url: str, *, region: str, access_key_id: str, secret_access_key: str) -> "S3Sink":
        """Return a sink for an endpoint, which does not have to be up yet."""

        def client() -> Any:
            import boto3  # noqa: PLC0415 - the import takes half a second, which a server's start need not wait for
            from botocore.config import Config  # noqa: PLC0415

            make_client: Any = boto3.session.Session().client
            options = Config(
                s3={"addressing_style": "path"}, retries={"mode": "standard"}, connect_timeout=5, read_timeout=60
            )
            return make_client(
                "s3",
                endpoint_url=endpoint_url,
                region_name=region,
                aws_access_key_id=access_key_id,
                aws_secret_access_key=secret_access_key,
                config=options,
            )

        return cls(client)

    def check(self, location: str) -> None:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as in connect

        bucket = parse_uri(location).bucket
        try:
            self._client.head_bucket(Bucket=bucket)
        except (ClientError, BotoCoreError) as error:
            raise InvalidInput(
                f"Results cannot be written to {location[:200]}: bucket {bucket} cannot be reached ({error}).",
                remedy="Create it, or give another OutputLocation.",
            ) from error

    def put(self, uri: str, file: Path) -> None:
        where = parse_uri(uri)
        try:
            # One PUT up to 64 MB, a multipart upload beyond: the object appears only when it is complete.
            self._client.upload_file(str(file), where.bucket, where.key)
        except Exception as error:  # boto3 raises errors of several families
            raise StatementError("GENERIC_INTERNAL_ERROR", f"The result cannot be written to {uri}: {error}.") from error

    def take(self, files: Sequence[tuple[str, Path]]) -> None:
        for uri, file in files:
            self.put(uri, file)

    def remove(self, uri: str) -> None:
        where = parse_uri(uri)
        try:
            self._client.delete_object(Bucket=where.bucket, Key=where.key)
        except Exception as error:  # boto3 raises errors of several families
            raise StatementError("GENERIC_INTERNAL_ERROR", f"{uri} cannot be removed: {error}.") from error

    def open(self, uri: str, offset: int = 0) -> BinaryIO:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - as in connect

        where = parse_uri(uri)
        options = {"Range": f"bytes={offset}-"} if offset else {}
        try:
            answer = self._client.get_object(Bucket=where.bucket, Key=where.key, **options)
        except ClientError as error:
            if error.response["Error"]["Code"] == "InvalidRange":
                return io.BytesIO()  # the end of the object
            raise NotFound(f"The result {uri} does not exist any more.", remedy="Run the statement again.") from error
        return io.BufferedReader(answer["Body"])
