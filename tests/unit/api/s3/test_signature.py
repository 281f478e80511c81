"""S3's rules of Signature Version 4, against the examples of Amazon's own documentation."""

import asyncio
import hashlib
import itertools
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.access.sigv4 import SignedRequest
from penstock.api.s3.body import BodyReader
from penstock.api.s3.signature import ChunkSigner, check_claim, check_signature, payload_of, read_s3_claim
from penstock.lake.objects.errors import S3Error

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
NOW = datetime(2013, 5, 24, tzinfo=UTC)
EMPTY = hashlib.sha256(b"").hexdigest()
HOST = "examplebucket.s3.amazonaws.com"
CREDENTIAL = "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"


def request(method: str, path: str, signed: str, signature: str, query: str = "", **headers: str) -> SignedRequest:
    given = {"host": HOST, "x-amz-date": "20130524T000000Z", **{k.replace("_", "-"): v for k, v in headers.items()}}
    given["authorization"] = f"AWS4-HMAC-SHA256 Credential={CREDENTIAL},SignedHeaders={signed},Signature={signature}"
    return SignedRequest(method, path, query, given, b"")


# Amazon S3 API reference, "Examples: Signature Calculations in AWS Signature Version 4".
GET = request(
    "GET",
    "/test.txt",
    "host;range;x-amz-content-sha256;x-amz-date",
    "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    range="bytes=0-9",
    x_amz_content_sha256=EMPTY,
)
PUT = request(
    "PUT",
    "/test%24file.text",
    "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
    "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    date="Fri, 24 May 2013 00:00:00 GMT",
    x_amz_content_sha256="44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
    x_amz_storage_class="REDUCED_REDUNDANCY",
)
LIST = request(
    "GET",
    "/",
    "host;x-amz-content-sha256;x-amz-date",
    "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    query="max-keys=2&prefix=J",
    x_amz_content_sha256=EMPTY,
)


def test_an_upload_by_a_form_is_not_called_unsigned() -> None:
    form = {"host": HOST, "content-type": "multipart/form-data; boundary=x"}
    with pytest.raises(S3Error, match="Presign a PUT") as caught:
        read_s3_claim(SignedRequest("POST", "/", "", form, b""))
    assert caught.value.code == "NotImplemented"
    with pytest.raises(S3Error) as caught:
        read_s3_claim(SignedRequest("POST", "/", "", {"host": HOST}, b""))
    assert caught.value.code == "AccessDenied"


def check(asked: SignedRequest, *, now: datetime = NOW, region: str = "us-east-1", secret: str = SECRET) -> None:
    claim = read_s3_claim(asked)
    check_claim(claim, asked, region=region, now=now)
    check_signature(claim, asked, payload_of(claim, asked.headers), secret)


def code_of(call: Callable[[], Any]) -> str:
    with pytest.raises(S3Error) as caught:
        call()
    return caught.value.code


@pytest.mark.parametrize("asked", [GET, PUT, LIST])
def test_amazons_examples_hold(asked: SignedRequest) -> None:
    check(asked)
    # A path that the client sends unencoded, and signs encoded, as some do.
    check(asked._replace(path=asked.path.replace("%24", "$")))
    assert code_of(lambda: check(asked, secret=SECRET[:-1])) == "SignatureDoesNotMatch"
    assert code_of(lambda: check(asked._replace(path="/other"))) == "SignatureDoesNotMatch"
    assert code_of(lambda: check(asked._replace(query="prefix=K"))) == "SignatureDoesNotMatch"
    assert code_of(lambda: check(asked._replace(method="DELETE"))) == "SignatureDoesNotMatch"


def test_amazons_example_of_a_presigned_url_holds_until_it_ends() -> None:
    query = (
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential="
        + CREDENTIAL.replace("/", "%2F")
        + "&X-Amz-Date=20130524T000000Z"
        "&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )
    asked = SignedRequest("GET", "/test.txt", query, {"host": HOST}, b"")
    check(asked)
    check(asked, now=NOW + timedelta(hours=24))
    assert code_of(lambda: check(asked, now=NOW + timedelta(hours=24, seconds=1))) == "AccessDenied"
    assert code_of(lambda: check(asked, now=NOW - timedelta(minutes=16))) == "AccessDenied"
    assert (
        code_of(lambda: check(asked._replace(query=query.replace("86400", "604801")))) == "AuthorizationQueryParametersError"
    )
    added = {"host": HOST, "x-amz-copy-source": "/a/b"}
    assert code_of(lambda: check(asked._replace(headers=added))) == "AccessDenied"


def test_scope_clock_and_headers_are_checked_before_the_signature() -> None:
    assert code_of(lambda: check(GET, region="eu-west-1")) == "AuthorizationHeaderMalformed"
    for skew in (timedelta(minutes=-16), timedelta(minutes=16)):
        assert code_of(partial(check, GET, now=NOW + skew)) == "RequestTimeTooSkewed"
    check(GET, now=NOW + timedelta(minutes=15))
    with pytest.raises(S3Error, match="Sign x-amz-acl, x-amz-meta-a, or leave it out"):
        check(GET._replace(headers={**GET.headers, "x-amz-meta-a": "1", "x-amz-acl": "private"}))
    bare = {name: value for name, value in GET.headers.items() if name != "x-amz-content-sha256"}
    assert code_of(lambda: check(GET._replace(headers=bare))) == "InvalidRequest"


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"authorization": "AWS AKIAIOSFODNN7EXAMPLE:frJIUN8DYpKDtOLCwo//yllqDzg="}, ""),
        ({}, "AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Signature=x&Expires=1"),
    ],
)
def test_version_2_is_refused_with_a_remedy(headers: dict[str, str], query: str) -> None:
    with pytest.raises(S3Error, match=r"Please use AWS4-HMAC-SHA256\. Signature Version 2 is refused.*s3v4") as caught:
        read_s3_claim(SignedRequest("GET", "/a/b", query, {"host": HOST, **headers}, b""))
    assert caught.value.code == "InvalidRequest"


# Amazon S3 API reference, "Signature Calculations for the Authorization Header: Transferring Payload in Multiple Chunks".
SEED = request(
    "PUT",
    "/examplebucket/chunkObject.txt",
    "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class",
    "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
    content_encoding="aws-chunked",
    content_length="66824",
    x_amz_content_sha256="STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
    x_amz_decoded_content_length="66560",
    x_amz_storage_class="REDUCED_REDUNDANCY",
)
SEED.headers["host"] = "s3.amazonaws.com"  # type: ignore[index]
CHUNKS = (
    b"10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n" + b"a" * 65536 + b"\r\n"
    b"400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n" + b"a" * 1024 + b"\r\n"
    b"0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n\r\n"
)


class Memory:
    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


async def run(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def poured(headers: dict[str, str], pieces: list[bytes], signer: ChunkSigner | None = None) -> bytes:
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> Any:
        return messages.pop(0)

    async def pour() -> bytes:
        sink = Memory()
        payload = payload_of(None, headers)
        await BodyReader(receive, headers, payload, signer or ChunkSigner(None, ""), run).pour(sink)
        return sink.data

    waiting: Awaitable[bytes] = pour()
    return asyncio.run(waiting)  # type: ignore[arg-type]


@given(cut=st.lists(st.integers(0, len(CHUNKS)), max_size=5))
def test_amazons_example_of_chunks_holds_however_it_is_cut(cut: list[int]) -> None:
    check(SEED)
    edges = [0, *sorted(cut), len(CHUNKS)]
    pieces = [CHUNKS[first:last] for first, last in itertools.pairwise(edges)]
    signer = ChunkSigner(read_s3_claim(SEED), SECRET)
    assert poured(dict(SEED.headers), pieces, signer) == b"a" * 66560


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (b"a" * 1024 + b"\r\n0", b"a" * 1023 + b"b\r\n0", "SignatureDoesNotMatch"),
        (b"0055627c", b"0055627d", "SignatureDoesNotMatch"),
        (b"0;chunk-signature=b6c6", b"0;chunk-signature=b6c7", "SignatureDoesNotMatch"),
        (b"400;chunk-signature", b"400;other", "IncompleteBody"),
        (b"400;", b"zz;", "IncompleteBody"),
        (b"400;", b"-1;", "IncompleteBody"),
        (b"400;", b"401;", "SignatureDoesNotMatch"),
        (CHUNKS[-90:], b"", "IncompleteBody"),
        (CHUNKS, b"", "IncompleteBody"),
        (CHUNKS, b"1" * 2000, "IncompleteBody"),
    ],
)
def test_chunks_that_were_changed_are_refused(old: bytes, new: bytes, code: str) -> None:
    changed = CHUNKS.replace(old, new)
    assert changed != CHUNKS
    signer = ChunkSigner(read_s3_claim(SEED), SECRET)
    assert code_of(lambda: poured(dict(SEED.headers), [changed], signer)) == code


def test_an_unsigned_trailer_has_to_hold_the_checksum_that_is_announced() -> None:
    headers = {
        "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        "x-amz-decoded-content-length": "9",
        "x-amz-trailer": "x-amz-checksum-crc32c",
    }
    body = b"4\r\n1234\r\n5\r\n56789\r\n0\r\nx-amz-checksum-crc32c:4waSgw==\r\n\r\n"
    assert poured(headers, [body]) == b"123456789"
    assert code_of(lambda: poured(headers, [body.replace(b"4waSgw", b"4waSgx")])) == "BadDigest"
    without = body.replace(b"x-amz-checksum-crc32c:4waSgw==\r\n", b"")
    assert code_of(lambda: poured(headers, [without])) == "MalformedXML"
    assert code_of(lambda: poured(headers | {"x-amz-decoded-content-length": "8"}, [body])) == "IncompleteBody"
    assert code_of(lambda: poured(headers | {"x-amz-decoded-content-length": "10"}, [body])) == "IncompleteBody"
