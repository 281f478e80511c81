"""The page on checking definitions works: its blocks run in order, in one shell, against a real server."""

from pathlib import Path

from penstock.testing.server import running_server
from tests.integration.docs.pages import reader_environment, run_page

PAGE = Path(__file__).parents[3] / "docs" / "registry" / "schema-check.md"


def test_every_block_of_the_page_runs(tmp_path: Path) -> None:
    with running_server(tmp_path / "home") as server:
        environment = reader_environment() | server.environment()
        environment["SCHEMA_REGISTRY_URL"] = server.endpoint_url
        environment["SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO"] = f"{server.access_key_id}:{server.secret_access_key}"
        done = run_page(PAGE, tmp_path, environment, seconds=120)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert "flight.avsc is INCOMPATIBLE with default-registry/flights under BACKWARD (compared with version 1)." in said
    assert "READER_FIELD_MISSING_DEFAULT_VALUE at /gate" in said
    assert "ended with 1" in said
    assert "flight.avsc is compatible with default-registry/flights under FORWARD" in said
    assert '"result": "incompatible"' in said
    assert "read {'id': 1} {'id': 2}" in said
