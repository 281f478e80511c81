"""Registries out of a store and out of a live Glue service, and into another store, by command."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from penstock.cli.main import cli
from penstock.errors import AlreadyExists, DataProblem, EnvironmentProblem, InvalidInput, NotFound
from penstock.registry.transfer import TransferReport, import_records
from penstock.store.sql.registry.versions import SqlVersions
from penstock.testing.server import RunningServer, running_server

SCHEMA = {"RegistryName": "r", "SchemaName": "s"}
V1 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
V2 = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"long","default":0}]}'
BROKEN = '{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}'


class Killed(Exception):
    pass


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server whose registry ``r`` has a schema with a refused version in the middle, metadata and tags."""
    with running_server(tmp_path_factory.mktemp("source")) as running:
        glue = running.client("glue")
        glue.create_registry(RegistryName="r", Description="d", Tags={"a": "b"})
        made = glue.create_schema(
            RegistryId={"RegistryName": "r"}, SchemaName="s", DataFormat="AVRO", Compatibility="BACKWARD",
            SchemaDefinition=V1, Tags={"c": "d"},
        )  # fmt: skip
        for definition in (BROKEN, V2):
            glue.register_schema_version(SchemaId=SCHEMA, SchemaDefinition=definition)
        for value in ("v", "w"):
            pair = {"MetadataKey": "k", "MetadataValue": value}
            glue.put_schema_version_metadata(SchemaVersionId=made["SchemaVersionId"], MetadataKeyValue=pair)
        yield running


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], catch_exceptions=False)


def told(server: RunningServer, schema_id: dict[str, str] = SCHEMA) -> list[dict[str, Any]]:
    """All that Glue's interface tells of the schema's versions."""
    glue = server.client("glue")
    result = []
    for head in sorted(glue.list_schema_versions(SchemaId=schema_id)["Schemas"], key=lambda head: head["VersionNumber"]):
        version = glue.get_schema_version(SchemaVersionId=head["SchemaVersionId"])
        del version["ResponseMetadata"]
        metadata = glue.query_schema_version_metadata(SchemaVersionId=head["SchemaVersionId"])["MetadataInfoMap"]
        metadata.pop("penstock:incompatibility", None)
        result.append({**version, "metadata": metadata})
    return result


@pytest.mark.parametrize("source", ["store", "glue"])
def test_an_export_of_a_running_server_is_the_same_registry_elsewhere(
    server: RunningServer, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    chosen = ["--from-glue"] if source == "glue" else ["--home", server.home]
    assert "lines" in run("registry", "export", tmp_path / "r.jsonl", *chosen).output
    home = tmp_path / "home"
    assert "3 versions: 3 added" in run("registry", "import", tmp_path / "r.jsonl", "--home", home).output
    again = json.loads(run("registry", "import", tmp_path / "r.jsonl", "--home", home, "--json").output)
    assert again == {"versions": 3, "added": 0, "differences": []}
    with running_server(home) as other:
        assert told(other) == told(server)
        glue = other.client("glue")
        schema = glue.get_schema(SchemaId=SCHEMA)
        assert (schema["NextSchemaVersion"], schema["LatestSchemaVersion"], schema["Compatibility"]) == (4, 3, "BACKWARD")
        assert glue.get_tags(ResourceArn=schema["SchemaArn"])["Tags"] == {"c": "d"}
        assert glue.get_tags(ResourceArn=schema["RegistryArn"])["Tags"] == {"a": "b"}
        again_registered = glue.register_schema_version(SchemaId=SCHEMA, SchemaDefinition=V2)
        assert again_registered["VersionNumber"] == 3


def test_a_live_glue_registry_is_imported_and_compared(
    server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    glue = server.client("glue")
    chosen = {"RegistryName": "live", "SchemaName": "s"}
    glue.create_registry(RegistryName="live")
    made = glue.create_schema(
        RegistryId={"RegistryName": "live"}, SchemaName="s", DataFormat="AVRO", Compatibility="BACKWARD", SchemaDefinition=V1
    )
    glue.create_schema(RegistryId={"RegistryName": "live"}, SchemaName="gone", DataFormat="AVRO", Compatibility="NONE")
    home = tmp_path / "home"
    command = ("registry", "import", "--from-glue", "--registry", "live", "--home", home)

    def stopped(version: Any, *_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(SqlVersions, "add", stopped)
        with pytest.raises(Killed):
            run(*command)

    def copying(store: Any, service: Any, records: Any) -> TransferReport:
        report = import_records(store, service, records)
        # While it is read, and read again: another version, another compatibility, more metadata, a schema gone.
        glue.register_schema_version(SchemaId=chosen, SchemaDefinition=V2)
        pair = {"MetadataKey": "k", "MetadataValue": "late"}
        glue.put_schema_version_metadata(SchemaVersionId=made["SchemaVersionId"], MetadataKeyValue=pair)
        glue.delete_schema(SchemaId={**chosen, "SchemaName": "gone"})
        return report

    with monkeypatch.context() as patched:
        patched.setattr("penstock.cli.registry.files.import_records", copying)
        with pytest.raises(DataProblem, match=r"2 differences(?s:.*)its metadata differs(?s:.*)Version 2 .* is not here"):
            run(*command)
    assert "2 versions: 1 added, 1 not." in run(*command).output
    with running_server(home) as other:
        assert told(other, chosen) == told(server, chosen)
    glue.update_schema(SchemaId=chosen, Compatibility="FULL", SchemaVersionNumber={"VersionNumber": 2})
    with pytest.raises(DataProblem, match="has compatibility BACKWARD here, FULL in the source"):
        run(*command)
    with pytest.raises(NotFound, match="missing"):
        run("registry", "import", "--from-glue", "--registry", "missing", "--home", home)
    with pytest.raises(InvalidInput, match="a file or a registry"):
        run("registry", "import", "--from-glue", "--from-confluent", "http://x", "--home", home)
    glue.delete_registry(RegistryId={"RegistryName": "live"})


def test_what_is_in_the_way_ends_with_an_error(server: RunningServer, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    run("registry", "export", file, "--home", server.home)
    with pytest.raises(AlreadyExists):
        run("registry", "export", file, "--home", server.home)
    with pytest.raises(EnvironmentProblem, match="cannot be read"):
        run("registry", "import", tmp_path / "missing", "--home", tmp_path / "h")
    with pytest.raises(InvalidInput, match="a file or a registry"):
        run("registry", "import", "--home", tmp_path / "h")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        if line["kind"] == "version":
            line["id"] = line["id"].replace("-", "_")
    (tmp_path / "other").write_text("\n".join(json.dumps(line) for line in lines))
    home = tmp_path / "home"
    run("registry", "import", file, "--home", home)
    with pytest.raises(DataProblem, match=r"3 differences(?s:.*)the same schema is version 1 here"):
        run("registry", "import", tmp_path / "other", "--home", home)


def test_who_changed_what_is_shown(server: RunningServer) -> None:
    lines = run("registry", "audit", "--home", server.home, "--resource", "schema/r/s", "--json").output.splitlines()
    newest = json.loads(lines[0])
    assert newest["operation"] == "RegisterVersion"
    assert newest["principal"] == "arn:aws:iam::000000000000:root"
    assert newest["client"] == "127.0.0.1"
    assert newest["outcome"].startswith("version 3 AVAILABLE, id ")
    assert "CreateRegistry" in run("registry", "audit", "--home", server.home).output
    for name in ("r/s", "schema/s", "registry/"):
        with pytest.raises(InvalidInput, match="does not name a resource of the audit log"):
            run("registry", "audit", "--home", server.home, "--resource", name)
    expected = [{"AttributeKey": "ResourceName", "AttributeValue": "schema/r/s"}]
    event = server.client("cloudtrail").lookup_events(LookupAttributes=expected)["Events"][0]
    assert (event["EventName"], event["Username"]) == ("RegisterSchemaVersion", "root")
    assert json.loads(event["CloudTrailEvent"])["responseElements"]["outcome"] == newest["outcome"]
