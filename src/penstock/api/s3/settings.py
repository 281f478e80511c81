"""Settings of buckets: those that are stored, those with the one value that holds here, and those that are refused.

A setting is served where it says what this server does, or where it is a note (tags). One that asks for work that nobody
here does is refused by name: to store it would promise it. Reads answer for every bucket, as clients such as Terraform ask
for all settings of a bucket after they made it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.s3.buckets import full_control
from penstock.api.s3.call import Answer, Call, Handler, not_implemented
from penstock.api.s3.request_headers import tags_of
from penstock.lake.objects.errors import S3Error

__all__ = ["SETTING_HANDLERS"]

_ELEMENTS = 5_000
_MAX_BUCKET_TAGS = 50
_MAX_RULES = 1_000  # Amazon S3 user guide, "Lifecycle configuration elements"
_ABORT_DAYS = 7  # when the store deletes uploads without activity
_BLOCKED = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")

Shape = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """A setting of buckets. ``name`` is that of its file, ``shape`` and ``payload`` those of its document in botocore."""

    name: str
    read: str
    """The action that reads it."""
    write: str
    """The action that replaces and removes it."""
    shape: str
    payload: str | None
    """The member of the answer that has the document; None if the answer is the document."""
    check: Callable[[Shape], Shape]
    """Returns what is stored of a document; raises S3Error for what is not served. Empty: nothing is stored."""
    default: Callable[[Call], Shape] | S3Error
    """What a bucket has that was given none: a document, or the error."""
    stored_member: str | None = None
    """A member of a header that is stored with the document; ``member_default`` where it is not sent."""
    member_default: str = ""
    removed: S3Error | None = None
    """What reads answer after the setting was removed; None for the default."""


def _put(setting: _Setting) -> Handler:
    async def put(call: Call) -> Answer:
        await _check(call, setting.write)
        document = setting.check(await call.document(setting.shape, elements=_ELEMENTS, optional=setting.name == "acl"))
        header = (
            {}
            if setting.stored_member is None
            else {setting.stored_member: call.members.get(setting.stored_member, setting.member_default)}
        )
        if document:
            await call.run(call.lake.store.settings.put, call.bucket, setting.name, json.dumps({**document, **header}))
        else:
            await call.run(call.lake.store.settings.delete, call.bucket, setting.name)
        return Answer(members=header)

    return put


def _get(setting: _Setting) -> Handler:
    async def get(call: Call) -> Answer:
        await _check(call, setting.read)
        text: str | None = await call.run(call.lake.store.settings.get, call.bucket, setting.name)
        document = None if text is None else json.loads(text)
        if document is None and isinstance(setting.default, S3Error):
            raise _of_bucket(setting.default, call)
        if document == {} and setting.removed is not None:
            raise _of_bucket(setting.removed, call)
        stored = document or (setting.default(call) if callable(setting.default) else {})
        return Answer(members=stored if setting.payload is None else {setting.payload: stored})

    return get


def _delete(setting: _Setting) -> Handler:
    async def delete(call: Call) -> Answer:
        # A website alone has an action of its own for this.
        await _check(call, "DeleteBucketWebsite" if setting.name == "website" else setting.write)
        if setting.removed is None:
            await call.run(call.lake.store.settings.delete, call.bucket, setting.name)
        else:
            await call.run(call.lake.store.settings.put, call.bucket, setting.name, "{}")
        return Answer(status=204)

    return delete


async def _check(call: Call, action: str) -> None:
    await call.check_access(action)
    await call.run(call.lake.store.bucket, call.bucket)


def _of_bucket(error: S3Error, call: Call) -> S3Error:
    return S3Error(error.code, error.message, details={"BucketName": call.bucket})


def _tags(document: Shape) -> Shape:
    tags = tags_of(document["TagSet"], most=_MAX_BUCKET_TAGS, what="Bucket")
    return {"TagSet": [{"Key": key, "Value": value} for key, value in tags.items()]}


def _public_access(document: Shape) -> Shape:
    allowed = [name for name in _BLOCKED if not document.get(name, False)]
    if allowed:
        raise not_implemented(
            f"Public access ({', '.join(allowed)} that is not true)", remedy="Nothing here is public: set all four to true."
        )
    return dict.fromkeys(_BLOCKED, True)


def _encryption(document: Shape) -> Shape:
    rules = document.get("Rules", [])
    algorithms = [rule.get("ApplyServerSideEncryptionByDefault", {}).get("SSEAlgorithm", "AES256") for rule in rules]
    if len(rules) != 1 or not set(algorithms) <= {"AES256", "aws:kms", "aws:kms:dsse"}:
        raise _malformed()
    if rules[0].get("BlockedEncryptionTypes"):
        raise not_implemented("BlockedEncryptionTypes of a bucket's encryption", remedy="Leave it out.")
    return document


def _ownership(document: Shape) -> Shape:
    ownerships = [rule["ObjectOwnership"] for rule in document["Rules"]]
    if len(ownerships) != 1 or not set(ownerships) <= {"BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter"}:
        raise _malformed()
    if ownerships != ["BucketOwnerEnforced"]:
        raise not_implemented(
            f"Object ownership {ownerships[0]}", remedy="There are no access control lists here: give BucketOwnerEnforced."
        )
    return document


def _versioning(document: Shape) -> Shape:
    status, deletion = document.get("Status"), document.get("MFADelete", "Disabled")
    if status not in {None, "Enabled", "Suspended"} or deletion not in {"Enabled", "Disabled"}:
        raise _malformed()
    if status is not None or deletion == "Enabled":
        raise not_implemented(
            f"Versioning ({'Status ' + status if status else 'MfaDelete Enabled'})",
            remedy="A bucket keeps the last version of each object alone: leave versioning out.",
        )
    return {}


def _lifecycle(document: Shape) -> Shape:
    rules = document["Rules"]
    if not 1 <= len(rules) <= _MAX_RULES or any(rule["Status"] not in {"Enabled", "Disabled"} for rule in rules):
        raise _malformed()
    for rule in rules:
        # What concerns versions that are not current changes nothing: there are none.
        unserved = [name for name in ("Transitions",) if rule.get(name)]
        unserved += [f"Expiration.{name}" for name in ("Days", "Date") if rule.get("Expiration", {}).get(name)]
        days = rule.get("AbortIncompleteMultipartUpload", {}).get("DaysAfterInitiation", _ABORT_DAYS)
        unserved += [f"AbortIncompleteMultipartUpload.DaysAfterInitiation {days}"] if days != _ABORT_DAYS else []
        if unserved and rule["Status"] == "Enabled":
            raise not_implemented(
                f"{', '.join(unserved)} of a lifecycle rule",
                remedy=f"Nothing expires here but uploads that are not completed, after {_ABORT_DAYS} days: disable the "
                "rule, or delete objects by a job.",
            )
    return {"Rules": rules}


def _only(member: str, accepted: str, what: str) -> Callable[[Shape], Shape]:
    """Return the check of a document whose ``member`` has one value that holds here."""

    def check(document: Shape) -> Shape:
        if document.get(member, accepted) != accepted:
            raise not_implemented(f"{what} {document[member]}", remedy=f"Give {accepted}.")
        return {}

    return check


def _only_empty(what: str) -> Callable[[Shape], Shape]:
    """Return the check of a document that asks for nothing only if it is empty."""

    def check(document: Shape) -> Shape:
        if any(value not in ([], {}) or name == "EventBridgeConfiguration" for name, value in document.items()):
            raise not_implemented(f"{what} ({', '.join(sorted(document))})", remedy="Send it empty, or leave it out.")
        return {}

    return check


def _no_acl(_document: Shape) -> Shape:
    raise S3Error("AccessControlListNotSupported", "The bucket does not allow ACLs")


def _refused(what: str) -> Callable[[Shape], Shape]:
    def check(_document: Shape) -> Shape:
        raise not_implemented(what)

    return check


def _malformed() -> S3Error:
    return S3Error(
        "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema"
    )


def _constant(document: Shape) -> Callable[[Call], Shape]:
    return lambda _call: document


_AES = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, "BucketKeyEnabled": False}
_NO_BLOCK = S3Error("NoSuchPublicAccessBlockConfiguration", "The public access block configuration was not found")
_NO_OWNERSHIP = S3Error("OwnershipControlsNotFoundError", "The bucket ownership controls were not found")

_SETTINGS: Mapping[str, _Setting] = {
    "BucketTagging": _Setting(
        name="tagging", read="GetBucketTagging", write="PutBucketTagging", shape="Tagging", payload=None, check=_tags,
        default=S3Error("NoSuchTagSet", "The TagSet does not exist"),
    ),
    "PublicAccessBlock": _Setting(
        name="public-access-block", read="GetBucketPublicAccessBlock", write="PutBucketPublicAccessBlock",
        shape="PublicAccessBlockConfiguration", payload="PublicAccessBlockConfiguration", check=_public_access,
        default=_constant(dict.fromkeys(_BLOCKED, True)), removed=_NO_BLOCK,
    ),
    "BucketEncryption": _Setting(
        name="encryption", read="GetEncryptionConfiguration", write="PutEncryptionConfiguration",
        shape="ServerSideEncryptionConfiguration", payload="ServerSideEncryptionConfiguration", check=_encryption,
        default=_constant({"Rules": [_AES]}),
    ),
    "BucketOwnershipControls": _Setting(
        name="ownership-controls", read="GetBucketOwnershipControls", write="PutBucketOwnershipControls",
        shape="OwnershipControls", payload="OwnershipControls", check=_ownership,
        default=_constant({"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}), removed=_NO_OWNERSHIP,
    ),
    "BucketLifecycleConfiguration": _Setting(
        name="lifecycle", read="GetLifecycleConfiguration", write="PutLifecycleConfiguration",
        shape="BucketLifecycleConfiguration", payload=None, check=_lifecycle,
        stored_member="TransitionDefaultMinimumObjectSize", member_default="all_storage_classes_128K",
        default=S3Error("NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist"),
    ),
    "BucketVersioning": _Setting(
        name="versioning", read="GetBucketVersioning", write="PutBucketVersioning", shape="VersioningConfiguration",
        payload=None, check=_versioning, default=_constant({}),
    ),
    "BucketAccelerateConfiguration": _Setting(
        name="accelerate", read="GetAccelerateConfiguration", write="PutAccelerateConfiguration",
        shape="AccelerateConfiguration", payload=None, check=_only("Status", "Suspended", "Transfer acceleration"),
        default=_constant({}),
    ),
    "BucketRequestPayment": _Setting(
        name="request-payment", read="GetBucketRequestPayment", write="PutBucketRequestPayment",
        shape="RequestPaymentConfiguration", payload=None, check=_only("Payer", "BucketOwner", "The payer"),
        default=_constant({"Payer": "BucketOwner"}),
    ),
    "BucketLogging": _Setting(
        name="logging", read="GetBucketLogging", write="PutBucketLogging", shape="BucketLoggingStatus", payload=None,
        check=_only_empty("Logging to a bucket"), default=_constant({}),
    ),
    "BucketNotificationConfiguration": _Setting(
        name="notification", read="GetBucketNotification", write="PutBucketNotification",
        shape="NotificationConfiguration", payload=None, check=_only_empty("Notifications of a bucket's changes"),
        default=_constant({}),
    ),
    "BucketAcl": _Setting(
        name="acl", read="GetBucketAcl", write="PutBucketAcl", shape="AccessControlPolicy", payload=None, check=_no_acl,
        default=full_control,
    ),
    "BucketCors": _Setting(
        name="cors", read="GetBucketCORS", write="PutBucketCORS", shape="CORSConfiguration", payload=None,
        check=_refused("Cross-origin access to a bucket (CORS)"),
        default=S3Error("NoSuchCORSConfiguration", "The CORS configuration does not exist"),
    ),
    "BucketWebsite": _Setting(
        name="website", read="GetBucketWebsite", write="PutBucketWebsite", shape="WebsiteConfiguration", payload=None,
        check=_refused("A bucket as a website"),
        default=S3Error(
            "NoSuchWebsiteConfiguration", "The specified bucket does not have a website configuration"
        ),
    ),
    "BucketReplication": _Setting(
        name="replication", read="GetReplicationConfiguration", write="PutReplicationConfiguration",
        shape="ReplicationConfiguration", payload="ReplicationConfiguration", check=_refused("Replication of a bucket"),
        default=S3Error("ReplicationConfigurationNotFoundError", "The replication configuration was not found"),
    ),
    "ObjectLockConfiguration": _Setting(
        name="object-lock", read="GetBucketObjectLockConfiguration", write="PutBucketObjectLockConfiguration",
        shape="ObjectLockConfiguration", payload="ObjectLockConfiguration", check=_refused("Object lock"),
        default=S3Error(
            "ObjectLockConfigurationNotFoundError", "Object Lock configuration does not exist for this bucket"
        ),
    ),
}  # fmt: skip

# The names of the operations that remove a setting; the others cannot be removed at S3 either.
_REMOVED_BY = {
    "BucketTagging": "DeleteBucketTagging",
    "PublicAccessBlock": "DeletePublicAccessBlock",
    "BucketEncryption": "DeleteBucketEncryption",
    "BucketOwnershipControls": "DeleteBucketOwnershipControls",
    "BucketLifecycleConfiguration": "DeleteBucketLifecycle",
    "BucketCors": "DeleteBucketCors",
    "BucketWebsite": "DeleteBucketWebsite",
    "BucketReplication": "DeleteBucketReplication",
}

SETTING_HANDLERS: Mapping[str, Handler] = {
    **{f"Get{setting_name}": _get(setting) for setting_name, setting in _SETTINGS.items()},
    **{f"Put{setting_name}": _put(setting) for setting_name, setting in _SETTINGS.items()},
    **{operation: _delete(_SETTINGS[setting_name]) for setting_name, operation in _REMOVED_BY.items()},
}
