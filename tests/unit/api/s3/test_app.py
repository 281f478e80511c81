"""What the application gives back whatever a request comes to."""

import asyncio
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
    """An audit log that takes nothing any more; what only reads is asked for all the same."""

    def check(self) -> None:
        pass

    def note(self, event: AuditEvent) -> None:
        raise AuditUnavailable("The audit log cannot be written.", remedy="Free some space.")


def open_files(folder: Path) -> list[str]:
    found = []
    for each in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(each.readlink()))
        except FileNotFoundError:  # the one that lists the folder
            continue
    return [path for path in found if path.startswith(str(folder) + os.sep)]


async def status_of(app: S3App, path: str) -> int:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1")]
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
    }
    await app(scope, receive, send)
    status: int = sent[0]["status"]
    return status


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")
def test_an_object_is_closed_when_its_read_cannot_be_audited(tmp_path: Path) -> None:
    store = LakeStore(tmp_path / "lake")
    store.create_bucket("bucket")
    (store.root / "bucket" / "key").write_bytes(b"content")
    lake = Lake(account="000000000000", store=store, uploads=Uploads(store))
    work = Work(threads=1)
    app = S3App(lambda _: lake, None, work=work, first=lake.account, region="us-east-1", audit=_BrokenAudit())
    try:
        status = asyncio.run(status_of(app, "/bucket/key"))
    finally:
        work.close()
    assert (status, open_files(store.root)) == (503, [])
