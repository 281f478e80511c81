"""Objects through boto3: requests of AWS's client, and how it reads the answers."""

import base64
import hashlib
import os
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.lake.etags import set_attribute
from penstock.local.objectstore import ObjectStore


def code_of(error: pytest.ExceptionInfo[ClientError]) -> str:
    return str(error.value.response["Error"]["Code"])


def refused(call: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call()
    return code_of(caught)


def test_metadata_and_headers_of_a_put_come_back(s3: Any) -> None:
    put = s3.put_object(
        Bucket="lake",
        Key="all/é ü+%.txt",
        Body=b"hello",
        ContentType="text/plain",
        CacheControl="max-age=5",
        ContentDisposition="attachment",
        ContentEncoding="identity",
        ContentLanguage="de",
        Expires=datetime(2030, 1, 1, tzinfo=UTC),
        Metadata={"owner": "me", "other": "b"},
        Tagging="team=data&cost%20centre=1",
    )
    assert put["ETag"] == f'"{hashlib.md5(b"hello").hexdigest()}"'
    for found in (s3.head_object(Bucket="lake", Key="all/é ü+%.txt"), s3.get_object(Bucket="lake", Key="all/é ü+%.txt")):
        assert found["ContentType"] == "text/plain"
        assert found["CacheControl"] == "max-age=5"
        assert found["ContentDisposition"] == "attachment"
        assert found["ContentEncoding"] == "identity"
        assert found["ContentLanguage"] == "de"
        assert found["ExpiresString"] == "Tue, 01 Jan 2030 00:00:00 GMT"
        assert found["Metadata"] == {"owner": "me", "other": "b"}
        assert found["TagCount"] == 2
        assert (found["ContentLength"], found["ETag"]) == (5, put["ETag"])
        assert abs(found["LastModified"] - datetime.now(UTC)) < timedelta(minutes=5)


def test_an_object_without_a_type_has_amazons_default(s3: Any) -> None:
    s3.put_object(Bucket="lake", Key="untyped", Body=b"")
    assert s3.get_object(Bucket="lake", Key="untyped")["ContentType"] == "binary/octet-stream"


@pytest.mark.parametrize(
    ("header", "status", "body"),
    [
        ("bytes=0-0", 206, b"0"),
        ("bytes=2-4", 206, b"234"),
        ("bytes=5-", 206, b"56789"),
        ("bytes=-3", 206, b"789"),
        ("bytes=-99", 206, b"0123456789"),
        ("bytes=5-99", 206, b"56789"),
        ("bytes=4-2", 200, b"0123456789"),
        ("bytes=0-1,3-4", 200, b"0123456789"),
        ("lines=1-2", 200, b"0123456789"),
    ],
)
def test_ranges(s3: Any, header: str, status: int, body: bytes) -> None:
    s3.put_object(Bucket="lake", Key="ranged", Body=b"0123456789")
    object_ = s3.get_object(Bucket="lake", Key="ranged", Range=header)
    assert (object_["ResponseMetadata"]["HTTPStatusCode"], object_["Body"].read()) == (status, body)


def test_a_range_beyond_the_end_is_refused(s3: Any) -> None:
    s3.put_object(Bucket="lake", Key="ranged", Body=b"0123456789")
    for header in ("bytes=10-", "bytes=-0"):
        assert refused(lambda header=header: s3.get_object(Bucket="lake", Key="ranged", Range=header)) == "InvalidRange"


def test_conditions_of_reads(s3: Any) -> None:
    etag = s3.put_object(Bucket="lake", Key="conditional", Body=b"1")["ETag"]
    past, future = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
    get = {"Bucket": "lake", "Key": "conditional"}
    assert s3.get_object(**get, IfMatch=etag)["Body"].read() == b"1"
    assert s3.get_object(**get, IfNoneMatch='"other"', IfModifiedSince=future)["Body"].read() == b"1"
    assert s3.get_object(**get, IfMatch=etag, IfUnmodifiedSince=past)["Body"].read() == b"1"
    assert refused(lambda: s3.get_object(**get, IfMatch='"other"')) == "PreconditionFailed"
    assert refused(lambda: s3.get_object(**get, IfUnmodifiedSince=past)) == "PreconditionFailed"
    for given in ({"IfNoneMatch": etag}, {"IfNoneMatch": "*"}, {"IfModifiedSince": future}):
        assert refused(lambda given=given: s3.get_object(**get, **given)) == "304"


def test_conditions_of_writes(s3: Any) -> None:
    put = {"Bucket": "lake", "Key": "written-if"}
    assert refused(lambda: s3.put_object(**put, Body=b"1", IfMatch='"x"')) == "NoSuchKey"
    etag = s3.put_object(**put, Body=b"1", IfNoneMatch="*")["ETag"]
    assert refused(lambda: s3.put_object(**put, Body=b"2", IfNoneMatch="*")) == "PreconditionFailed"
    assert refused(lambda: s3.put_object(**put, Body=b"2", IfMatch='"x"')) == "PreconditionFailed"
    assert s3.get_object(**put)["Body"].read() == b"1"
    other = s3.put_object(**put, Body=b"2", IfMatch=etag)["ETag"]
    assert refused(lambda: s3.delete_object(**put, IfMatch=etag)) == "PreconditionFailed"
    s3.delete_object(**put, IfMatch=other)
    assert refused(lambda: s3.head_object(**put)) == "404"


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_checksums_are_checked_kept_and_answered(s3: Any, algorithm: str) -> None:
    # Of b"123456789": the check values of the CRC catalogue, and FIPS 180's digests.
    crcs = {"CRC32": "cbf43926", "CRC32C": "e3069283", "CRC64NVME": "ae8b14860a799888"}
    raw = bytes.fromhex(crcs[algorithm]) if algorithm in crcs else hashlib.new(algorithm, b"123456789").digest()
    good = base64.b64encode(raw).decode()
    name = f"Checksum{algorithm}"
    s3.put_object(Bucket="lake", Key="summed", Body=b"123456789", **{name: good})
    result = s3.head_object(Bucket="lake", Key="summed", ChecksumMode="ENABLED")
    assert (result[name], result["ChecksumType"]) == (good, "FULL_OBJECT")
    wrong = base64.b64encode(bytes(len(raw))).decode()
    assert refused(lambda: s3.put_object(Bucket="lake", Key="summed", Body=b"other", **{name: wrong})) == "BadDigest"
    assert s3.get_object(Bucket="lake", Key="summed")["Body"].read() == b"123456789"


def test_content_md5_is_checked(s3: Any) -> None:
    put = {"Bucket": "lake", "Key": "md5"}
    s3.put_object(**put, Body=b"x", ContentMD5=base64.b64encode(hashlib.md5(b"x").digest()).decode())
    wrong = base64.b64encode(bytes(16)).decode()
    assert refused(lambda: s3.put_object(**put, Body=b"y", ContentMD5=wrong)) == "BadDigest"
    assert refused(lambda: s3.put_object(**put, Body=b"y", ContentMD5="short")) == "InvalidDigest"
    assert s3.get_object(**put)["Body"].read() == b"x"


def test_headers_that_clients_often_send(s3: Any) -> None:
    put = {"Bucket": "lake", "Key": "habits", "Body": b"x"}
    answer = s3.put_object(
        **put,
        ACL="bucket-owner-full-control",
        ExpectedBucketOwner="111122223333",
        ServerSideEncryption="aws:kms",
        SSEKMSKeyId="arn:aws:kms:us-east-1:111122223333:key/1",
        StorageClass="STANDARD",
        RequestPayer="requester",
        Tagging="a=b",
    )
    assert (answer["ServerSideEncryption"], answer["SSEKMSKeyId"][-1]) == ("aws:kms", "1")
    assert s3.head_object(Bucket="lake", Key="habits")["ServerSideEncryption"] == "aws:kms"
    assert s3.put_object(**put)["ServerSideEncryption"] == "AES256"
    assert refused(lambda: s3.put_object(**put, ExpectedBucketOwner="999999999999")) == "AccessDenied"
    for acl in ("public-read", "public-read-write", "authenticated-read"):
        assert refused(lambda acl=acl: s3.put_object(**put, ACL=acl)) == "AccessDenied"
    assert refused(lambda: s3.put_object(**put, GrantRead="id=x")) == "AccessDenied"
    assert refused(lambda: s3.put_object(**put, StorageClass="GLACIER")) == "InvalidStorageClass"
    assert refused(lambda: s3.put_object(**put, SSECustomerKey="0" * 32, SSECustomerAlgorithm="AES256")) == "NotImplemented"
    assert refused(lambda: s3.put_object(**put, WebsiteRedirectLocation="/x")) == "NotImplemented"


def test_tags(s3: Any) -> None:
    at = {"Bucket": "lake", "Key": "tagged"}
    s3.put_object(**at, Body=b"x", Metadata={"kept": "1"})
    assert s3.get_object_tagging(**at)["TagSet"] == []
    s3.put_object_tagging(**at, Tagging={"TagSet": [{"Key": "a", "Value": "ü"}, {"Key": "b", "Value": ""}]})
    assert s3.get_object_tagging(**at)["TagSet"] == [{"Key": "a", "Value": "ü"}, {"Key": "b", "Value": ""}]
    assert s3.head_object(**at)["Metadata"] == {"kept": "1"}
    s3.delete_object_tagging(**at)
    assert s3.get_object_tagging(**at)["TagSet"] == []
    twice = [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]
    assert refused(lambda: s3.put_object_tagging(**at, Tagging={"TagSet": twice})) == "InvalidTag"
    assert refused(lambda: s3.get_object_tagging(Bucket="lake", Key="none")) == "NoSuchKey"


def test_copies(s3: Any) -> None:
    s3.put_object(Bucket="lake", Key="from", Body=b"x" * 100, ContentType="text/x", Metadata={"a": "1"}, Tagging="t=1")
    copied = s3.copy_object(Bucket="lake", Key="to/copy", CopySource={"Bucket": "lake", "Key": "from"})["CopyObjectResult"]
    object_ = s3.get_object(Bucket="lake", Key="to/copy")
    assert (object_["ETag"], object_["ContentType"], object_["Metadata"]) == (copied["ETag"], "text/x", {"a": "1"})
    assert s3.get_object_tagging(Bucket="lake", Key="to/copy")["TagSet"] == [{"Key": "t", "Value": "1"}]
    changed = {"Bucket": "lake", "Key": "to/copy", "CopySource": "lake/to/copy"}
    s3.copy_object(**changed, MetadataDirective="REPLACE", Metadata={"b": "2"}, TaggingDirective="REPLACE", Tagging="u=2")
    object_ = s3.get_object(Bucket="lake", Key="to/copy")
    assert (object_["Metadata"], object_["Body"].read()) == ({"b": "2"}, b"x" * 100)
    assert s3.get_object_tagging(Bucket="lake", Key="to/copy")["TagSet"] == [{"Key": "u", "Value": "2"}]
    assert refused(lambda: s3.copy_object(**changed)) == "InvalidRequest"
    assert refused(lambda: s3.copy_object(Bucket="lake", Key="x", CopySource="lake/none")) == "NoSuchKey"
    failing = {"Bucket": "lake", "Key": "x", "CopySource": "lake/from"}
    assert refused(lambda: s3.copy_object(**failing, CopySourceIfMatch='"other"')) == "PreconditionFailed"
    assert refused(lambda: s3.copy_object(**failing, CopySourceIfNoneMatch=copied["ETag"])) == "PreconditionFailed"


def test_attributes_and_lists_of_grants(s3: Any) -> None:
    etag = s3.put_object(Bucket="lake", Key="attributed", Body=b"x", ChecksumAlgorithm="SHA256")["ETag"]
    expected = ["ETag", "Checksum", "ObjectSize", "StorageClass", "ObjectParts"]
    object_attributes = s3.get_object_attributes(Bucket="lake", Key="attributed", ObjectAttributes=expected)
    assert (object_attributes["ETag"], object_attributes["ObjectSize"], object_attributes["StorageClass"]) == (
        etag.strip('"'),
        1,
        "STANDARD",
    )
    assert object_attributes["Checksum"]["ChecksumSHA256"] == base64.b64encode(hashlib.sha256(b"x").digest()).decode()
    grants = s3.get_object_acl(Bucket="lake", Key="attributed")["Grants"]
    assert [(grant["Grantee"]["Type"], grant["Permission"]) for grant in grants] == [("CanonicalUser", "FULL_CONTROL")]


def test_headers_of_an_answer_are_overridden_when_they_were_signed(s3: Any) -> None:
    s3.put_object(Bucket="lake", Key="overridden", Body=b"x", ContentType="text/a")
    object_ = s3.get_object(
        Bucket="lake", Key="overridden", ResponseContentType="text/b", ResponseContentDisposition="attachment; filename=x"
    )
    assert (object_["ContentType"], object_["ContentDisposition"]) == ("text/b", "attachment; filename=x")


def test_deletes(s3: Any, store: ObjectStore) -> None:
    s3.delete_object(Bucket="lake", Key="never/was")
    for key in ("gone/a/1", "gone/a/2", "gone/b"):
        s3.put_object(Bucket="lake", Key=key, Body=b"x")
    answer = s3.delete_objects(Bucket="lake", Delete={"Objects": [{"Key": key} for key in ("gone/a/1", "gone/a/2", "none")]})
    assert sorted(item["Key"] for item in answer["Deleted"]) == ["gone/a/1", "gone/a/2", "none"]
    assert not (store.lake / "lake" / "gone" / "a").exists()
    quiet = s3.delete_objects(Bucket="lake", Delete={"Objects": [{"Key": "gone/b"}], "Quiet": True})
    assert "Deleted" not in quiet
    assert not (store.lake / "lake" / "gone").exists()
    assert (store.lake / "lake").is_dir()


def test_a_key_is_an_object_or_has_others_below_it(s3: Any) -> None:
    s3.put_object(Bucket="lake", Key="file", Body=b"x")
    s3.put_object(Bucket="lake", Key="folder/x", Body=b"x")
    assert refused(lambda: s3.put_object(Bucket="lake", Key="file/below", Body=b"x")) == "InvalidRequest"
    assert refused(lambda: s3.put_object(Bucket="lake", Key="folder", Body=b"x")) == "InvalidRequest"
    assert refused(lambda: s3.get_object(Bucket="lake", Key="folder")) == "NoSuchKey"
    assert refused(lambda: s3.get_object(Bucket="lake", Key="file/below")) == "NoSuchKey"
    assert refused(lambda: s3.get_object(Bucket="lake", Key="file/")) == "NoSuchKey"
    s3.delete_object(Bucket="lake", Key="folder")
    s3.delete_object(Bucket="lake", Key="file/below")
    assert s3.get_object(Bucket="lake", Key="folder/x")["Body"].read() == b"x"
    assert s3.get_object(Bucket="lake", Key="file")["Body"].read() == b"x"


def test_a_folder_as_an_object(s3: Any, store: ObjectStore) -> None:
    s3.put_object(Bucket="lake", Key="marker/", Metadata={"a": "1"})
    assert (store.lake / "lake" / "marker").is_dir()
    result = s3.head_object(Bucket="lake", Key="marker/")
    assert (result["ContentLength"], result["Metadata"]) == (0, {"a": "1"})
    assert refused(lambda: s3.head_object(Bucket="lake", Key="marker")) == "404"
    assert refused(lambda: s3.put_object(Bucket="lake", Key="marker/", Body=b"x")) == "InvalidRequest"
    s3.put_object(Bucket="lake", Key="marker/x", Body=b"x")
    s3.delete_object(Bucket="lake", Key="marker/x")
    assert s3.get_object(Bucket="lake", Key="marker/")["Body"].read() == b""
    s3.delete_object(Bucket="lake", Key="marker/")
    assert not (store.lake / "lake" / "marker").exists()


def test_a_file_that_another_program_overwrote_has_lost_its_metadata(s3: Any, store: ObjectStore) -> None:
    at = {"Bucket": "lake", "Key": "overwritten"}
    s3.put_object(**at, Body=b"ours", Metadata={"a": "1"})
    file = store.lake / "lake" / "overwritten"
    file.write_bytes(b"theirs now")
    os.utime(file, (1000, 1000))
    object_ = s3.get_object(**at)
    assert (object_["Metadata"], object_["Body"].read()) == ({}, b"theirs now")
    assert object_["ETag"] == f'"{hashlib.md5(b"theirs now").hexdigest()}"'


def test_an_object_of_the_former_gateway_keeps_its_type_and_metadata(s3: Any, store: ObjectStore) -> None:
    file = store.lake / "lake" / "former"
    file.write_bytes(b"x" * 10)
    # The names that s3proxy gave what it kept with a file.
    for name, value in (
        ("content-type", b"text/plain"),
        ("user-metadata.owner", b"me"),
        ("user-metadata.s3proxy_checksum_crc32", b"NhCmhg=="),
        ("content-md5", b'"abc-2"'),
    ):
        set_attribute(file, f"user.user.{name}", value)
    result = s3.head_object(Bucket="lake", Key="former")
    assert (result["ContentType"], result["Metadata"], result["ETag"]) == ("text/plain", {"owner": "me"}, '"abc-2"')


def test_operations_that_are_not_served_are_named(s3: Any) -> None:
    with pytest.raises(ClientError, match=r"NotImplemented.*Versioning \(Status Enabled\) is not implemented"):
        s3.put_bucket_versioning(Bucket="lake", VersioningConfiguration={"Status": "Enabled"})
    with pytest.raises(ClientError, match=r"NotImplemented.*RestoreObject"):
        s3.restore_object(Bucket="lake", Key="x", RestoreRequest={"Days": 1})
    with pytest.raises(ClientError, match="Invalid version id"):
        s3.get_object(Bucket="lake", Key="x", VersionId="abc")
