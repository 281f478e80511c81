"""Every subresource of S3 with every method is an operation of its own, or refused by name."""

from collections.abc import Iterator, Mapping

import pytest

from penstock.api.s3.model import operation_of, service_model, subresources
from penstock.lake.objects.errors import S3Error

DEPTHS = {1: "bucket", 2: "object"}
# What the plain operations of each method are: no subresource may be answered by one of them, but for its parameters.
PLAIN = {
    *("ListObjects", "ListObjectsV2", "HeadBucket", "CreateBucket", "DeleteBucket"),
    *("GetObject", "HeadObject", "PutObject", "CopyObject", "DeleteObject"),
}
# Parameters of the plain operations themselves.
OWN = {("GetObject", "partNumber"), ("HeadObject", "partNumber")} | {
    (operation, "versionId") for operation in ("GetObject", "HeadObject", "DeleteObject")
}


def _cases() -> Iterator[tuple[str, int, str]]:
    for name in sorted(subresources() | {"nonsense"}):
        for method in ("GET", "HEAD", "PUT", "POST", "DELETE"):
            for depth in DEPTHS:
                yield method, depth, name


def _operation(method: str, depth: int, query: Mapping[str, str]) -> str:
    try:
        return operation_of(method, depth, query, {}).name
    except S3Error as error:
        named = error.code != "NotImplemented" or any(name in str(error) for name in query)
        return error.code if named and error.status >= 400 else str(error)


@pytest.mark.parametrize("value", ["", "1"])
def test_no_subresource_is_answered_for_the_whole_bucket_or_object(value: str) -> None:
    answered = {case: _operation(case[0], case[1], {case[2]: value}) for case in _cases()}
    wrong = {
        case: operation for case, operation in answered.items() if operation in PLAIN and (operation, case[2]) not in OWN
    }
    assert wrong == ({} if not value else {case: name for case, name in wrong.items() if case[2] == "nonsense"})


def test_each_operation_of_the_model_is_found_by_its_own_query() -> None:
    results = {_operation(method, depth, {name: ""}) for method, depth, name in _cases()}
    assert {"GetBucketTagging", "PutObjectAcl", "DeleteBucketCors", "GetObjectTorrent", "ListObjectVersions"} <= results
    assert "CreateSession" not in results
    assert "session" in subresources()
    assert "CreateSession" in service_model().operation_names


@pytest.mark.parametrize(
    ("method", "depth", "query", "expected"),
    [
        ("GET", 1, {"session": ""}, "NotImplemented"),
        ("GET", 1, {"acl": "", "tagging": ""}, "InvalidArgument"),
        ("PUT", 2, {"partNumber": "1"}, "NotImplemented"),
        ("DELETE", 2, {"acl": ""}, "NotImplemented"),
        ("GET", 1, {"prefix": "", "delimiter": "", "marker": ""}, "ListObjects"),
        ("GET", 1, {"list-type": "2", "prefix": "", "fetch-owner": ""}, "ListObjectsV2"),
        ("GET", 2, {"x-id": "GetObject", "response-content-type": ""}, "GetObject"),
        ("GET", 2, {"cache": "12"}, "GetObject"),
        ("GET", 2, {"X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Signature": "0"}, "GetObject"),
        ("PUT", 2, {"partNumber": "1", "uploadId": "u"}, "UploadPart"),
    ],
)
def test_queries_of_clients(method: str, depth: int, query: dict[str, str], expected: str) -> None:
    assert _operation(method, depth, query) == expected
