"""A registry copied into another server by the command: ids, numbers, references, deletions and levels stay."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import Metadata, MetadataProperties, Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.schema_registry_client import ServerConfig

from penstock.testing.server import RunningServer, running_server

V1 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
V2 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"long","default":0}]}'
USES = '{"type":"record","name":"U","fields":[{"name":"r","type":"R"}]}'
OWNED = Metadata(tags=None, properties=MetadataProperties({"owner": "ana"}), sensitive=[])

Servers = tuple[RunningServer, RunningServer, dict[str, int]]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """A source with schemas, an empty target, and the source's ids by subject and version."""
    with running_server() as source, running_server() as target:
        yield source, target, fill(source)


def login(server: RunningServer) -> str:
    return f"{server.access_key_id}:{server.secret_access_key}"


@contextlib.contextmanager
def client(server: RunningServer, path: str = "") -> Iterator[SchemaRegistryClient]:
    made = SchemaRegistryClient({"url": server.endpoint_url + path, "basic.auth.user.info": login(server), "max.retries": 0})
    try:
        yield made
    finally:
        made.close()


def run(source: RunningServer, target: RunningServer, *options: str) -> tuple[int, Any, str]:
    """Return exit status, the report, and what was written to stderr."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "penstock",
            "registry",
            "import",
            "--from-confluent",
            source.endpoint_url,
            "--json",
            *options,
        ],
        env={
            "SCHEMA_REGISTRY_URL": target.endpoint_url,
            "SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO": login(target),
            "PENSTOCK_FROM_USER_INFO": login(source),
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def fill(source: RunningServer) -> dict[str, int]:
    """Return ids by subject and version. The subject that refers sorts before the one it refers to."""
    with client(source) as registry:
        ids = {"gone": registry.register_schema("gone", Schema('"string"', "AVRO"))}
        registry.delete_subject("gone")
        ids["v1"] = registry.register_schema("used", Schema(V1, "AVRO"))
        ids["v2"] = registry.register_schema("used", Schema(V2, "AVRO"))
        ids["uses"] = registry.register_schema("a-user", Schema(USES, "AVRO", [SchemaReference("R", "used", 1)]))
        registry.delete_version("used", 2)
        ids["team"] = registry.register_schema(":.team:used", Schema(V2, "AVRO"))
        registry.set_compatibility("used", "FULL_TRANSITIVE")
        registry.set_config("used", ServerConfig(default_metadata=OWNED))
    return ids


def test_everything_keeps_its_ids(servers: Servers) -> None:
    source, target, ids = servers
    status, report, said = run(source, target)
    assert status == 0, said
    assert report == {"subjects": 4, "versions": 5, "copied": 5, "deleted": 2, "levels": 1, "differences": []}
    with client(target) as registry:
        assert registry.get_schema(ids["v1"]).schema_str == V1
        assert registry.get_schema(ids["v2"]).schema_str == V2
        assert registry.get_versions("used") == [1]
        assert registry.get_versions("used", deleted=True) == [1, 2]
        assert registry.get_subjects() == ["a-user", "used", ":.team:used"]
        assert registry.get_referenced_by("used", 1) == [ids["uses"]]
        assert registry.get_compatibility("used") == "FULL_TRANSITIVE"
        assert registry.get_config("used").default_metadata == OWNED
        assert registry.get_global_mode() == "READWRITE"
        assert registry.register_schema("new", Schema('"long"', "AVRO")) > max(ids.values())
    with client(target, "/contexts/.team") as registry:
        assert registry.get_schema(ids["team"]).schema_str == V2
    # Once more, over what is there: nothing is left to do.
    status, report, said = run(source, target)
    assert (status, report["copied"], report["deleted"], report["differences"]) == (0, 0, 0, []), said


def test_schemas_without_a_context_can_be_imported_into_one(servers: Servers) -> None:
    source, target, ids = servers
    status, _, said = run(source, target, "--context", "moved", "--prefix", "a-user")
    assert status == 0, said
    with client(target, "/contexts/.moved") as registry:
        assert registry.get_subjects() == [":.moved:a-user", ":.moved:used"]
        assert registry.get_schema(ids["uses"]).schema_str == USES


def test_schemas_that_cannot_be_copied_are_reported(servers: Servers) -> None:
    source, target, ids = servers
    with client(target, "/contexts/.busy") as registry:
        rest = registry._rest_client
        rest.put("mode", {"mode": "IMPORT"})
        rest.post("subjects/taken/versions", {"schema": '"bytes"', "id": ids["v1"]})
        rest.delete("mode")
    status, report, said = run(source, target, "--prefix", "used", "--context", "busy")
    assert status == 4
    assert [(difference["subject"], difference["version"]) for difference in report["differences"]] == [("used", 1)]
    assert "Overwrite new schema with id" in report["differences"][0]["what"]
    assert "differ" in said


def test_a_wrong_password_is_reported(servers: Servers) -> None:
    source, target, _ = servers
    status, report, said = run(source, target, "--from-user-info", "AKIA0:wrong")
    assert (status, report) == (1, None)
    assert "401" in said
    assert "Traceback" not in said
