"""``penstock schema diff`` over a registry in memory and over files: what it shows and how it ends."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

from penstock.cli.schema import command as schema_command
from penstock.cli.schema import diff as schema_diff
from penstock.cli.schema import diff_report as schema_diff_report
from penstock.errors import EnvironmentProblem, NotFound
from penstock.schema.format import DATA_FORMATS
from penstock.schema.version import SchemaVersion

FIRST = '{"type":"record","name":"F","fields":[{"name":"id","type":"int"}]}'
SECOND = '{"type":"record","name":"F","fields":[{"name":"id","type":"long"},{"name":"gate","type":"string","default":""}]}'
REFUSED = '{"type":"record","name":"F","fields":[{"name":"id","type":"string"}]}'


class Registry:
    """What the command asks of a registry: schema r/flights of two versions and a refused one."""

    def __init__(self) -> None:
        self.known = [self._version(1, FIRST), self._version(2, SECOND), self._version(3, REFUSED, "FAILURE")]

    def _version(self, number: int, definition: str, status: str = "AVAILABLE") -> SchemaVersion:
        return SchemaVersion(
            id=uuid4(),
            schema_arn="arn",
            registry_name="r",
            schema_name="flights",
            number=number,
            definition=definition,
            data_format="AVRO",
            status=status,
        )

    def latest(self, registry: str, schema: str) -> SchemaVersion:
        if (registry, schema) != ("r", "flights"):
            raise NotFound("Schema is not found.")
        return self.known[1]

    def numbers(self, registry: str, schema: str, statuses: tuple[str, ...]) -> list[tuple[int, UUID]]:
        return [(version.number, version.id) for version in self.known if version.status in statuses]

    def version(self, version_id: UUID) -> SchemaVersion:
        return next(version for version in self.known if version.id == version_id)


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Registry:
    made = Registry()
    monkeypatch.setattr(schema_diff, "RegistryClient", lambda **_: made)
    monkeypatch.chdir(tmp_path)
    return made


def diff(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(schema_command.command, ["diff", *arguments], input=text)


NAMED = ("--registry-name", "r", "--schema-name", "flights")


def test_versions_side_by_side() -> None:
    result = diff("1", "2", *NAMED, "--width", "80", "--context", "1")
    assert result.exit_code == 1
    assert result.stdout == (
        "r/flights version 1                      r/flights version 2\n"
        "... 3 equal lines\n"
        '      "name": "id",                            "name": "id",\n'
        '      "type": "int"                    |       "type": "long"\n'
        "                                       >     },\n"
        "                                       >     {\n"
        '                                       >       "default": "",\n'
        '                                       >       "name": "gate",\n'
        '                                       >       "type": "string"\n'
        "    }                                        }\n"
        "... 5 equal lines\n"
        "\n"
        "2 changes from r/flights version 1 to r/flights version 2. Breaks FORWARD, FORWARD_ALL, FULL, FULL_ALL.\n"
        "\n"
        "~ changed type at /id: int -> long\n"
        "    breaks FORWARD, FORWARD_ALL, FULL, FULL_ALL: the old definition cannot read data of the new one\n"
        "      TYPE_MISMATCH at /id: the reader expects int and the writer wrote long, which Avro does not convert. Such "
        "data can be read as long or float or double; for another type, add a field under a new name with a default.\n"
        "\n"
        '+ added field at /gate: string = ""\n'
        "    compatible in every mode\n"
    )
    whole = diff("1", "2", *NAMED).stdout
    assert "equal lines" not in whole
    assert whole.count("\n") == result.stdout.count("\n") + 6


def test_long_definitions_are_aligned_too(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("1", "2", *NAMED, "--context", "1", "--width", "80")
    short = diff(*arguments).output
    monkeypatch.setattr(schema_diff_report, "_MAX_COMPARED", 0)
    assert diff(*arguments).output == short


def test_every_other_of_many_lines_changed_ends() -> None:
    # Looking for the longest common stretch first took a minute.
    for letter in "uv":
        symbols = [name for number in range(9_000) for name in (f"s{number}", f"{letter}{number}")]
        Path(f"{letter}.avsc").write_text(json.dumps({"type": "enum", "name": "E", "symbols": symbols}))
    result = diff("u.avsc", "v.avsc", "--context", "0")
    assert result.exit_code == 1
    assert sum(" | " in line for line in result.output.splitlines()) == 9_000


def test_json_has_the_same(registry: Registry) -> None:
    by_id = [str(version.id) for version in registry.known[:2]]
    result = diff(*by_id, "--format", "json")
    assert result.exit_code == 1
    shown = json.loads(result.stdout)
    assert (shown["result"], shown["data_format"], shown["rules"]) == ("different", "AVRO", "glue")
    assert shown["old"] == {"name": "r/flights version 1", "version": 1, "definition": FIRST}
    assert shown["new"]["version"] == 2
    changed, added = shown["changes"]
    assert (changed["change"], changed["path"], changed["part"]) == ("changed", "/id", "type")
    assert (changed["old"], changed["new"]) == ("int", "long")
    assert changed["breaks_modes"] == ["FORWARD", "FORWARD_ALL", "FULL", "FULL_ALL"]
    assert [(item["direction"], item["rule"]) for item in changed["breaks"]] == [("FORWARD", "TYPE_MISMATCH")]
    assert (added["change"], added["old"], added["breaks"], added["breaks_modes"]) == ("added", None, [], [])
    assert (shown["compatible_modes"], shown["elsewhere"]) == (["BACKWARD", "BACKWARD_ALL"], [])


def test_latest_is_the_default_and_refused_versions_can_be_seen() -> None:
    assert diff("1", *NAMED).stdout == diff("1", "2", *NAMED).stdout == diff("1", "latest", *NAMED).stdout
    refused = diff("2", "3", *NAMED).stdout
    assert "version 3 (FAILURE)" in refused
    assert "TYPE_MISMATCH at /id" in refused


def test_the_same_ends_with_zero() -> None:
    Path("own.avsc").write_text(json.dumps(json.loads(FIRST), indent=4))
    result = diff("1", "own.avsc", *NAMED)
    assert (result.exit_code, result.stdout) == (
        0,
        "r/flights version 1 and own.avsc are the same AVRO schema, spelled differently.\n",
    )
    assert json.loads(diff("1", "1", *NAMED, "--format", "json").stdout)["result"] == "same"


@pytest.mark.parametrize(
    ("ending", "old", "new", "says"),
    [
        (".avsc", FIRST, SECOND, "changed type at /id"),
        (".json", '{"type": "string"}', '{"type": "string", "maxLength": 3}', "MAX_LENGTH_ADDED at /maxLength"),
        (".proto", "message A { optional int32 a = 1; }", "message A { optional int64 a = 1; }", "changed field at /A/a"),
    ],
)
def test_two_files_of_each_format(ending: str, old: str, new: str, says: str) -> None:
    Path(f"old{ending}").write_text(old)
    Path("1").write_text(new)
    result = diff(f"old{ending}", "./1")
    assert result.exit_code == 1, result.stderr
    assert says in result.stdout
    assert diff("./1", "-", "--data-format", {"a": "AVRO", "j": "JSON", "p": "PROTOBUF"}[ending[1]], text=new).exit_code == 0


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_letters_of_two_columns_keep_the_columns(width: int) -> None:
    for name, doc in (("old", "漢字" * 40), ("new", "漢字" * 39 + "🙂\u202e")):
        Path(f"{name}.avsc").write_text(FIRST.replace('"name":"F"', f'"name":"F","doc":"{doc}"'), encoding="utf-8")
    lines = diff("old.avsc", "new.avsc", "--width", str(width)).stdout.splitlines()
    lines = lines[: lines.index("")]
    assert lines[0].split() == ["old.avsc", "new.avsc"]
    assert all(cell_len(line) <= width for line in lines)
    assert all(line.isprintable() for line in lines)
    (changed,) = (line for line in lines if "doc" in line)
    assert cell_len(changed.partition(" | ")[0]) == (width - 3) // 2


def test_documentation_cannot_steer_the_terminal() -> None:
    Path("own.avsc").write_text(json.dumps({**json.loads(FIRST), "doc": "two\nlines \x1b[2J"}))
    result = diff("1", "own.avsc", *NAMED).stdout
    assert "+ added doc at /: two\\nlines \\x1b[2J\n" in result
    assert "\x1b" not in result


def test_rules_of_the_api() -> None:
    Path("leg.avsc").write_text(FIRST.replace('"F"', '"Leg"'))
    assert json.loads(diff("1", "leg.avsc", *NAMED, "--format", "json").stdout)["broken_modes"] == []
    confluent = json.loads(diff("1", "leg.avsc", *NAMED, "--format", "json", "--rules", "confluent").stdout)
    assert [item["rule"] for item in confluent["changes"][0]["breaks"]] == ["NAME_MISMATCH", "NAME_MISMATCH"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["1", "2"], "'1' is a version, but its schema is not given. Add --schema-name, or write ./1 for a file"),
        (["1", "9", *NAMED], "Schema r/flights has no version 9. It has: 1, 2, 3."),
        (["1", "latest", "--schema-name", "other"], "Schema is not found."),
        (["nothing.avsc", "2", *NAMED], "The file nothing.avsc does not exist."),
        (["old", "old"], f"The format of old is not clear from its name. Give --data-format {', '.join(DATA_FORMATS)}."),
        (
            ["old.avsc", "new.proto"],
            "By their names old.avsc is AVRO and new.proto is PROTOBUF: they cannot be compared.",
        ),
        (["old.avsc", "new.proto", "--data-format", "AVRO"], "old.avsc cannot be read: The definition is not JSON"),
        (["1", "old", *NAMED], "old cannot be read: The definition is not JSON"),
        (["1", "2", *NAMED, "--data-format", "JSON"], "The registered version is AVRO, not JSON."),
        (["-", "-"], "Only one side can be standard input."),
        (["1", "2", *NAMED, "--reference", "x"], "--reference 'x' does not have the form NAME=FILE."),
    ],
)
def test_a_failed_comparison_exits_with_two(arguments: list[str], says: str) -> None:
    for name in ("old", "old.avsc", "new.proto"):
        Path(name).write_text("{")
    result = diff(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr


def test_errors_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    def dead(**_: Any) -> Any:
        raise EnvironmentProblem("Nobody answers.")

    monkeypatch.setattr(schema_diff, "RegistryClient", dead)
    result = diff("1", "2", *NAMED, "--format", "json")
    assert (result.exit_code, json.loads(result.stdout)) == (
        2,
        {"result": "error", "message": "Nobody answers.", "remedy": None},
    )
