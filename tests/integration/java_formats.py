"""AWS's published Java serde for all formats in a child process."""

import base64
import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2

from penstock.schema.format import ParsedSchema
from penstock.testing.server import RunningServer
from tests.integration.java_bridge import JavaBridge, base64_text

__all__ = ["JavaFormats", "JavaValue", "java_formats"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaValue:
    """What the Java deserialiser made of a frame; ``name`` is a message's full name or another value's schema."""

    java_class: str
    name: str
    data: bytes


class JavaFormats(JavaBridge):
    """Writes with GlueSchemaRegistryKafkaSerializer, a new one each time, and reads with its deserialiser."""

    def avro(self, topic: str, schema: Any, values: Sequence[bytes], **properties: str) -> list[bytes]:
        """Frames of generic Avro values, given in Avro's binary encoding."""
        given = {"dataFormat": "AVRO", **properties}
        return self._write("avro", given, topic, base64_text(json.dumps(schema)), *(value.hex() for value in values))

    def json(self, topic: str, schema: Any, values: Sequence[Any], **properties: str) -> list[bytes]:
        """Frames of ``JsonDataWithSchema``."""
        lines = [base64_text(json.dumps(value)) for value in values]
        return self._write("json", {"dataFormat": "JSON", **properties}, topic, base64_text(json.dumps(schema)), *lines)

    def objects(self, topic: str, values: Sequence[Any], **properties: str) -> list[bytes]:
        """Frames of Java's own class ``FormatsBridge.Flight``, its schema derived by AWS's serialiser."""
        lines = [base64_text(json.dumps(value)) for value in values]
        return self._write("object", {"dataFormat": "JSON", **properties}, topic, *lines)

    def dynamic(
        self, topic: str, schema: ParsedSchema, name: str, messages: Sequence[bytes], **properties: str
    ) -> list[bytes]:
        """Frames of ``DynamicMessage``; ``name`` is the message's without its package, nested ones after a slash."""
        files = descriptor_pb2.FileDescriptorSet(file=schema.tree.files).SerializeToString()
        given = {"dataFormat": "PROTOBUF", **properties}
        return self._write("dynamic", given, topic, files.hex(), name, *(item.hex() for item in messages))

    def generated(self, topic: str, java_class: str, messages: Sequence[bytes], **properties: str) -> list[bytes]:
        """Frames of a message class that protoc made."""
        given = {"dataFormat": "PROTOBUF", **properties}
        return self._write("generated", given, topic, java_class, *(item.hex() for item in messages))

    def read(self, topic: str, frames: Sequence[bytes], **properties: str) -> list[JavaValue]:
        """What the frames are read as, whatever their format."""
        answer = self.ask("read", properties, topic, *(frame.hex() for frame in frames))
        return [
            JavaValue(java_class=java_class, name=base64.b64decode(name).decode(), data=bytes.fromhex(data))
            for java_class, name, data in zip(answer[::3], answer[1::3], answer[2::3], strict=True)
        ]

    def _write(self, command: str, properties: dict[str, str], *parts: str) -> list[bytes]:
        return [bytes.fromhex(frame) for frame in self.ask(command, properties, *parts)]


@contextlib.contextmanager
def java_formats(server: RunningServer, folder: Path, registry: str | None = None) -> Iterator[JavaFormats]:
    """The serde, registering what it writes, in ``registry`` where one is named; that is made. ``folder`` holds its log."""
    properties = {
        "avroRecordType": "GENERIC_RECORD",
        "protobufMessageType": "DYNAMIC_MESSAGE",
        "schemaAutoRegistrationEnabled": "true",
    }
    if registry is not None:
        server.client("glue").create_registry(RegistryName=registry)
        properties["registry.name"] = registry
    with JavaFormats("FormatsBridge", server, properties, folder / "log") as bridge:
        yield bridge
