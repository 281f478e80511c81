"""Many boto3 clients that register at once on one SQLite store and two worker processes: each gets its own answer."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from penstock.testing.server import RunningServer, running_server, start_server

_SCHEMAS, _WRITERS, _ROUNDS = 6, 16, 8


def _definition(*fields: str) -> str:
    members = [{"name": name, "type": "int", "default": 0} for name in fields]
    return json.dumps({"type": "record", "name": "R", "fields": members})


def _fill(server: RunningServer) -> Any:
    glue = server.client("glue", config=Config(retries={"total_max_attempts": 1}, max_pool_connections=_WRITERS))
    glue.create_registry(RegistryName="busy")
    for number in range(_SCHEMAS):
        glue.create_schema(
            RegistryId={"RegistryName": "busy"},
            SchemaName=f"s{number}",
            DataFormat="AVRO",
            Compatibility="BACKWARD_ALL",
            SchemaDefinition=_definition("a"),
        )
    return glue


def _schema(number: int) -> dict[str, str]:
    return {"RegistryName": "busy", "SchemaName": f"s{number}"}


def _write(glue: Any, writer: int) -> list[tuple[int, str, Any]]:
    """What each of the writer's registrations was answered with: schema, definition, response or error code."""
    answers: list[tuple[int, str, Any]] = []
    for turn in range(_ROUNDS):
        number = (writer + turn) % (_SCHEMAS + 1)  # the last one does not exist
        text = "{" if turn == 3 else _definition("a", f"w{writer}", f"t{turn}")
        try:
            answers.append((number, text, glue.register_schema_version(SchemaId=_schema(number), SchemaDefinition=text)))
        except ClientError as error:
            answers.append((number, text, error.response["Error"]["Code"]))
    return answers


def test_each_writer_gets_the_answer_to_its_own_request(tmp_path: Path) -> None:
    with running_server(tmp_path, arguments=["--workers", "2"]) as server:
        glue = _fill(server)
        with ThreadPoolExecutor(_WRITERS) as pool:
            answers = [
                answer for answered in pool.map(lambda writer: _write(glue, writer), range(_WRITERS)) for answer in answered
            ]
        stored: set[tuple[int, int]] = set()
        for number, text, answer in answers:
            if number == _SCHEMAS:
                assert answer == "EntityNotFoundException"
            elif text == "{":
                assert answer == "InvalidInputException"
            else:
                schema_version = glue.get_schema_version(SchemaVersionId=answer["SchemaVersionId"])
                assert schema_version["SchemaDefinition"] == text
                assert (schema_version["VersionNumber"], schema_version["Status"]) == (answer["VersionNumber"], "AVAILABLE")
                stored.add((number, answer["VersionNumber"]))
        # No number twice, and none left out.
        assert len(stored) == len([answer for answer in answers if isinstance(answer[2], dict)])
        for number in range(_SCHEMAS):
            numbers = sorted(version for schema, version in stored if schema == number)
            assert numbers == list(range(2, len(numbers) + 2))


def test_what_a_killed_server_answered_is_there(tmp_path: Path) -> None:
    server = start_server(tmp_path)
    glue = _fill(server)
    answered: list[str] = []

    def write(writer: int) -> None:
        for turn in range(10_000):
            try:
                expected = {
                    "SchemaId": _schema(writer % _SCHEMAS),
                    "SchemaDefinition": _definition("a", f"w{writer}x{turn}"),
                }
                answer = glue.register_schema_version(**expected)
            except (BotoCoreError, ClientError):
                return
            if "SchemaVersionId" not in answer:
                # The kill cut the body off, which botocore takes for an empty one.
                assert len(answered) >= 60
                return
            answered.append(answer["SchemaVersionId"])
            if len(answered) == 60:
                psutil.Process(server.process.pid).send_signal(signal.SIGKILL)

    with ThreadPoolExecutor(_WRITERS) as pool:
        list(pool.map(write, range(_WRITERS)))
    server.process.wait(timeout=120)
    with running_server(tmp_path) as again:
        glue = again.client("glue")
        assert len(answered) >= 60
        assert {glue.get_schema_version(SchemaVersionId=name)["Status"] for name in answered} == {"AVAILABLE"}
