"""Operations on buckets, and their listings."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from penstock.api.s3.call import Answer, Call, Handler, not_implemented
from penstock.api.s3.xml import NAMESPACE
from penstock.lake.objects.attributes import ObjectInfo
from penstock.lake.objects.errors import S3Error
from penstock.lake.objects.listing import LAST, Page

__all__ = ["BUCKET_HANDLERS", "full_control", "owner_of"]

_MAX_KEYS = 1_000
_MAX_ELEMENTS = 1_000


def owner_of(call: Call) -> dict[str, str]:
    """Return the owner of everything in a lake: its account."""
    return {"ID": f"{call.lake.account:0>64}", "DisplayName": call.lake.account}


async def list_buckets(call: Call) -> Answer:
    await call.check_access("ListAllMyBuckets")
    prefix, after = call.members.get("Prefix", ""), _token(call.members.get("ContinuationToken"))
    limit = call.members.get("MaxBuckets", 10_000)
    if not 1 <= limit <= 10_000:
        raise S3Error("InvalidArgument", "Argument max-buckets must be an integer between 1 and 10000")
    buckets = [
        bucket for bucket in await call.run(call.lake.store.buckets) if bucket[0].startswith(prefix) and bucket[0] > after
    ]
    members: dict[str, Any] = {
        "Owner": owner_of(call),
        "Buckets": [
            {"Name": name, "CreationDate": created, "BucketRegion": call.region} for name, created in buckets[:limit]
        ],
    }
    if len(buckets) > limit:
        members["ContinuationToken"] = _as_token(buckets[limit - 1][0])
    return Answer(members=members)


async def create_bucket(call: Call) -> Answer:
    await call.check_access("CreateBucket")
    document = await call.document("CreateBucketConfiguration", elements=_MAX_ELEMENTS, optional=True)
    if document:
        region = document.get("LocationConstraint")
        if region not in {None, "", call.region}:
            raise S3Error(
                "InvalidArgument",
                "The specified location-constraint is not valid",
                remedy=f"This server's region is {call.region}.",
                details={"LocationConstraint": str(region)[:50]},
            )
    if call.headers.get("x-amz-bucket-object-lock-enabled", "").lower() == "true":
        raise not_implemented("Object lock")
    await call.run(call.lake.store.create_bucket, call.bucket)
    return Answer(members={"Location": f"/{call.bucket}"})


async def head_bucket(call: Call) -> Answer:
    await call.check_access("ListBucket")
    await call.run(call.lake.store.bucket, call.bucket)
    return Answer(headers={"x-amz-bucket-region": call.region, "x-amz-access-point-alias": "false"})


async def delete_bucket(call: Call) -> Answer:
    await call.check_access("DeleteBucket")
    await call.run(call.lake.store.delete_bucket, call.bucket)
    return Answer(status=204)


async def get_bucket_location(call: Call) -> Answer:
    await call.check_access("GetBucketLocation")
    await call.run(call.lake.store.bucket, call.bucket)
    # The constraint of us-east-1 is empty: Amazon S3 API reference, GetBucketLocation.
    region = "" if call.region == "us-east-1" else call.region
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<LocationConstraint xmlns="{NAMESPACE}">{region}</LocationConstraint>'
    return Answer(document=text.encode())


def full_control(call: Call) -> dict[str, Any]:
    """Return the access control list of all buckets and objects: the account has full control."""
    owner = owner_of(call)
    return {"Owner": owner, "Grants": [{"Grantee": {**owner, "Type": "CanonicalUser"}, "Permission": "FULL_CONTROL"}]}


async def list_objects_v2(call: Call) -> Answer:
    members = call.members
    token, start = members.get("ContinuationToken"), members.get("StartAfter", "")
    after = _token(token) if token is not None else start
    page, listed = await _list(call, after)
    listed |= {
        "KeyCount": len(page.objects) + len(page.prefixes),
        "ContinuationToken": token,
        "NextContinuationToken": _as_token(page.next_after) if page.next_after is not None else None,
        "StartAfter": _encoded(call, start) if start else None,
    }
    if not members.get("FetchOwner", False):
        for content in listed["Contents"]:
            del content["Owner"]
    return Answer(members=listed)


async def list_objects(call: Call) -> Answer:
    marker = call.members.get("Marker", "")
    delimiter = call.members.get("Delimiter", "")
    # A marker that is a common prefix stands for all keys that begin with it.
    after = marker + LAST if delimiter and marker.endswith(delimiter) and marker != call.members.get("Prefix") else marker
    page, listed = await _list(call, after)
    listed["Marker"] = _encoded(call, marker)
    if page.next_after is not None and delimiter:
        listed["NextMarker"] = _encoded(call, page.next_after.removesuffix(LAST))
    return Answer(members=listed)


async def list_object_versions(call: Call) -> Answer:
    marker = call.members.get("KeyMarker", "")
    page, listed = await _list(call, marker, action="ListBucketVersions")
    versions = [{**content, "VersionId": "null", "IsLatest": True} for content in listed.pop("Contents")]
    listed |= {"Versions": versions, "KeyMarker": _encoded(call, marker), "VersionIdMarker": ""}
    if page.next_after is not None:
        listed |= {"NextKeyMarker": _encoded(call, page.next_after), "NextVersionIdMarker": "null"}
    return Answer(members=listed)


async def _list(call: Call, after: str, *, action: str = "ListBucket") -> tuple[Page, dict[str, Any]]:
    members = call.members
    prefix, delimiter = members.get("Prefix", ""), members.get("Delimiter", "")
    limit = members.get("MaxKeys", _MAX_KEYS)
    if not 0 <= limit <= 2**31 - 1:
        raise S3Error("InvalidArgument", "Argument max-keys must be an integer between 0 and 2147483647")
    if members.get("EncodingType", "url") != "url":
        raise S3Error("InvalidArgument", "Invalid Encoding Method specified in Request")
    limit = min(limit, _MAX_KEYS)
    extra = {"s3:prefix": prefix, "s3:delimiter": delimiter, "s3:max-keys": str(limit)}
    await call.check_access(action, extra={name: value for name, value in extra.items() if value})
    page: Page = await call.run(
        lambda: call.lake.store.page(call.bucket, prefix=prefix, delimiter=delimiter, after=after, limit=limit)
    )
    return page, {
        "Name": call.bucket,
        "Prefix": _encoded(call, prefix),
        "Delimiter": _encoded(call, delimiter) if delimiter else None,
        "MaxKeys": limit,
        "EncodingType": members.get("EncodingType"),
        "IsTruncated": page.next_after is not None,
        "Contents": [_listed(call, object_) for object_ in page.objects],
        "CommonPrefixes": [{"Prefix": _encoded(call, name)} for name in page.prefixes],
    }


def _listed(call: Call, info: ObjectInfo) -> dict[str, Any]:
    return {
        "Key": _encoded(call, info.key),
        "LastModified": info.modified,
        "ETag": info.etag,
        "Size": info.size,
        "StorageClass": "STANDARD",
        "Owner": owner_of(call),
    }


def _encoded(call: Call, text: str) -> str:
    return quote(text, safe="/") if call.members.get("EncodingType") == "url" else text


def _as_token(after: str) -> str:
    return base64.urlsafe_b64encode(after.encode()).decode()


def _token(token: str | None) -> str:
    if token is None:
        return ""
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise S3Error(
            "InvalidArgument", "The continuation token provided is incorrect", details={"ArgumentName": "continuation-token"}
        ) from None


BUCKET_HANDLERS: Mapping[str, Handler] = {
    "CreateBucket": create_bucket,
    "DeleteBucket": delete_bucket,
    "GetBucketLocation": get_bucket_location,
    "HeadBucket": head_bucket,
    "ListBuckets": list_buckets,
    "ListObjectVersions": list_object_versions,
    "ListObjects": list_objects,
    "ListObjectsV2": list_objects_v2,
}
