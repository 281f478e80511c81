"""The application closes files and reports errors however a request ends."""

import asyncio
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from penstock.access.audit.event import AuditEvent
from penstock.access.audit.log import AuditUnavailable
from penstock.api.s3.app import S3App
from penstock.api.s3.call import Lake
from penstock.api.s3.work import Work
from penstock.lake.objects.store import LakeStore
from penstock.lake.objects.uploads import Uploads


class _BrokenAudit:
    """An audit log that cannot be written; reads are nevertheless to be recorded."""

    def check(self) -> None:
        pass

    def write(self, event: AuditEvent) -> None:
        raise AuditUnavailable("The audit log cannot be written.", remedy="Free some space.")


def open_files(folder: Path) -> list[str]:
    result = []
    for item in Path("/proc/self/fd").iterdir():
        try:
            result.append(str(item.readlink()))
        except FileNotFoundError:  # the one that lists the folder
            continue
    return [path for path in result if path.startswith(str(folder) + os.sep)]


async def answer_of(app: S3App, method: str, path: str, query: bytes = b"", body: bytes = b"") -> tuple[int, bytes]:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http", "method": method, "path": path, "raw_path": path.encode()}
    headers = [(b"host", b"127.0.0.1"), (b"content-length", str(len(body)).encode())]
    await app({**scope, "query_string": query, "headers": headers}, receive, send)
    return sent[0]["status"], sent[1]["body"]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")
def test_an_object_is_closed_when_its_read_cannot_be_audited(tmp_path: Path) -> None:
    store = LakeStore(tmp_path / "lake")
    store.create_bucket("bucket")
    (store.root / "bucket" / "key").write_bytes(b"content")
    lake = Lake(account="000000000000", store=store, uploads=Uploads(store))
    work = Work(threads=1)
    audit: Any = _BrokenAudit()
    app = S3App(lambda _: lake, None, work=work, first=lake.account, region="us-east-1", audit=audit)
    try:
        status, _ = asyncio.run(answer_of(app, "GET", "/bucket/key"))
    finally:
        work.close()
    assert (status, open_files(store.root)) == (503, [])


def test_an_object_that_cannot_be_removed_is_reported_with_those_that_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LakeStore(tmp_path / "lake")
    store.create_bucket("bucket")
    for key in ("one", "stuck", "two"):
        (store.root / "bucket" / key).write_bytes(b"content")
    unlink = Path.unlink

    def refusing(self: Path, missing_ok: bool = False) -> None:
        if self.name == "stuck":
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", refusing)
    lake = Lake(account="000000000000", store=store, uploads=Uploads(store))
    work = Work(threads=1)
    app = S3App(lambda _: lake, None, work=work, first=lake.account, region="us-east-1")
    named = "".join(f"<Object><Key>{key}</Key></Object>" for key in ("one", "stuck", "two"))
    try:
        status, body = asyncio.run(answer_of(app, "POST", "/bucket", b"delete", f"<Delete>{named}</Delete>".encode()))
    finally:
        work.close()
    assert (status, sorted(path.name for path in (store.root / "bucket").iterdir())) == (200, ["stuck"])
    assert b"<Error><Key>stuck</Key><Code>InternalError</Code>" in body
    assert body.count(b"<Deleted>") == 2
