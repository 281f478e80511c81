"""Signatures made by botocore, verified by Penstock, and every way in which they can be wrong."""

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.compat import quote
from botocore.credentials import Credentials
from botocore.utils import percent_encode_sequence
from hypothesis import given
from hypothesis import strategies as st

from penstock.access.errors import IncompleteSignature, InvalidSignature, MissingAuthentication
from penstock.access.sigv4 import SignedRequest, check_claim, check_signature, read_claim

NOW = datetime(2026, 11, 21, 10, 23, 52, tzinfo=UTC)
KEY_ID, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

segments = st.text(st.characters(codec="ascii", categories=["L", "N"], include_characters="-_.~ %+=/:@$"), max_size=12)
header_values = st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126), max_size=30).map(str.strip)
header_names = st.sampled_from(["x-amz-target", "content-type", "x-custom", "x-amz-meta-a", "accept-language"])


def _quoted(text: str) -> str:
    return quote(text, safe="/-_.~")


paths = st.lists(segments.map(_quoted), max_size=3).map(lambda parts: "/" + "/".join(parts))
queries = st.dictionaries(
    st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=6),
    st.text(st.characters(codec="utf-8"), max_size=8),
    max_size=3,
)


def signed(
    signer: type[SigV4Auth], *, at: datetime = NOW, service: str = "glue", region: str = "us-east-1", **request: object
) -> SignedRequest:
    """What a server sees of a request that botocore signed at ``at``."""
    options: dict[str, Any] = {"method": "POST", "url": "http://localhost:8750/", "data": b"{}", "headers": {}}
    made: Any = AWSRequest(**(options | request))
    with patch("botocore.auth.get_current_datetime", return_value=at.replace(tzinfo=None)):
        signer(Credentials(KEY_ID, SECRET), service, region).add_auth(made)
    parts = urlsplit(made.url)
    headers = {name.lower(): value for name, value in made.headers.items()}
    headers.setdefault("host", parts.netloc)
    body = made.data if isinstance(made.data, bytes) else made.data.encode()
    return SignedRequest(method=made.method, path=parts.path, query=parts.query, headers=headers, body=body)


def verify(
    request: SignedRequest, *, now: datetime = NOW, service: str = "glue", region: str = "us-east-1", secret: str = SECRET
) -> None:
    claim = read_claim(request)
    check_claim(claim, request, service=service, region=region, now=now)
    check_signature(claim, request, secret)


@given(
    method=st.sampled_from(["POST", "GET", "PUT"]),
    path=paths,
    query=queries,
    headers=st.dictionaries(header_names, header_values, max_size=4),
    body=st.binary(max_size=50),
)
def test_verifies_what_botocore_signed(
    method: str, path: str, query: dict[str, str], headers: dict[str, str], body: bytes
) -> None:
    encoded = percent_encode_sequence(query) if query else ""
    url = f"http://localhost:8750{path}" + (f"?{encoded}" if encoded else "")
    request = signed(SigV4Auth, method=method, url=url, headers=headers, data=body)
    verify(request)
    with pytest.raises(InvalidSignature):
        verify(SignedRequest(method=method, path=path, query=encoded, headers=request.headers, body=body + b"x"))


@given(path=paths, query=queries, headers=st.dictionaries(header_names, header_values, max_size=3))
def test_verifies_what_botocore_presigned(path: str, query: dict[str, str], headers: dict[str, str]) -> None:
    encoded = percent_encode_sequence(query) if query else ""
    url = f"http://localhost:8750{path}" + (f"?{encoded}" if encoded else "")
    request = signed(SigV4QueryAuth, method="GET", url=url, headers=headers, data=b"")
    verify(request)
    tampered = request.query.replace("X-Amz-Expires=3600", "X-Amz-Expires=3601")
    with pytest.raises(InvalidSignature):
        verify(SignedRequest(method="GET", path=path, query=tampered, headers=request.headers, body=b""))


def test_a_plus_in_a_query_is_the_space_that_handlers_read() -> None:
    url = "http://localhost:8750/?ExternalId=" + quote("a b+c", safe="")
    request = signed(SigV4QueryAuth, method="GET", url=url, data=b"")
    assert "ExternalId=a%20b%2Bc" in request.query
    verify(request)
    verify(request._replace(query=request.query.replace("%20", "+")))
    # A plus that was signed cannot be turned into a space on the way.
    with pytest.raises(InvalidSignature):
        verify(request._replace(query=request.query.replace("%2B", "+")))


@pytest.mark.parametrize("query", ["=x", "=", "=x&a=1", "a=1&=x&=w", "a=1&&b=2", "a&=", "a=1&"])
def test_a_parameter_without_a_name_is_signed_as_botocore_signs_it(query: str) -> None:
    request = signed(SigV4Auth, method="GET", url=f"http://localhost:8750/?{query}", data=b"")
    assert request.query == query
    verify(request)
    for tampered in (f"{query}&=y", query.replace("=x", "=y"), "a=1"):
        if tampered != query:
            with pytest.raises(InvalidSignature):
                verify(request._replace(query=tampered))


def test_leaves_the_path_of_s3_as_it_is() -> None:
    request = signed(S3SigV4Auth, service="s3", method="GET", url="http://localhost:8750/b/a%20b//../c", data=b"")
    verify(request, service="s3")


def test_takes_a_plain_date_header() -> None:
    request = signed(SigV4Auth, headers={"Date": "Sat, 21 Nov 2026 10:23:52 GMT"})
    verify(request)


def changed(request: SignedRequest, **headers: str | None) -> SignedRequest:
    merged = dict(request.headers) | {name.replace("_", "-"): value for name, value in headers.items()}
    kept = {name: value for name, value in merged.items() if value is not None}
    return SignedRequest(method=request.method, path=request.path, query=request.query, headers=kept, body=request.body)


def test_refuses_a_request_without_a_signature() -> None:
    with pytest.raises(MissingAuthentication, match="Missing Authentication Token"):
        read_claim(changed(signed(SigV4Auth), authorization=None))


@pytest.mark.parametrize(
    ("authorization", "says"),
    [
        ("Basic dXNlcjpwYXNz", "Unsupported AWS 'algorithm': 'Basic'"),
        (
            "AWS4-HMAC-SHA256 Credential=a/b/c/d/e",
            "requires 'Signature' parameter. Authorization header requires 'SignedHeaders'",
        ),
        ("AWS4-HMAC-SHA256 nonsense", "not a valid key=value pair"),
        ("AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=0", "exactly 5 slash-delimited elements"),
        ("AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=x;host, Signature=0", "must be lower case, sorted"),
        ("AWS4-HMAC-SHA256 Credential=a/b/c/d/e, Credential=a/b/c/d/e, SignedHeaders=host, Signature=0", "key=value"),
    ],
)
def test_refuses_a_signature_that_cannot_be_read(authorization: str, says: str) -> None:
    with pytest.raises(IncompleteSignature, match=says):
        read_claim(changed(signed(SigV4Auth), authorization=authorization))


def test_requires_a_date() -> None:
    with pytest.raises(IncompleteSignature, match="'X-Amz-Date' or a 'Date' header"):
        read_claim(changed(signed(SigV4Auth), x_amz_date=None))
    with pytest.raises(IncompleteSignature, match=r"ISO-8601 'basic format'\. Got 'soon'"):
        read_claim(changed(signed(SigV4Auth), x_amz_date="soon"))


def test_refuses_a_date_that_no_clock_shows() -> None:
    request = changed(signed(SigV4Auth), **{"x-amz-date": "Fri, 31 Dec 9999 23:59:59 -1200"})
    with pytest.raises(IncompleteSignature, match="ISO-8601"):
        read_claim(request)


def test_names_the_wrong_scope() -> None:
    with pytest.raises(InvalidSignature, match=r"valid region, not 'eu-west-1'.*region is us-east-1"):
        verify(signed(SigV4Auth, region="eu-west-1"))
    with pytest.raises(InvalidSignature, match="correct service: 'glue'"):
        verify(signed(SigV4Auth, service="athena"))
    request = signed(SigV4Auth)
    authorization = request.headers["authorization"]
    with pytest.raises(InvalidSignature, match="valid terminator"):
        verify(changed(request, authorization=authorization.replace("aws4_request", "aws5_request")))
    with pytest.raises(InvalidSignature, match="'20261120' != '20261121'"):
        verify(changed(request, authorization=authorization.replace("/20261121/", "/20261120/")))


@pytest.mark.parametrize("skew", [timedelta(minutes=-5), timedelta(0), timedelta(minutes=5)])
def test_accepts_five_minutes_of_skew(skew: timedelta) -> None:
    verify(signed(SigV4Auth), now=NOW + skew)


def test_words_a_skewed_clock_as_sdks_know_it() -> None:
    with pytest.raises(InvalidSignature, match=r"Signature expired: 20261121T102352Z is now earlier than .*- 5 min\.\)"):
        verify(signed(SigV4Auth), now=NOW + timedelta(minutes=5, seconds=1))
    with pytest.raises(
        InvalidSignature, match=r"Signature not yet current: 20261121T102352Z is still later than .*\+ 5 min\.\)"
    ):
        verify(signed(SigV4Auth), now=NOW - timedelta(minutes=5, seconds=1))


def test_a_presigned_url_is_valid_until_it_expires() -> None:
    request = signed(SigV4QueryAuth, method="GET", data=b"")
    verify(request, now=NOW + timedelta(seconds=3600))
    with pytest.raises(InvalidSignature, match="Signature expired"):
        verify(request, now=NOW + timedelta(seconds=3601))


@pytest.mark.parametrize("expires", ["0", "604801", "-1", "x", "1" * 40, "0000000001999999", f"{1:010}{0:05000}"])
def test_bounds_the_expiry_of_a_presigned_url(expires: str) -> None:
    request = signed(SigV4QueryAuth, method="GET", data=b"")
    query = request.query.replace("X-Amz-Expires=3600", f"X-Amz-Expires={expires}")
    with pytest.raises(IncompleteSignature, match="604800"):
        read_claim(SignedRequest(method="GET", path="/", query=query, headers=request.headers, body=b""))


@pytest.mark.parametrize("missing", ["Algorithm", "Credential", "Signature", "SignedHeaders", "Date", "Expires"])
def test_names_parameters_that_a_presigned_url_lacks(missing: str) -> None:
    request = signed(SigV4QueryAuth, method="GET", data=b"")
    query = "&".join(item for item in request.query.split("&") if not item.startswith(f"X-Amz-{missing}="))
    with pytest.raises(IncompleteSignature, match=f"X-Amz-{missing}"):
        read_claim(SignedRequest(method="GET", path="/", query=query, headers=request.headers, body=b""))


def test_refuses_a_parameter_given_twice() -> None:
    request = signed(SigV4QueryAuth, method="GET", data=b"")
    query = f"{request.query}&X-Amz-Expires=60"
    with pytest.raises(IncompleteSignature, match="given twice"):
        read_claim(SignedRequest(method="GET", path="/", query=query, headers=request.headers, body=b""))


def test_headers_that_determine_the_operation_have_to_be_signed() -> None:
    request = signed(SigV4Auth)
    with pytest.raises(InvalidSignature, match="'x-amz-target' must be a 'SignedHeader'"):
        verify(changed(request, x_amz_target="AWSGlue.DeleteSchema"))
    with pytest.raises(InvalidSignature, match="'Host'"):
        verify(changed(request, authorization=request.headers["authorization"].replace("host;", "")))
    with pytest.raises(InvalidSignature, match="'X-Amz-Date' or 'Date'"):
        verify(changed(request, authorization=request.headers["authorization"].replace(";x-amz-date", "")))


def test_the_message_shows_what_should_have_been_signed() -> None:
    with pytest.raises(InvalidSignature, match="does not match the signature you provided") as refused:
        verify(signed(SigV4Auth), secret="another")
    assert "The Canonical String for this request should have been\n'POST\n/\n\nhost:localhost:8750\n" in str(refused.value)
    assert SECRET not in str(refused.value)


def test_refuses_a_declared_payload_that_is_not_the_body() -> None:
    with pytest.raises(InvalidSignature, match="x-amz-content-sha256 does not match"):
        verify(signed(SigV4Auth, headers={"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}))
