"""``penstock schema check`` over a registry in memory: verdicts, exit codes, text and JSON."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from click.testing import CliRunner, Result

from penstock.cli.schema import command as schema_command
from penstock.client.registry import RegisteredSchema
from penstock.errors import EnvironmentProblem, NotFound
from penstock.schema.format import ParsedSchema
from penstock.schema.formats import format_of
from penstock.schema.version import SchemaVersion


def record(*fields: Any, name: str = "Flight") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


ID = {"name": "id", "type": "int"}
GATE = {"name": "gate", "type": ["null", "string"]}
FIRST = record(ID)
MAYBE = record(ID, {**GATE, "default": None})
REQUIRED = record(ID, GATE)


class Registry:
    """What the command asks of a registry, over one schema r/flights."""

    def __init__(self, *definitions: Any, mode: str = "BACKWARD", checkpoint: int = 1) -> None:
        self.known = RegisteredSchema(
            registry="r", name="flights", data_format="AVRO", compatibility=mode, checkpoint=checkpoint
        )
        self.fetched: list[int] = []
        self._versions = {
            uuid4(): SchemaVersion(
                id=uuid4(),
                schema_arn="arn",
                registry_name="r",
                schema_name="flights",
                number=number,
                definition=json.dumps(definition),
                data_format="AVRO",
            )
            for number, definition in enumerate(definitions, 1)
        }

    def schema(self, registry: str, name: str) -> RegisteredSchema:
        if (registry, name) != ("r", "flights"):
            raise NotFound("Schema is not found.")
        return self.known

    def numbers(self, registry: str, name: str) -> list[tuple[int, UUID]]:
        return [(version.number, found) for found, version in self._versions.items()]

    def version(self, version_id: UUID) -> SchemaVersion:
        schema_version = self._versions[version_id]
        self.fetched.append(schema_version.number)
        return schema_version

    def find_version(self, registry: str, name: str, text: str) -> tuple[UUID, str]:
        expected = self._parsed(text).fingerprint
        for found, version in self._versions.items():
            if self._parsed(version.definition).fingerprint == expected:
                return found, "AVAILABLE"
        raise NotFound("Schema version is not found.")

    def _parsed(self, text: str) -> ParsedSchema:
        return format_of("AVRO").parse(text)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    made = Registry(FIRST)
    monkeypatch.setattr(schema_command, "RegistryClient", lambda **_: made)
    return made


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Any:
    def use(made: Any) -> Any:
        monkeypatch.setattr(schema_command, "RegistryClient", lambda **_: made)
        return made

    return use


def check(definition: Any, *options: str) -> Result:
    arguments = ["check", "-", "--registry-name", "r", "--schema-name", "flights", *options]
    text = definition if isinstance(definition, str) else json.dumps(definition)
    return CliRunner().invoke(schema_command.command, arguments, input=text)


@pytest.mark.parametrize(
    ("definition", "mode", "code"),
    [
        (MAYBE, "BACKWARD", 0),
        (REQUIRED, "BACKWARD", 1),
        (REQUIRED, "FORWARD", 0),
        (REQUIRED, "FULL_ALL", 1),
        (REQUIRED, "NONE", 0),
        (MAYBE, "DISABLED", 1),
        (FIRST, "DISABLED", 0),
    ],
)
def test_the_exit_code_is_the_verdict(use: Any, definition: Any, mode: str, code: int) -> None:
    use(Registry(FIRST, mode=mode))
    assert check(definition).exit_code == code
    use(Registry(FIRST, mode="NONE"))
    assert check(definition, "--mode", mode).exit_code == code


@pytest.mark.usefixtures("registry")
def test_text_has_path_rule_sides_and_remedy() -> None:
    result = check(REQUIRED)
    assert result.stdout == (
        "- is INCOMPATIBLE with r/flights under BACKWARD (compared with version 1).\n"
        "\n"
        "The new definition cannot read data of version 1:\n"
        "  READER_FIELD_MISSING_DEFAULT_VALUE at /gate\n"
        "    reader (new): field gate of record Flight: union of null, string, no default\n"
        "    writer (version 1): record Flight without gate\n"
        "    the reader needs field 'gate' (union of null, string), which the writer does not write, and it has no "
        "default. Give it a default (an optional field is a union whose first branch is null, with default null), or "
        "name the writer's field among its aliases.\n"
    )
    assert check(MAYBE).stdout == "- is compatible with r/flights under BACKWARD (compared with version 1).\n"
    assert check(FIRST).stdout == "- is version 1 of r/flights already.\n"


@pytest.mark.usefixtures("registry")
def test_json_has_the_same() -> None:
    document = json.loads(check(REQUIRED, "--format", "json").stdout)
    (conflict,) = document.pop("conflicts")
    assert document == {
        "result": "incompatible",
        "registry": "r",
        "schema": "flights",
        "registered": True,
        "same_as_version": None,
        "data_format": "AVRO",
        "mode": "BACKWARD",
        "rules": "glue",
        "checked_versions": [1],
        "refusal": None,
        "topic": None,
    }
    assert (conflict["version"], conflict["direction"], conflict["path"], conflict["rule"]) == (
        1,
        "BACKWARD",
        "/gate",
        "READER_FIELD_MISSING_DEFAULT_VALUE",
    )
    assert {"reader", "writer", "message"} <= set(conflict)
    assert json.loads(check(MAYBE, "--format", "json").stdout)["result"] == "compatible"


def test_the_mode_and_the_checkpoint_pick_the_versions(use: Any) -> None:
    made = use(Registry(REQUIRED, FIRST, MAYBE, mode="FORWARD_ALL", checkpoint=2))
    assert check(record(ID, {"name": "x", "type": "int"})).exit_code == 0
    assert made.fetched == [2, 3]
    made = use(Registry(REQUIRED, FIRST, MAYBE, mode="FORWARD"))
    assert check(record(ID, {"name": "x", "type": "int"})).exit_code == 0
    assert made.fetched == [3]


@pytest.mark.usefixtures("registry")
def test_rules_of_the_api() -> None:
    renamed = record(ID, name="Leg")
    assert check(renamed).exit_code == 0
    assert check(renamed, "--rules", "confluent").exit_code == 1


@pytest.mark.parametrize(
    ("definition", "options", "says"),
    [
        ("{", [], "not JSON"),
        ({"type": "record"}, [], "At /: the record has no 'name'"),
        (FIRST, ["--schema-name", "other"], "--data-format"),
        (FIRST, ["--data-format", "JSON"], "is AVRO, not JSON"),
        (FIRST, ["--reference", "x"], "NAME=FILE"),
        (FIRST, ["--reference", "x=missing.avsc"], "file missing.avsc does not exist"),
        (FIRST, ["--against-topic", "t"], "--brokers"),
        (FIRST, ["--mode", "SIDEWAYS"], "SIDEWAYS"),
        ("x" * 700_000, [], "more than 680000 bytes"),
    ],
)
@pytest.mark.usefixtures("registry")
def test_a_failed_check_exits_with_two(definition: Any, options: list[str], says: str) -> None:
    result = check(definition, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("error", [EnvironmentProblem("Nobody answers."), RuntimeError("a defect")])
def test_no_error_ends_with_the_code_for_incompatible(use: Any, error: Exception) -> None:
    class Dead:
        def schema(self, *_: Any) -> Any:
            raise error

    use(Dead())
    result = check(FIRST, "--format", "json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["result"] == "error"


@pytest.mark.usefixtures("registry")
def test_a_schema_that_is_new_is_parsed_alone() -> None:
    result = check(FIRST, "--schema-name", "other", "--data-format", "AVRO")
    assert result.exit_code == 0
    assert "other is not registered" in result.stdout


def test_references_from_files(use: Any, tmp_path: Path) -> None:
    money = tmp_path / "money.avsc"
    money.write_text(json.dumps(record({"name": "amount", "type": "long"}, name="Money")))
    fare = record({"name": "price", "type": "Money"}, name="Fare")
    made = use(Registry(fare))
    made.find_version = lambda *_: (_ for _ in ()).throw(NotFound("Schema version is not found."))
    tax = record({"name": "price", "type": "Money"}, {"name": "tax", "type": "Money"}, name="Fare")
    assert check(tax).exit_code == 2
    result = check(tax, "--reference", f"Money={money}", "--format", "json")
    assert (result.exit_code, json.loads(result.stdout)["conflicts"][0]["path"]) == (1, "/tax")
