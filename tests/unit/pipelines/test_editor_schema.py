"""The JSON Schema of pipelines agrees with the parser: on keys, on every example, and on what is refused."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from penstock.cli.main import main
from penstock.errors import InvalidInput
from penstock.pipelines import parse_pipeline
from penstock.pipelines.editor_schema import FILE, generated, shipped
from penstock.pipelines.json_schema import ANY
from penstock.pipelines.short import parse_short
from penstock.settings.document import Section

ROOT = Path(__file__).parents[3]
REMEDY = "run .venv/bin/python tools/pipeline-schema, and commit what it writes"
SCHEMA = json.loads(shipped())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


class Anything(dict[str, str]):
    """An environment in which every variable is set."""

    def __missing__(self, key: str) -> str:
        return "value"

    def __contains__(self, key: object) -> bool:
        return True


def examples() -> Iterator[tuple[str, str]]:
    """The YAML of all pipelines in examples/ and on the pages; a page's parts are completed by pipelines.md's example."""
    for path in sorted((ROOT / "examples").glob("*.yaml")):
        yield path.name, path.read_text()
    folder = ROOT / "docs" / "pipelines"
    texts = {path.name: re.findall(r"```yaml\n(.*?)```", path.read_text(), re.DOTALL) for path in folder.glob("*.md")}
    first = yaml.safe_load(texts["pipelines.md"][0])
    for name, blocks in sorted(texts.items()):
        for number, block in enumerate(blocks):
            given = yaml.safe_load(block)
            if not isinstance(given, dict) or not {"source", "sink", "sinks", "transform", "topic"} & set(given):
                continue
            if "table" not in given:
                base = {
                    key: value
                    for key, value in first.items()
                    if key not in {"sink", "sinks"} or not {"sink", "sinks"} & set(given)
                }
                block = yaml.safe_dump({**base, **given}, sort_keys=False)  # noqa: PLW2901
            yield f"{name}:{number}", block


EXAMPLES = dict(examples())


def parse(text: str) -> None:
    if parse_short(text, origin="example", environment=Anything()) is None:
        parse_pipeline(text, origin="example", environment=Anything())


def test_the_schema_is_what_the_parser_reads() -> None:
    pages = {path.name: path.read_text() for path in (ROOT / "docs/pipelines").glob("*.md")}
    for path in (ROOT / "src/penstock/pipelines" / FILE, ROOT / "docs/pipelines" / FILE):
        assert path.read_text() == generated(pages), f"{path.name} is not what the parser reads: {REMEDY}"


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert len(EXAMPLES) > 5


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_valid_for_both(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, set[str]] = {}
    done = Section.done

    def noting(section: Section) -> None:
        known.setdefault(section._path, set()).update(section._keys)
        done(section)

    monkeypatch.setattr(Section, "done", noting)
    parse(EXAMPLES[name])
    document = yaml.safe_load(EXAMPLES[name])
    VALIDATOR.validate(json.loads(json.dumps(document, default=str)))  # editors know no times
    # Every key that the parser knows at a place of the example is in the schema there. 'table' makes the form a short one.
    for path, keys in known.items():
        place = _at(SCHEMA["then" if "table" in document else "else"], path)
        assert keys - set(place.get("properties", {})) - _free(place, keys) - {"table" if not path else ""} <= {"source"}, (
            f"{path}: {REMEDY}"
        )


def _at(schema: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    for part in path.split(".")[:-1]:
        options = schema.get("properties", {}).get(part) or schema["additionalProperties"]
        options = SCHEMA["$defs"]["sink"] if "$ref" in options else options
        choices = options.get("anyOf", [options])
        schema = next(choice for choice in choices if choice.get("type") in ("object", "array"))
    return schema


def _free(place: Mapping[str, Any], keys: set[str]) -> set[str]:
    """Names of the user's own."""
    return keys if place["additionalProperties"] else set()


def _mappings(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(node, dict):
        yield path
        for key, value in node.items():
            yield from _mappings(value, (*path, key))


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_unknown_key_is_refused_by_both(name: str) -> None:
    for path in _mappings(yaml.safe_load(EXAMPLES[name])):
        document = yaml.safe_load(EXAMPLES[name])
        place = document
        for part in path:
            place = place[part]
        if path and path[-1] in {"columns", "options", "aggregates", "startingOffsetsByTimestamp"}:
            continue  # names of the user's own, with plain values
        if path and "startingOffsetsByTimestamp" in path:
            continue
        place["no_such_key"] = "value"
        with pytest.raises(InvalidInput):
            parse(yaml.safe_dump(document, sort_keys=False))
        if path and path[-1] == "tags":
            continue
        with pytest.raises(jsonschema.ValidationError):
            VALIDATOR.validate(json.loads(json.dumps(document, default=str)))  # editors know no times


def test_the_pages_describe_the_keys() -> None:
    full = SCHEMA["else"]["properties"]
    kafka = full["source"]["properties"]["kafka"]["properties"]
    assert kafka["minPartitions"]["description"] == "minimum number of Spark tasks that read."
    assert kafka["topicName"]["description"] == "The same as topic."
    mode = SCHEMA["$defs"]["sink"]["properties"]["parquet"]["properties"]["mode"]
    assert mode["description"].startswith("append, upsert (replace the row with the same keys)")
    assert full["name"]["description"].startswith("the pipeline's name")
    assert "hidden before anything else" in full["transform"]["properties"]["mask"]["description"]


def test_any_name_is_not_offered_as_a_key() -> None:
    assert f'"{ANY}"' not in shipped()


def test_init_writes_a_pipeline_that_is_valid_for_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_BROKERS", "127.0.0.1:9")
    monkeypatch.setenv("PENSTOCK_BUCKET", "lake")
    monkeypatch.delenv("PENSTOCK_SECRET_ID", raising=False)
    path = tmp_path / "new" / "orders.yaml"
    options = ["--topic", "orders", "--table", "shop.orders", "--schema", "shop/order"]
    with pytest.raises(SystemExit) as ended:
        main(["init", str(path), *options])
    assert ended.value.code == 0
    text = path.read_text()
    assert text.startswith(f"# yaml-language-server: $schema=./{FILE}\n")
    assert (path.parent / FILE).read_text() == shipped()
    VALIDATOR.validate(yaml.safe_load(text))
    full = parse_pipeline(text, environment={"PENSTOCK_BROKERS": "127.0.0.1:9", "PENSTOCK_BUCKET": "lake"})
    assert full.name == "shop.orders"
    with pytest.raises(SystemExit) as ended:
        main(["init", str(path), *options])
    assert ended.value.code == 2
