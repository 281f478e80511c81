"""What applies to every path of Confluent's API: credentials, media types, bounds, errors."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from penstock.access.authenticate import KeyCache
from penstock.access.keys import AccessKey
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.sealing import Sealer
from penstock.testing.sqlite import new_database
from tests.unit.api.confluent.confluent_api import V1, ConfluentApi

KEY = "AKIA0123456789ABCDEF"
SECRET = "a:secret with a colon and ü"


@pytest.fixture(scope="module")
def guarded() -> ConfluentApi:
    store = SqlAccessStore(new_database(), Sealer(bytes(32)))
    now = datetime(2026, 11, 21, tzinfo=UTC)
    store.put(AccessKey(access_key_id=KEY, secret_access_key=SECRET, account="1" * 12, principal="arn:x", created=now))
    return ConfluentApi(keys=KeyCache(store))


def basic(key: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{key}:{secret}".encode()).decode()


def test_the_right_credentials_open(guarded: ConfluentApi) -> None:
    assert guarded.get("/subjects", authorization=basic(KEY, SECRET)) == (200, [])
    assert guarded.get("/subjects", authorization=basic(KEY, SECRET).replace("Basic", "basic")) == (200, [])
    assert guarded.observer.served[-1].principal == "arn:x"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Basic",
        "Basic !!!",
        b"Basic \xff\xfe",
        "Basic " + base64.b64encode(b"\xff\xfe:x").decode(),
        "Basic " + base64.b64encode(KEY.encode()).decode(),
        basic(KEY, "wrong"),
        basic(KEY, ""),
        basic("AKIA0000000000000000", SECRET),
        basic("", ""),
        basic("../x", SECRET),
        basic(KEY, "x" * 5_000),
        "Bearer " + base64.b64encode(f"{KEY}:{SECRET}".encode()).decode(),
        "AWS4-HMAC-SHA256 Credential=x",
    ],
)
@pytest.mark.parametrize("path", ["/subjects", "/schemas/ids/1", "/nothing", "/v1/metadata/id"])
def test_wrong_credentials_do_not(guarded: ConfluentApi, header: bytes | str, path: str) -> None:
    headers: Any = {"authorization": header} if header else {}
    answer = guarded.http.get(path, headers=headers)
    assert (answer.status_code, answer.json()["error_code"]) == (401, 401)
    assert answer.headers["www-authenticate"].startswith('Basic realm="')
    assert SECRET not in answer.text


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", "application/vnd.schemaregistry.v1+json"),
        ("*/*", "application/vnd.schemaregistry.v1+json"),
        ("application/json", "application/json"),
        # JAX-RS 3.8: the client's quality first, then the server's own, whatever the order.
        ("application/vnd.schemaregistry+json;q=0.9, application/json", "application/json"),
        ("application/json, application/vnd.schemaregistry+json", "application/vnd.schemaregistry+json"),
        ("application/*;q=0.5", "application/vnd.schemaregistry.v1+json"),
        ("text/html, APPLICATION/JSON;charset=utf-8", "application/json"),
        # confluent-kafka, Confluent's Java client, Karapace's, curl's.
        (
            "application/vnd.schemaregistry.v1+json,application/vnd.schemaregistry+json,application/json",
            "application/vnd.schemaregistry.v1+json",
        ),
        (
            "application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json; q=0.9, application/json; q=0.5",
            "application/vnd.schemaregistry.v1+json",
        ),
    ],
)
def test_answers_in_the_type_that_is_asked_for(api: ConfluentApi, accept: str, expected: str) -> None:
    for path in ("/subjects", "/nothing"):
        answer = api.http.get(path, headers={"accept": accept})
        assert answer.headers["content-type"] == expected


@pytest.mark.parametrize(
    "accept", ["text/html", "application/json;q=0", "text/*", "application/jso", ",", "*/json", "application/json;q=x", "*"]
)
def test_a_client_that_accepts_no_media_type_gets_an_error(api: ConfluentApi, accept: str) -> None:
    for method, path in (("GET", "/subjects"), ("DELETE", "/config"), ("POST", "/subjects/s/versions")):
        answer = api.http.request(method, path, headers={"accept": accept, "content-type": "application/json"}, content="{}")
        assert (answer.status_code, answer.json()["error_code"]) == (406, 406)
        assert answer.headers["content-type"] == "application/vnd.schemaregistry.v1+json"
    assert api.http.get("/nothing", headers={"accept": accept}).status_code == 404


@pytest.mark.parametrize(
    "path", ["/nothing", "/subjects/s/none", "/schemas/ids", "/contexts/.x/nothing", "/v1", "/a/b/c/d/e/f/g"]
)
def test_unknown_paths(api: ConfluentApi, path: str) -> None:
    assert api.refused("GET", path) == (404, 404)


def test_the_root_is_empty(api: ConfluentApi) -> None:
    assert api.get("/") == (200, {})
    assert set(api.get("/v1/metadata/version")[1]) == {"version", "commitId"}
    assert api.get("/v1/metadata/id")[1]["id"]


def test_other_methods(api: ConfluentApi) -> None:
    answer = api.http.put("/subjects")
    assert (answer.status_code, answer.json()["error_code"], answer.headers["allow"]) == (405, 405, "GET")
    answer = api.http.head("/subjects")
    assert (answer.status_code, answer.content, answer.headers["content-length"]) == (200, b"", "2")


@pytest.mark.parametrize(
    "content", [b"{", b"[" * 5_000, b"\xff", b'{"schema":"\\ud800"}', b'{"a":' * 200 + b"1" + b"}" * 200]
)
def test_refuses_bodies_that_are_not_json(api: ConfluentApi, content: bytes) -> None:
    answer = api.http.post("/subjects/s/versions", content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error_code"]) == (400, 400)


@pytest.mark.parametrize(
    "media_type",
    [
        "application/x-www-form-urlencoded",
        "text/plain;charset=UTF-8",
        "multipart/form-data",
        "application/xml",
        "application/jsonx",
        "text/json",
        "*/*",
    ],
)
def test_refuses_other_content_types(api: ConfluentApi, media_type: str) -> None:
    content = json.dumps({"schema": V1})
    answer = api.http.post("/subjects/s/versions", content=content, headers={"content-type": media_type})
    assert (answer.status_code, answer.json()["error_code"]) == (415, 415)


@pytest.mark.parametrize(
    "media_type",
    [
        "application/vnd.schemaregistry.v1+json",
        "Application/VND.schemaregistry+json",
        "application/json; charset=utf-8",
        "application/octet-stream",
        "",
    ],
)
def test_accepts_content_types_that_confluents_server_accepts(api: ConfluentApi, media_type: str) -> None:
    headers = {"content-type": media_type} if media_type else {}
    answer = api.http.post("/subjects/s/versions", content=json.dumps({"schema": V1}).encode(), headers=headers)
    assert answer.status_code == 200, answer.text


def test_bounds(api: ConfluentApi) -> None:
    assert api.refused("POST", "/subjects/s/versions", {"schema": "x" * (11 * 1024 * 1024)}) == (413, 413)
    assert api.refused("GET", "/subjects/" + "x" * 5_000 + "/versions") == (400, 400)
    assert api.refused("GET", "/subjects/" + "x" * 1_100 + "/versions") == (400, 400)
    assert api.refused("POST", "/subjects/" + "x" * 256 + "/versions", {"schema": V1}) == (422, 42208)
    assert api.refused("GET", "/subjects?subjectPrefix=" + "x" * 9_000) == (400, 400)
    assert api.refused("GET", "/subjects/%FF/versions") == (400, 400)
    assert api.refused("GET", "/subjects/%00/versions") == (422, 42208)
    assert api.refused("POST", "/subjects/%3A.a%0Ab%3As/versions", {"schema": V1}) == (422, 42208)
    references = [{"name": "x", "subject": "s", "version": 1}] * 1_001
    assert api.refused("POST", "/subjects/s/versions", {"schema": V1, "references": references}) == (400, 400)


def test_a_defect_shows_no_traceback(
    api: ConfluentApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_args: None, **_kwargs: int | str | None) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(api.service.schemas, "subjects", broken)
    status, answer = api.get("/subjects")
    assert (status, answer["error_code"]) == (500, 50001)
    assert "secret" not in answer["message"]
    assert "secret detail" in caplog.text


def test_counts_requests(api: ConfluentApi) -> None:
    api.register("s", V1)
    api.get("/nothing")
    api.get("/subjects/x/versions")
    said = [(served.service, served.operation, served.code, served.status) for served in api.observer.served]
    assert said == [
        ("confluent", "register", "OK", 200),
        ("confluent", "unknown", "404", 404),
        ("confluent", "list_versions", "40401", 404),
    ]
    assert api.observer.running == 0


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("http://192.0.2.7", 403),
        ("http://[2001:db8::7]", 403),
        ("https://192.0.2.7", 200),
        ("http://127.0.0.1", 200),
        ("http://[::1]", 200),
    ],
)
def test_a_password_on_an_insecure_connection_is_refused(guarded: ConfluentApi, url: str, status: int) -> None:
    headers = {"authorization": basic(KEY, SECRET)}
    answer = TestClient(guarded.app, base_url=url).get("/subjects", headers=headers)
    assert answer.status_code == status
    if status == 403:
        assert answer.json()["error_code"] == 403
        assert "Basic authentication is refused without TLS" in answer.json()["message"]
        assert "www-authenticate" not in answer.headers
