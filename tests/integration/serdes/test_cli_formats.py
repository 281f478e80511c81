"""The AWS CLI with JSON and Protobuf schemas."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from penstock.testing.server import RunningServer
from tests.integration.aws_cli import aws

DEFINITIONS = {
    "JSON": json.dumps({"type": "object", "properties": {"id": {"type": "integer"}}}, indent=2),
    "PROTOBUF": 'syntax = "proto3";\n// A flight\nmessage Flight {\n  map<string, int32> seats = 1;\n}\n',
}
RESPELLED = {
    "JSON": '{"properties":{"id":{"type":"integer"}},"type":"object"}',
    "PROTOBUF": 'syntax = "proto3"; message Flight { repeated SeatsEntry seats = 1;'
    " message SeatsEntry { option map_entry = true; string key = 1; int32 value = 2; } }",
}
INVALID = {
    "JSON": ('{"type": "integr"}', "/type"),
    "PROTOBUF": ('syntax = "proto3";\nmessage Flight {', "line 2, column 17"),
}


def glue(server: RunningServer, *arguments: str) -> Any:
    done = aws(server, "glue", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("data_format", ["JSON", "PROTOBUF"])
def test_the_cli(penstock_server: RunningServer, tmp_path: Path, data_format: str) -> None:
    name, file = f"cli-{uuid.uuid4().hex[:8]}", tmp_path / "definition"
    file.write_text(DEFINITIONS[data_format])
    made = glue(
        penstock_server, "create-schema", "--schema-name", name, "--data-format", data_format,
        "--compatibility", "BACKWARD", "--schema-definition", f"file://{file}",
    )  # fmt: skip
    assert (made["DataFormat"], made["SchemaVersionStatus"]) == (data_format, "AVAILABLE")
    result = glue(
        penstock_server, "get-schema-by-definition", "--schema-id", f"SchemaName={name},RegistryName=default-registry",
        "--schema-definition", RESPELLED[data_format],
    )  # fmt: skip
    assert (result["SchemaVersionId"], result["DataFormat"]) == (made["SchemaVersionId"], data_format)
    check = ("check-schema-version-validity", "--data-format", data_format, "--schema-definition")
    assert glue(penstock_server, *check, RESPELLED[data_format]) == {"Valid": True}
    text, where = INVALID[data_format]
    refused = glue(penstock_server, *check, text)
    assert refused["Valid"] is False
    assert where in refused["Error"]
