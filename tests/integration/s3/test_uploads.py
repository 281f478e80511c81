"""Multipart uploads through boto3."""

import base64
import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from penstock.local.objectstore import ObjectStore

PART = 5 * 2**20


def begin(s3: Any, key: str, **more: Any) -> dict[str, Any]:
    return {"Bucket": "lake", "Key": key, "UploadId": s3.create_multipart_upload(Bucket="lake", Key=key, **more)["UploadId"]}


def complete(s3: Any, upload: dict[str, Any], parts: list[dict[str, Any]], **more: Any) -> Any:
    return s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts}, **more)


def put(s3: Any, upload: dict[str, Any], number: int, body: bytes, **more: Any) -> dict[str, Any]:
    answer = s3.upload_part(**upload, PartNumber=number, Body=body, **more)
    kept = {name: value for name, value in answer.items() if name == "ETag" or name.startswith("Checksum")}
    return {"PartNumber": number, **kept}


def test_an_upload_is_listed_until_it_is_complete_and_no_object_before(s3: Any, store: ObjectStore) -> None:
    upload = begin(s3, "up/one", Metadata={"a": "1"}, ContentType="text/x", Tagging="t=1")
    first, last = put(s3, upload, 1, b"a" * PART), put(s3, upload, 3, b"b")
    assert [part["PartNumber"] for part in s3.list_parts(**upload)["Parts"]] == [1, 3]
    page = s3.list_parts(**upload, MaxParts=1)
    assert (page["IsTruncated"], page["NextPartNumberMarker"]) == (True, 1)
    assert [item["Key"] for item in s3.list_multipart_uploads(Bucket="lake", Prefix="up/")["Uploads"]] == ["up/one"]
    assert "Contents" not in s3.list_objects_v2(Bucket="lake", Prefix="up/")
    answer = complete(s3, upload, [first, last])
    digests = [hashlib.md5(b"a" * PART).digest(), hashlib.md5(b"b").digest()]
    assert answer["ETag"] == f'"{hashlib.md5(b"".join(digests)).hexdigest()}-2"'
    object_ = s3.get_object(Bucket="lake", Key="up/one")
    assert (object_["Metadata"], object_["ContentType"], object_["TagCount"]) == ({"a": "1"}, "text/x", 1)
    assert object_["Body"].read() == b"a" * PART + b"b"
    assert s3.head_object(Bucket="lake", Key="up/one", PartNumber=2)["ContentLength"] == 1
    assert "Uploads" not in s3.list_multipart_uploads(Bucket="lake", Prefix="up/")
    assert list((store.lake / ".penstock-s3" / "uploads" / "lake").iterdir()) == []


def test_completing_again_has_the_same_answer(s3: Any) -> None:
    upload = begin(s3, "up/twice", ChecksumAlgorithm="SHA256", ServerSideEncryption="aws:kms")
    part = put(s3, upload, 1, b"x")
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: complete(s3, upload, [part]), range(8)))
    said = [{name: value for name, value in answer.items() if name != "ResponseMetadata"} for answer in answers]
    assert said == [said[0]] * 8
    assert said[0]["ServerSideEncryption"] == "aws:kms"


def test_a_part_sent_again_takes_the_place_of_the_first(s3: Any) -> None:
    upload = begin(s3, "up/again")
    put(s3, upload, 1, b"first")
    complete(s3, upload, [put(s3, upload, 1, b"second")])
    assert s3.get_object(Bucket="lake", Key="up/again")["Body"].read() == b"second"


def test_lists_of_parts_that_do_not_fit_are_refused(s3: Any) -> None:
    upload = begin(s3, "up/wrong")
    one, two = put(s3, upload, 1, b"small"), put(s3, upload, 2, b"small too")
    for parts, code in (
        ([two, one], "InvalidPartOrder"),
        ([one, one], "InvalidPartOrder"),
        ([one, two], "EntityTooSmall"),
        ([{**one, "ETag": two["ETag"]}], "InvalidPart"),
        ([{**one, "PartNumber": 7}], "InvalidPart"),
        ([], "MalformedXML"),
    ):
        with pytest.raises(ClientError, match=code):
            complete(s3, upload, parts)
    with pytest.raises(ClientError, match="InvalidArgument"):
        put(s3, upload, 10_001, b"x")
    s3.abort_multipart_upload(**upload)
    for call in (lambda: complete(s3, upload, [one]), lambda: put(s3, upload, 1, b"x"), lambda: s3.list_parts(**upload)):
        with pytest.raises(ClientError, match="NoSuchUpload"):
            call()
    with pytest.raises(ClientError, match="NoSuchUpload"):
        s3.list_parts(Bucket="lake", Key="up/wrong", UploadId="../../../secret")


def test_completing_takes_a_condition(s3: Any) -> None:
    s3.put_object(Bucket="lake", Key="up/there", Body=b"first")
    upload = begin(s3, "up/there")
    part = put(s3, upload, 1, b"second")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        complete(s3, upload, [part], IfNoneMatch="*")
    assert s3.get_object(Bucket="lake", Key="up/there")["Body"].read() == b"first"
    complete(s3, upload, [part])
    assert s3.get_object(Bucket="lake", Key="up/there")["Body"].read() == b"second"


@pytest.mark.parametrize(
    ("algorithm", "kind"), [("CRC64NVME", "FULL_OBJECT"), ("CRC32", "COMPOSITE"), ("SHA256", "COMPOSITE")]
)
def test_checksums_of_uploads(s3: Any, algorithm: str, kind: str) -> None:
    upload = begin(s3, "up/summed", ChecksumAlgorithm=algorithm)
    digests = []
    parts = []
    for number, body in ((1, b"a" * PART), (2, b"b")):
        value = {}
        if algorithm == "SHA256":
            digests.append(hashlib.sha256(body).digest())
            value = {"ChecksumSHA256": base64.b64encode(digests[-1]).decode()}
        elif algorithm == "CRC64NVME":
            # boto3 would need AWS's C library for it: the server works it out.
            value = {"ContentMD5": base64.b64encode(hashlib.md5(body).digest()).decode()}
        parts.append(put(s3, upload, number, body, **value))
    answer = complete(s3, upload, parts)
    assert answer["ChecksumType"] == kind
    if algorithm == "SHA256":
        expected = base64.b64encode(hashlib.sha256(b"".join(digests)).digest()).decode()
        assert answer["ChecksumSHA256"] == f"{expected}-2"
    result = s3.head_object(Bucket="lake", Key="up/summed", ChecksumMode="ENABLED")
    assert result[f"Checksum{algorithm}"] == answer[f"Checksum{algorithm}"]


def test_parts_that_are_copied(s3: Any) -> None:
    s3.put_object(Bucket="lake", Key="up/source", Body=b"0123456789" * (PART // 10))
    upload = begin(s3, "up/copied")
    whole = s3.upload_part_copy(**upload, PartNumber=1, CopySource="lake/up/source")["CopyPartResult"]
    cut = s3.upload_part_copy(**upload, PartNumber=2, CopySource="lake/up/source", CopySourceRange="bytes=3-5")
    parts = [{"PartNumber": 1, "ETag": whole["ETag"]}, {"PartNumber": 2, "ETag": cut["CopyPartResult"]["ETag"]}]
    with pytest.raises(ClientError, match="InvalidRange"):
        s3.upload_part_copy(**upload, PartNumber=2, CopySource="lake/up/source", CopySourceRange="bytes=99999999-")
    with pytest.raises(ClientError, match="InvalidArgument"):
        s3.upload_part_copy(**upload, PartNumber=2, CopySource="lake/up/source", CopySourceRange="bytes=5-")
    complete(s3, upload, parts)
    result = s3.get_object(Bucket="lake", Key="up/copied", Range="bytes=-5")["Body"].read()
    assert result == b"89345"


def test_a_large_file_goes_up_and_comes_down_in_parallel_parts(s3: Any, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(hashlib.sha256(b"seed").digest() * 2**20)
    config = TransferConfig(multipart_threshold=PART, multipart_chunksize=PART, max_concurrency=4)
    s3.upload_file(str(source), "lake", "up/large", Config=config)
    s3.download_file("lake", "up/large", str(target), Config=config)
    assert target.read_bytes() == source.read_bytes()


def test_a_listing_of_uploads_by_prefix_goes_on_from_page_to_page(s3: Any) -> None:
    keys = ["pages/a/1", "pages/a/2", "pages/b", "pages/c/1"]
    started = {key: s3.create_multipart_upload(Bucket="lake", Key=key)["UploadId"] for key in keys}
    pages = s3.get_paginator("list_multipart_uploads").paginate(
        Bucket="lake", Prefix="pages/", Delimiter="/", PaginationConfig={"PageSize": 1}
    )
    results = [
        [common_prefix["Prefix"] for common_prefix in page.get("CommonPrefixes", [])]
        + [item["Key"] for item in page.get("Uploads", [])]
        for page in pages
    ]
    for key, upload in started.items():
        s3.abort_multipart_upload(Bucket="lake", Key=key, UploadId=upload)
    assert results == [["pages/a/"], ["pages/b"], ["pages/c/"]]
