"""Buckets and listings through boto3."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.local.objectstore import ObjectStore


def test_a_bucket_is_made_listed_and_removed(s3: Any, store: ObjectStore) -> None:
    s3.create_bucket(Bucket="another.bucket-1")
    assert {"another.bucket-1", "lake"} <= {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}
    assert s3.head_bucket(Bucket="another.bucket-1")["BucketRegion"] == "us-east-1"
    assert s3.get_bucket_location(Bucket="another.bucket-1")["LocationConstraint"] is None
    with pytest.raises(ClientError, match="BucketAlreadyOwnedByYou"):
        s3.create_bucket(Bucket="another.bucket-1")
    s3.put_object(Bucket="another.bucket-1", Key="a/b", Body=b"x")
    with pytest.raises(ClientError, match="BucketNotEmpty"):
        s3.delete_bucket(Bucket="another.bucket-1")
    s3.delete_object(Bucket="another.bucket-1", Key="a/b")
    (store.lake / "another.bucket-1" / "left" / "behind").mkdir(parents=True)
    s3.delete_bucket(Bucket="another.bucket-1")
    with pytest.raises(ClientError, match="404"):
        s3.head_bucket(Bucket="another.bucket-1")


@pytest.mark.parametrize("name", ["UPPER", "a..b", "192.168.1.1", "a_b", "-ab"])
def test_invalid_bucket_names_are_refused(s3: Any, name: str) -> None:
    with pytest.raises(ClientError, match="InvalidBucketName"):
        s3.create_bucket(Bucket=name)


def test_settings_are_those_of_a_new_bucket(s3: Any) -> None:
    assert "Status" not in s3.get_bucket_versioning(Bucket="lake")
    rules = s3.get_bucket_encryption(Bucket="lake")["ServerSideEncryptionConfiguration"]["Rules"]
    assert rules[0]["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"
    assert s3.get_bucket_acl(Bucket="lake")["Grants"][0]["Permission"] == "FULL_CONTROL"
    assert s3.get_public_access_block(Bucket="lake")["PublicAccessBlockConfiguration"]["BlockPublicAcls"] is True
    assert s3.get_bucket_request_payment(Bucket="lake")["Payer"] == "BucketOwner"
    owned = s3.get_bucket_ownership_controls(Bucket="lake")["OwnershipControls"]["Rules"]
    assert owned == [{"ObjectOwnership": "BucketOwnerEnforced"}]
    for read, code in (
        (s3.get_bucket_policy, "NoSuchBucketPolicy"),
        (s3.get_bucket_cors, "NoSuchCORSConfiguration"),
        (s3.get_bucket_lifecycle_configuration, "NoSuchLifecycleConfiguration"),
        (s3.get_bucket_tagging, "NoSuchTagSet"),
        (s3.get_object_lock_configuration, "ObjectLockConfigurationNotFoundError"),
    ):
        with pytest.raises(ClientError, match=code):
            read(Bucket="lake")


KEYS = ["a", "a.txt", "b/1", "b/2/x", "b/2/y", "b-c", "b0", "é", "z/ü/1", "z/ü/2"]


@pytest.fixture(scope="module")
def listed(s3: Any) -> str:
    s3.create_bucket(Bucket="listed")
    for key in KEYS:
        s3.put_object(Bucket="listed", Key=key, Body=b"x")
    return "listed"


def test_keys_come_in_the_order_of_their_bytes(s3: Any, listed: str) -> None:
    expected = sorted(KEYS, key=str.encode)
    assert [content["Key"] for content in s3.list_objects_v2(Bucket=listed)["Contents"]] == expected
    assert [content["Key"] for content in s3.list_objects(Bucket=listed)["Contents"]] == expected
    versions = s3.list_object_versions(Bucket=listed)["Versions"]
    assert [(version["Key"], version["VersionId"]) for version in versions] == [(key, "null") for key in expected]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("operation", ["list_objects", "list_objects_v2"])
@pytest.mark.parametrize("delimiter", ["", "/", "/ü"])
def test_pages_together_are_the_whole_listing(s3: Any, listed: str, size: int, operation: str, delimiter: str) -> None:
    pages = s3.get_paginator(operation).paginate(
        Bucket=listed, PaginationConfig={"PageSize": size}, **({"Delimiter": delimiter} if delimiter else {})
    )
    keys, prefixes = [], []
    for page in pages:
        keys += [content["Key"] for content in page.get("Contents", [])]
        prefixes += [common_prefix["Prefix"] for common_prefix in page.get("CommonPrefixes", [])]
        assert len(page.get("Contents", [])) + len(page.get("CommonPrefixes", [])) <= size
    grouped = {key[: key.index(delimiter) + len(delimiter)] for key in KEYS if delimiter and delimiter in key}
    assert prefixes == sorted(grouped, key=str.encode)
    assert keys == sorted((key for key in KEYS if not delimiter or delimiter not in key), key=str.encode)


def test_prefixes_starts_and_owners(s3: Any, listed: str) -> None:
    page = s3.list_objects_v2(Bucket=listed, Prefix="b/", Delimiter="/", FetchOwner=True)
    assert [content["Key"] for content in page["Contents"]] == ["b/1"]
    assert [common_prefix["Prefix"] for common_prefix in page["CommonPrefixes"]] == ["b/2/"]
    assert page["Contents"][0]["Owner"]["DisplayName"] == "111122223333"
    assert page["KeyCount"] == 2
    after = s3.list_objects_v2(Bucket=listed, StartAfter="b/2/x")["Contents"]
    assert [item["Key"] for item in after] == ["b/2/y", "b0", "z/ü/1", "z/ü/2", "é"]
    assert "Contents" not in s3.list_objects_v2(Bucket=listed, MaxKeys=0)
    with pytest.raises(ClientError, match="continuation token"):
        s3.list_objects_v2(Bucket=listed, ContinuationToken="?")
    with pytest.raises(ClientError, match="NoSuchBucket"):
        s3.list_objects_v2(Bucket="no-such-bucket")
