"""Policies of buckets: the operations, and whose bucket a name is for a caller.

Names of buckets are unique within an account here, and not among all. A name is the caller's own bucket, if it has one. The
bucket of another account is found if its policy allows something to the caller; where several such buckets have the name,
the request has to say whose it means (``x-amz-expected-bucket-owner``). Other accounts' buckets do not exist for a caller.
"""

from collections.abc import Callable, Iterable, Mapping

from penstock.access.policies.buckets import is_public, names_caller, parse_bucket_policy, stored_bucket_policy
from penstock.access.policies.errors import MalformedPolicy
from penstock.access.principals import Caller
from penstock.api.s3.call import Answer, Authorize, BucketLake, Call, Handler, Lake, LakeAccess
from penstock.lake.objects.errors import S3Error

__all__ = ["POLICY_HANDLERS", "BucketLakes"]


class BucketLakes:
    """The lakes of all accounts. ``accounts`` returns those that have one; None if callers reach their own alone."""

    def __init__(self, lake_of: Callable[[str], Lake], accounts: Callable[[], Iterable[str]] | None) -> None:
        self._lake_of = lake_of
        self._accounts = accounts

    def find(self, caller: Caller, authorize: Authorize | None, bucket: str, owner: str | None) -> BucketLake:
        """Return where ``bucket`` is for ``caller``: in its own account's lake, unless another one's policy names it.

        Raises :class:`S3Error` if several accounts' policies do, and the request names no ``owner``. May block.
        """
        own = self._lake_of(caller.account)
        lake = own
        if bucket and authorize is not None and owner != own.account and (owner is not None or not _has(own, bucket)):
            shared = [policy for policy in self._others(own.account, owner) if _shares(policy, bucket, caller)]
            if len(shared) > 1:
                raise S3Error(
                    "AccessDenied",
                    f"Buckets of {len(shared)} accounts are named {bucket}, and their policies allow you something.",
                    remedy="Send x-amz-expected-bucket-owner (boto3: ExpectedBucketOwner) with the account that you mean.",
                )
            lake = shared[0] if shared else own
        return BucketLake(lake=lake, access=LakeAccess(authorize, lake))

    def _others(self, own: str, owner: str | None) -> Iterable[Lake]:
        for account in self._accounts() if self._accounts is not None else ():
            if account != own and owner in {None, account}:
                yield self._lake_of(account)


def _has(lake: Lake, bucket: str) -> bool:
    try:
        lake.store.bucket(bucket)
    except S3Error:
        return False
    return True


def _shares(lake: Lake, bucket: str, caller: Caller) -> bool:
    if not _has(lake, bucket):
        return False
    text = lake.store.policies.get(bucket)
    return text is not None and names_caller(stored_bucket_policy(text), caller)


async def put_bucket_policy(call: Call) -> Answer:
    await _check(call, "PutBucketPolicy")
    text = await call.text()
    try:
        parse_bucket_policy(text, call.bucket)
    except MalformedPolicy as error:
        raise S3Error("MalformedPolicy", error.message, remedy=error.remedy) from None
    if is_public(text):
        raise S3Error(
            "AccessDenied",
            f"User: {call.caller.principal} is not authorized to perform: s3:PutBucketPolicy on resource: "
            f'"arn:aws:s3:::{call.bucket}" because public policies are prevented by the BlockPublicPolicy setting in S3 '
            "Block Public Access.",
            remedy="Name accounts, users or roles as the Principal instead of everybody.",
        )
    await call.run(call.lake.store.policies.put, call.bucket, text)
    return Answer(status=204)


async def get_bucket_policy(call: Call) -> Answer:
    await _check(call, "GetBucketPolicy")
    return Answer(document=(await _policy(call)).encode(), headers={"content-type": "application/json"})


async def get_bucket_policy_status(call: Call) -> Answer:
    await _check(call, "GetBucketPolicyStatus")
    return Answer(members={"PolicyStatus": {"IsPublic": is_public(await _policy(call))}})


async def delete_bucket_policy(call: Call) -> Answer:
    await _check(call, "DeleteBucketPolicy")
    await call.run(call.lake.store.policies.delete, call.bucket)
    return Answer(status=204)


async def _check(call: Call, action: str) -> None:
    """Raise :class:`S3Error` unless the caller may do ``action`` on the bucket, which has to be its own account's."""
    if call.lake.account != call.caller.account:
        raise S3Error(
            "MethodNotAllowed",
            "The specified method is not allowed against this resource.",
            remedy="Only callers of the bucket's account can read or change its policy.",
        )
    await call.check_access(action)
    await call.run(call.lake.store.bucket, call.bucket)


async def _policy(call: Call) -> str:
    text: str | None = await call.run(call.lake.store.policies.get, call.bucket)
    if text is None:
        raise S3Error("NoSuchBucketPolicy", "The bucket policy does not exist", details={"BucketName": call.bucket})
    return text


POLICY_HANDLERS: Mapping[str, Handler] = {
    "DeleteBucketPolicy": delete_bucket_policy,
    "GetBucketPolicy": get_bucket_policy,
    "GetBucketPolicyStatus": get_bucket_policy_status,
    "PutBucketPolicy": put_bucket_policy,
}
