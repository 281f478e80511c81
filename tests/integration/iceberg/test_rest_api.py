"""The API as Iceberg's specification has it: paging, transactions, views, errors, bounds."""

import json
from typing import Any

import pytest
import requests
from pyiceberg.catalog.rest import RestCatalog

from tests.integration.iceberg.requests_to import SCHEMA, Client
from tests.integration.iceberg.world import World


@pytest.fixture(scope="module")
def client(world: World) -> Client:
    return Client(world)


def set_property(name: str, value: str) -> dict[str, Any]:
    return {"action": "set-properties", "updates": {name: value}}


def error_of(answer: requests.Response) -> tuple[int, str]:
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "code"}
    assert error["code"] == answer.status_code
    return answer.status_code, error["type"]


def test_the_configuration_names_prefix_routes_and_the_s3_endpoint(world: World, client: Client) -> None:
    for query in ("", f"?warehouse={world.server.account}", "?warehouse=:"):
        answer = requests.get(
            f"{world.uri}/v1/config{query}", headers={"Authorization": f"Bearer {client._token}"}, timeout=10
        )
        config = answer.json()
        assert config["overrides"] == {"prefix": f"catalogs/{world.server.account}"}
        assert config["defaults"]["s3.endpoint"] == world.store.endpoint_url
        assert "POST /v1/{prefix}/transactions/commit" in config["endpoints"]
    answer = requests.get(
        f"{world.uri}/v1/config?warehouse=111122223333:nested/one",
        headers={"Authorization": f"Bearer {client._token}"},
        timeout=10,
    )
    assert error_of(answer) == (400, "BadRequestException")


def test_the_prefix_may_be_one_part_of_the_path_or_missing(world: World, client: Client, namespace: str) -> None:
    account = world.server.account
    for prefix in ("", "catalogs/:/", f"catalogs/{account}/", f"catalogs%2F{account}/", f"catalogs%2f{account}/"):
        answer = requests.get(
            f"{world.uri}/v1/{prefix}namespaces/{namespace}",
            headers={"Authorization": f"Bearer {client._token}"},
            timeout=10,
        )
        assert answer.json()["namespace"] == [namespace]


def test_lists_come_in_pages(client: Client, namespace: str) -> None:
    names = [f"t{number}" for number in range(5)]
    for name in names:
        client.make_table(namespace, name)
    results: list[str] = []
    token: str | None = ""
    pages = 0
    while token is not None:
        page = client.get(f"/namespaces/{namespace}/tables?pageSize=2&pageToken={token}").json()
        results += [identifier["name"] for identifier in page["identifiers"]]
        token, pages = page["next-page-token"], pages + 1
    assert (results, pages) == (names, 3)
    assert len(client.get(f"/namespaces/{namespace}/tables").json()["identifiers"]) == 5
    page = client.get("/namespaces?pageSize=1&pageToken=").json()
    assert len(page["namespaces"]) == 1
    assert page["next-page-token"]
    assert error_of(client.get("/namespaces?pageToken=made-up"))[0] == 400
    assert error_of(client.get("/namespaces?pageSize=x"))[0] == 400


def test_a_transaction_changes_all_tables_or_none(client: Client, catalog: RestCatalog, namespace: str) -> None:
    tables = {name: client.make_table(namespace, name) for name in ("a", "b")}

    def change(name: str, uuid: str, value: str) -> dict[str, Any]:
        return {
            "identifier": {"namespace": [namespace], "name": name},
            "requirements": [{"type": "assert-table-uuid", "uuid": uuid}],
            "updates": [set_property("k", value)],
        }

    right = {name: table["metadata"]["table-uuid"] for name, table in tables.items()}
    wrong = "00000000-0000-4000-8000-000000000000"
    new = {
        "identifier": {"namespace": [namespace], "name": "new"},
        "requirements": [{"type": "assert-create"}],
        "updates": [
            {"action": "assign-uuid", "uuid": wrong},
            {"action": "upgrade-format-version", "format-version": 2},
            {"action": "add-schema", "schema": SCHEMA},
            {"action": "set-current-schema", "schema-id": -1},
            {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}},
            {"action": "set-default-spec", "spec-id": -1},
            {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
            {"action": "set-default-sort-order", "sort-order-id": -1},
        ],
    }
    failed = client.post(
        "/transactions/commit", {"table-changes": [change("a", right["a"], "1"), new, change("b", wrong, "1")]}
    )
    assert error_of(failed) == (409, "CommitFailedException")
    assert not catalog.table_exists(f"{namespace}.new")
    for name, table in tables.items():
        assert catalog.load_table(f"{namespace}.{name}").metadata_location == table["metadata-location"]

    body = {"table-changes": [change("a", right["a"], "2"), new, change("b", right["b"], "2")]}
    done = client.post("/transactions/commit", body)
    assert done.status_code == 204, done.text
    assert catalog.load_table(f"{namespace}.a").properties == {"k": "2"}
    assert catalog.load_table(f"{namespace}.b").properties == {"k": "2"}
    assert catalog.load_table(f"{namespace}.new").schema().column_names == ["id"]
    twice = {"table-changes": [change("a", right["a"], "3"), change("a", right["a"], "4")]}
    assert error_of(client.post("/transactions/commit", twice))[0] == 400
    assert error_of(client.post("/transactions/commit", {"table-changes": []}))[0] == 400


def test_a_table_that_did_not_change_is_not_sent_again(client: Client, namespace: str) -> None:
    client.make_table(namespace, "t")
    first = client.get(f"/namespaces/{namespace}/tables/t")
    again = client.get(f"/namespaces/{namespace}/tables/t", If_None_Match=first.headers["etag"])
    assert (again.status_code, again.content) == (304, b"")
    client.post(f"/namespaces/{namespace}/tables/t", {"requirements": [], "updates": [set_property("a", "b")]})
    changed = client.get(f"/namespaces/{namespace}/tables/t", If_None_Match=first.headers["etag"])
    assert changed.status_code == 200


def test_updates_that_are_not_known_are_refused_by_name(client: Client, namespace: str) -> None:
    made = client.make_table(namespace, "t")
    path = f"/namespaces/{namespace}/tables/t"
    cases = [
        ({"updates": [{"action": "fly"}]}, 406, "'fly'"),
        ({"updates": [{"action": "set-location", "location": "s3://lake/x", "speed": 3}]}, 400, "'speed'"),
        ({"updates": [{"action": "upgrade-format-version", "format-version": 4}]}, 406, "version 4"),
        ({"updates": [{"action": "upgrade-format-version", "format-version": 1}]}, 400, "downgrade"),
        ({"updates": [{"action": "set-location", "location": "file:///etc"}]}, 400, "S3 location"),
        ({"updates": [{"action": "set-location", "location": "s3://nobucket/x"}]}, 400, "bucket"),
        ({"updates": [{"action": "set-location", "location": "s3://lake/../x"}]}, 400, "usable"),
        ({"requirements": [{"type": "assert-weather"}]}, 406, "assert-weather"),
        ({"updates": [set_property("write.metadata.compression-codec", "zip")]}, 400, "zip"),
        ({"updates": "all"}, 400, "updates"),
        ({"updates": [3]}, 400, "updates"),
    ]
    for body, status, words in cases:
        answer = client.post(path, body)
        assert answer.status_code == status, answer.text
        assert words in answer.json()["error"]["message"]
    assert client.get(path).json()["metadata-location"] == made["metadata-location"]


def test_bad_schemas_and_names_are_refused(client: Client, namespace: str) -> None:
    path = f"/namespaces/{namespace}/tables"
    column = {"id": 1, "name": "a", "required": False}
    deep: Any = "long"
    for number in range(2, 47):
        deep = {"type": "list", "element-id": number, "element": deep, "element-required": False}
    for fields, words in [
        ([{**column, "type": "money"}], "money"),
        ([{**column, "type": "timestamp_ns"}], "format version 3"),
        ([{**column, "type": "long"}, {**column, "type": "long"}], "twice"),
        ([{**column, "type": "long"}, {**column, "type": "long", "id": 2}], "two fields"),
        ([{**column, "type": "decimal(39,2)"}], "38"),
        ([{**column, "type": deep}], "nested more than"),
    ]:
        answer = client.post(path, {"name": "t", "schema": {"type": "struct", "fields": fields}})
        assert answer.status_code in {400, 406}
        assert words in answer.json()["error"]["message"]
    for name in ("", "x" * 300, "a\nb", 3, None):
        assert error_of(client.post(path, {"name": name, "schema": SCHEMA}))[0] == 400
    nested = client.post("/namespaces", {"namespace": ["a", "b"]})
    assert error_of(nested) == (400, "BadRequestException")
    assert "one level" in nested.json()["error"]["message"]
    assert client.get(path).json()["identifiers"] == []


def test_bodies_are_bounded(client: Client, world: World) -> None:
    deep = "[" * 200 + "]" * 200
    headers = {"Authorization": f"Bearer {client._token}"}
    url = f"{client._base}/namespaces"
    assert requests.post(url, data=deep, headers=headers, timeout=10).status_code == 400
    assert requests.post(url, data=b"{", headers=headers, timeout=10).status_code == 400
    assert requests.post(url, data=b" " * 11_000_000, headers=headers, timeout=30).status_code == 413
    assert error_of(client.send("PATCH", "/namespaces"))[0] == 405
    assert error_of(client.get("/nothing"))[0] == 404
    assert error_of(client.get("/namespaces/a%1Fb")) == (404, "NoSuchNamespaceException")
    assert world.server.process.poll() is None


def test_views(client: Client, world: World, namespace: str) -> None:
    def version(sql: str, dialect: str = "spark", number: int = 1) -> dict[str, Any]:
        return {
            "version-id": number,
            "timestamp-ms": 1,
            "schema-id": 0,
            "summary": {"engine": "test"},
            "default-namespace": [namespace],
            "representations": [{"type": "sql", "sql": sql, "dialect": dialect}],
        }

    path = f"/namespaces/{namespace}/views"
    body = {"name": "v", "schema": {"schema-id": 0, **SCHEMA}, "view-version": version("SELECT 1"), "properties": {}}
    made = client.post(path, body)
    assert made.status_code == 200, made.text
    assert error_of(client.post(path, body)) == (409, "AlreadyExistsException")
    uuid = made.json()["metadata"]["view-uuid"]
    stored = world.server.client("glue").get_table(DatabaseName=namespace, Name="v")["Table"]
    assert (stored["TableType"], stored["ViewOriginalText"]) == ("VIRTUAL_VIEW", "SELECT 1")
    assert error_of(client.get(f"/namespaces/{namespace}/tables/v")) == (404, "NoSuchTableException")

    def replace(sql: str, dialect: str = "spark", view_uuid: str = uuid) -> requests.Response:
        updates = [
            {"action": "add-view-version", "view-version": version(sql, dialect, 2)},
            {"action": "set-current-view-version", "view-version-id": -1},
        ]
        requirements = [{"type": "assert-view-uuid", "uuid": view_uuid}]
        return client.post(f"{path}/v", {"requirements": requirements, "updates": updates})

    changed = replace("SELECT 2")
    assert changed.status_code == 200, changed.text
    assert [item["version-id"] for item in changed.json()["metadata"]["versions"]] == [1, 2]
    assert error_of(replace("SELECT 3", view_uuid="00000000-0000-4000-8000-000000000000")) == (
        409,
        "CommitFailedException",
    )
    lost = replace("SELECT 3", "trino")
    assert (lost.status_code, "loss of view dialects" in lost.text) == (400, True)
    for _ in range(12):
        replace(f"SELECT {_} + 10")
    loaded = client.get(f"{path}/v").json()
    assert len(loaded["metadata"]["versions"]) == 10
    assert client.get(path).json()["identifiers"] == [{"namespace": [namespace], "name": "v"}]
    rename = {
        "source": {"namespace": [namespace], "name": "v"},
        "destination": {"namespace": [namespace], "name": "w"},
    }
    assert client.post("/views/rename", rename).status_code == 204
    assert error_of(client.post("/views/rename", rename)) == (404, "NoSuchViewException")
    assert client.send("HEAD", f"{path}/w").status_code == 204
    assert client.send("DELETE", f"{path}/w").status_code == 204
    back = client.post(
        f"/namespaces/{namespace}/register-view", {"name": "v", "metadata-location": loaded["metadata-location"]}
    )
    assert back.json()["metadata"]["view-uuid"] == uuid


def test_metrics_are_accepted_and_checked(client: Client, namespace: str) -> None:
    client.make_table(namespace, "t")
    path = f"/namespaces/{namespace}/tables/t/metrics"
    assert client.post(path, {"report-type": "scan-report", "table-name": "t"}).status_code == 204
    assert error_of(client.post(path, {"report-type": "weather"}))[0] == 400


def test_metadata_that_cannot_be_read_is_an_error_and_not_an_empty_table(
    client: Client, world: World, namespace: str
) -> None:
    made = client.make_table(namespace, "t")
    file = world.server.lake / made["metadata-location"].removeprefix("s3://")
    file.write_text("{")
    assert client.get(f"/namespaces/{namespace}/tables/t").status_code == 400
    file.write_text(json.dumps({"format-version": 9}))
    answer = client.post(f"/namespaces/{namespace}/tables/t", {"updates": [set_property("a", "b")]})
    assert answer.status_code == 406
    file.unlink()
    answer = client.get(f"/namespaces/{namespace}/tables/t")
    assert "does not exist" in answer.json()["error"]["message"]


def test_members_that_the_server_does_not_know_survive_commits(client: Client, world: World, namespace: str) -> None:
    made = client.make_table(namespace, "t", properties={"format-version": "3"})
    file = world.server.lake / made["metadata-location"].removeprefix("s3://")
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "of-the-future": {"a": 1}}))
    body = {"requirements": [], "updates": [set_property("a", "b")]}
    committed = client.post(f"/namespaces/{namespace}/tables/t", body)
    assert committed.json()["metadata"]["of-the-future"] == {"a": 1}
    newest = world.server.lake / committed.json()["metadata-location"].removeprefix("s3://")
    assert json.loads(newest.read_text())["of-the-future"] == {"a": 1}


def test_old_metadata_files_are_removed_if_the_table_says_so(client: Client, world: World, namespace: str) -> None:
    properties = {
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "2",
        "write.metadata.compression-codec": "gzip",
    }
    made = client.make_table(namespace, "t", properties=properties)
    for number in range(6):
        body = {"requirements": [], "updates": [set_property("n", str(number))]}
        assert client.post(f"/namespaces/{namespace}/tables/t", body).status_code == 200
    folder = (world.server.lake / made["metadata-location"].removeprefix("s3://")).parent
    names = sorted(path.name for path in folder.iterdir())
    assert [name[:5] for name in names] == ["00004", "00005", "00006"]
    assert all(name.endswith(".gz.metadata.json") for name in names)
    assert client.get(f"/namespaces/{namespace}/tables/t").json()["metadata"]["properties"]["n"] == "5"
