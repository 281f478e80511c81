"""Every operation on a setting of a bucket asks for S3's own action on the bucket before it reads or changes anything."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.access.policies.documents import Policy
from penstock.access.principals import Caller, user_arn
from penstock.api.s3.call import Authorize, Call, Lake, LakeAccess
from penstock.api.s3.settings import SETTING_HANDLERS
from penstock.api.s3.work import Work
from penstock.lake.objects.errors import S3Error
from penstock.lake.objects.store import LakeStore
from penstock.lake.objects.uploads import Uploads

ACCOUNT = "000000000000"
# Service authorization reference, "Actions, resources, and condition keys for Amazon S3".
ACTIONS = {
    "BucketTagging": ("GetBucketTagging", "PutBucketTagging"),
    "PublicAccessBlock": ("GetBucketPublicAccessBlock", "PutBucketPublicAccessBlock"),
    "BucketEncryption": ("GetEncryptionConfiguration", "PutEncryptionConfiguration"),
    "BucketOwnershipControls": ("GetBucketOwnershipControls", "PutBucketOwnershipControls"),
    "BucketLifecycleConfiguration": ("GetLifecycleConfiguration", "PutLifecycleConfiguration"),
    "BucketLifecycle": ("GetLifecycleConfiguration", "PutLifecycleConfiguration"),
    "BucketVersioning": ("GetBucketVersioning", "PutBucketVersioning"),
    "BucketAccelerateConfiguration": ("GetAccelerateConfiguration", "PutAccelerateConfiguration"),
    "BucketRequestPayment": ("GetBucketRequestPayment", "PutBucketRequestPayment"),
    "BucketLogging": ("GetBucketLogging", "PutBucketLogging"),
    "BucketNotificationConfiguration": ("GetBucketNotification", "PutBucketNotification"),
    "BucketAcl": ("GetBucketAcl", "PutBucketAcl"),
    "BucketCors": ("GetBucketCORS", "PutBucketCORS"),
    "BucketWebsite": ("GetBucketWebsite", "PutBucketWebsite"),
    "BucketReplication": ("GetReplicationConfiguration", "PutReplicationConfiguration"),
    "ObjectLockConfiguration": ("GetBucketObjectLockConfiguration", "PutBucketObjectLockConfiguration"),
}
OTHERS = {"DeleteBucketWebsite": "DeleteBucketWebsite"}


def _expected(operation: str) -> str:
    verb = next(name for name in ("Get", "Put", "Delete") if operation.startswith(name))
    read, write = ACTIONS[operation.removeprefix(verb)]
    return OTHERS.get(operation, read if verb == "Get" else write)


@pytest.mark.parametrize("operation", sorted(SETTING_HANDLERS))
def test_a_setting_is_neither_read_nor_changed_without_its_action(operation: str, tmp_path: Path) -> None:
    store = LakeStore(tmp_path / "lake")
    store.create_bucket("shop")
    lake = Lake(account=ACCOUNT, store=store, uploads=Uploads(store))
    asked: list[tuple[str, str]] = []

    def deny(action: str, resource: str, /, *, owner: str, policy: Policy | None, extra: Mapping[str, str]) -> None:
        asked.append((action, resource))
        raise S3Error("AccessDenied", f"{owner} {policy} {extra}")

    work = Work(threads=1)
    authorize: Authorize = deny
    unread: Any = None
    call = Call(
        operation=operation, bucket="shop", key="", members={}, headers={}, query={}, body=unread, lake=lake,
        caller=Caller(account=ACCOUNT, principal=user_arn(ACCOUNT, "/", "ana")), region="us-east-1",
        access=LakeAccess(authorize, lake), work=work, find=unread,
    )  # fmt: skip

    async def run() -> str:
        try:
            await SETTING_HANDLERS[operation](call)
        except S3Error as error:
            return error.code
        return "allowed"

    try:
        assert asyncio.run(run()) == "AccessDenied"
    finally:
        work.close()
    assert asked == [(f"s3:{_expected(operation)}", "arn:aws:s3:::shop")]
