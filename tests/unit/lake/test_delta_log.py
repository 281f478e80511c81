"""Logs of Delta tables from outside: what no writer writes is the table's damage, and not the reader's."""

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import DataProblem
from penstock.lake.delta_log import read_log

SCHEMA: Any = {"type": "struct", "fields": [{"name": "x", "type": "long"}]}


def nested(depth: int) -> Any:
    kind: Any = "long"
    for _ in range(depth):
        kind = {"type": "array", "elementType": kind}
    return {"type": "struct", "fields": [{"name": "x", "type": kind}]}


def log(folder: Path, *lines: str) -> Path:
    (folder / "00000000000000000000.json").write_text("\n".join(lines))
    return folder


def metadata(schema: Any) -> str:
    return json.dumps({"metaData": {"schemaString": json.dumps(schema)}})


def test_a_log_is_read(tmp_path: Path) -> None:
    state = read_log(log(tmp_path, metadata(SCHEMA), '{"add":{"path":"a%20b","size":7}}', "", '{"commitInfo":{}}'), "t")
    assert (state.columns, state.files) == ([("x", "bigint")], {"a b": (7, {})})


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"x":[' + "[]," * 600_000 + "[]]}", "more than 1,000,000 values"),
        ('{"x":' + "[" * 5_000 + "]" * 5_000 + "}", "depth limit"),
        ('{"add":"' + "x" * (17 << 20) + '"}', "a line of more than"),
        (metadata(nested(300)), "levels"),
        ('{"metaData":{"schemaString":"' + "[" * 3_000 + '"}}', "cannot be read"),
        ("[]", "not an action"),
        ('{"add":7}', "cannot be read"),
        ("{", "cannot be read"),
    ],
    ids=["values", "depth", "line", "schema", "no-schema", "list", "number", "cut"],
)
def test_what_no_writer_writes_is_damage(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(DataProblem, match=problem):
        read_log(log(tmp_path, metadata(SCHEMA), line), "t")
