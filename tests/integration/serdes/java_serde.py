"""AWS's published Java serde for Avro in a child process."""

import base64
import io
import json
from typing import Any

import fastavro

from tests.integration.java_bridge import JavaBridge, base64_text

__all__ = ["JavaSerde"]


class JavaSerde(JavaBridge):
    """Writes and reads messages with AWSKafkaAvroSerializer and AWSKafkaAvroDeserializer against one server."""

    def write(self, topic: str, schema: Any, values: list[Any], **properties: str) -> list[bytes | None]:
        """The messages of ``values``; ``None`` for ``None``."""
        lines = [base64_text(_avro_json(schema, value)) if value is not None else "-" for value in values]
        answer = self.ask("write", properties, topic, base64_text(json.dumps(schema)), *lines)
        return [None if message == "-" else bytes.fromhex(message) for message in answer]

    def read(self, topic: str, messages: list[bytes | None], **properties: str) -> tuple[Any, list[Any]]:
        """The schema of the last message, and the values; all messages have to be of that version."""
        answer = self.ask("read", properties, topic, *("-" if data is None else data.hex() for data in messages))
        if answer[0] == "-":
            return None, [None for _ in answer[1:]]
        schema = json.loads(base64.b64decode(answer[0]))
        return schema, [
            None if value == "-" else _from_avro_json(schema, base64.b64decode(value).decode()) for value in answer[1:]
        ]


def _avro_json(schema: Any, value: Any) -> str:
    out = io.StringIO()
    fastavro.json_writer(out, schema, [value])
    return out.getvalue()


def _from_avro_json(schema: Any, text: str) -> Any:
    return next(iter(fastavro.json_reader(io.StringIO(text), schema)))
