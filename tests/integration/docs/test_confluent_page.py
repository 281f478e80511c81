"""The page on Confluent's clients works: its blocks run in order, in one shell, against a real server."""

from pathlib import Path

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from penstock.testing.server import RunningServer, running_server
from tests.integration.docs.pages import reader_environment, run_page

PAGE = Path(__file__).parents[3] / "docs" / "registry" / "confluent.md"


def _login(server: RunningServer) -> str:
    return f"{server.access_key_id}:{server.secret_access_key}"


def _fill(server: RunningServer) -> None:
    client = SchemaRegistryClient({"url": server.endpoint_url, "basic.auth.user.info": _login(server)})
    client.register_schema("old-value", Schema('"string"', "AVRO"))
    client.close()


def test_every_block_of_the_page_runs(tmp_path: Path) -> None:
    with running_server(tmp_path / "new") as server, running_server(tmp_path / "old") as old:
        _fill(old)
        environment = reader_environment() | server.environment()
        environment["SCHEMA_REGISTRY_URL"] = server.endpoint_url
        environment["SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO"] = _login(server)
        environment["OLD_REGISTRY_URL"] = old.endpoint_url
        environment["PENSTOCK_FROM_USER_INFO"] = _login(old)
        done = run_page(PAGE, tmp_path, environment, seconds=120)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert '"subject":"orders-value","version":1,"id":1' in said
    assert "{'id': 1, 'vat': 0.2} by version 2" in said
    assert "schema/team/eu$2Forders [':.team:eu/orders']" in said
    assert "409 Schema being registered is incompatible" in said
    assert "TYPE_MISMATCH at /id" in said
    assert "1 versions of 1 subjects: 1 copied" in said
    assert '[":.moved:old-value"]' in said
    assert '[{"subject":":.byhand:payments-value","version":7}]' in said
