"""AWS's published Java serde in a child process; see tests/java/SerdeBridge.java for the lines spoken with it."""

import base64
import io
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import fastavro
from java_source import java_program

_SOURCE = Path(__file__).parents[2] / "java" / "SerdeBridge.java"


class JavaSerdeError(Exception):
    """What the Java side threw, causes included."""


class JavaSerde:
    """Writes and reads messages with AWSKafkaAvroSerializer and AWSKafkaAvroDeserializer against one server."""

    def __init__(self, properties: Mapping[str, str], environment: Mapping[str, str], log: Path) -> None:
        self._properties = dict(properties)
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            [*java_program(_SOURCE, log.parent / "classes"), "SerdeBridge"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, **environment},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()
        self._log.close()

    def write(self, topic: str, schema: Any, values: list[Any], **properties: str) -> list[bytes | None]:
        """The messages of ``values``; ``None`` for ``None``."""
        lines = [_text(_avro_json(schema, value)) if value is not None else "-" for value in values]
        answer = self._ask("write", properties, topic, _text(json.dumps(schema)), *lines)
        return [None if message == "-" else bytes.fromhex(message) for message in answer]

    def read(self, topic: str, messages: list[bytes | None], **properties: str) -> tuple[Any, list[Any]]:
        """The schema of the last message, and the values; all messages have to be of that version."""
        answer = self._ask("read", properties, topic, *("-" if data is None else data.hex() for data in messages))
        if answer[0] == "-":
            return None, [None for _ in answer[1:]]
        schema = json.loads(base64.b64decode(answer[0]))
        return schema, [
            None if value == "-" else _from_avro_json(schema, base64.b64decode(value).decode()) for value in answer[1:]
        ]

    def _ask(self, command: str, properties: Mapping[str, str], *parts: str) -> list[str]:
        lines = "\n".join(f"{name}={value}" for name, value in {**self._properties, **properties}.items())
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join((command, _text(lines), *parts)) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline().rstrip("\n")
        if not line:
            raise JavaSerdeError(f"the Java process ended: {Path(self._log.name).read_text()[-2000:]}")
        status, *answer = line.split("\t")
        if status == "error":
            raise JavaSerdeError(base64.b64decode(answer[0]).decode())
        return answer


def _text(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _avro_json(schema: Any, value: Any) -> str:
    out = io.StringIO()
    fastavro.json_writer(out, schema, [value])
    return out.getvalue()


def _from_avro_json(schema: Any, text: str) -> Any:
    return next(iter(fastavro.json_reader(io.StringIO(text), schema)))
