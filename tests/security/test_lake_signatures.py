"""Signatures of requests at S3: whole, unaltered, in time, or refused."""

import time
from typing import Any

import pytest
import requests
from botocore.config import Config
from botocore.exceptions import ClientError

from penstock.local.platform import Platform
from tests.security.lake_requests import client_of, send, signed


def test_signature_version_2_is_refused_by_name(platform: Platform, s3: Any) -> None:
    client = client_of(platform, config=Config(signature_version="s3", retries={"total_max_attempts": 1}))
    with pytest.raises(ClientError, match=r"Signature Version 2 is refused.*s3v4"):
        client.get_object(Bucket="lake", Key="secret.txt")
    presigned = client.generate_presigned_url("get_object", Params={"Bucket": "lake", "Key": "secret.txt"})
    answer = requests.get(presigned, timeout=30)
    assert (answer.status_code, "Signature Version 2 is refused" in answer.text) == (400, True)


def test_an_unsigned_copy_source_is_refused(platform: Platform, s3: Any) -> None:
    answer = send(signed(platform, "PUT", "/lake/copied"), added={"x-amz-copy-source": "/lake/secret.txt"})
    assert answer.status_code == 403
    assert "<HeadersNotSigned>x-amz-copy-source</HeadersNotSigned>" in answer.text
    presigned = presign(platform, "put_object", "copied")
    answer = requests.put(presigned, headers={"x-amz-copy-source": "/lake/secret.txt"}, timeout=30)
    assert answer.status_code == 403
    assert not (platform.home.lake / "lake" / "copied").exists()


@pytest.mark.parametrize("header", ["x-amz-acl", "x-amz-tagging", "x-amz-meta-a", "x-amz-security-token"])
def test_every_header_of_amazons_has_to_be_signed(platform: Platform, s3: Any, header: str) -> None:
    answer = send(signed(platform, "PUT", "/lake/unsigned-header"), added={header: "private"})
    assert answer.status_code == 403
    assert header in answer.text


def presign(platform: Platform, operation: str, key: str, seconds: int = 60) -> str:
    client = client_of(platform, config=Config(signature_version="s3v4"))
    url: str = client.generate_presigned_url(operation, Params={"Bucket": "lake", "Key": key}, ExpiresIn=seconds)
    client.close()
    return url


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("secret.txt", "other.txt"),
        ("X-Amz-Expires=60", "X-Amz-Expires=6000"),
        ("&X-Amz-SignedHeaders", "&response-content-type=text%2Fhtml&X-Amz-SignedHeaders"),
        ("us-east-1", "eu-west-1"),
        ("%2Fs3%2F", "%2Fglue%2F"),
    ],
)
def test_a_tampered_presigned_url_is_refused(platform: Platform, s3: Any, old: str, new: str) -> None:
    url = presign(platform, "get_object", "secret.txt")
    assert requests.get(url, timeout=30).content == b"secret"
    answer = requests.get(url.replace(old, new), timeout=30)
    assert answer.status_code in {400, 403}
    assert requests.delete(url, timeout=30).status_code == 403


def test_a_presigned_url_ends(platform: Platform, s3: Any) -> None:
    url = presign(platform, "get_object", "secret.txt", 1)
    deadline = time.monotonic() + 30
    while (answer := requests.get(url, timeout=30)).status_code == 200 and time.monotonic() < deadline:
        pass
    assert answer.status_code == 403
    assert "Request has expired" in answer.text


def test_a_body_that_was_not_signed_is_refused_and_leaves_nothing(platform: Platform, s3: Any) -> None:
    answer = send(signed(platform, "PUT", "/lake/changed-body", body=b"signed"), body=b"SIGNED")
    assert "XAmzContentSHA256Mismatch" in answer.text
    assert not (platform.home.lake / "lake" / "changed-body").exists()
    assert list((platform.home.lake / ".penstock-s3" / "drafts").iterdir()) == []
