"""FileDescriptorProtos as a compiler makes them, for Hypothesis."""

import itertools
from collections.abc import Callable
from typing import Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)
from hypothesis import strategies as st

__all__ = ["files"]

F = descriptor_pb2.FieldDescriptorProto
_SCALARS = (
    F.TYPE_INT32,
    F.TYPE_UINT64,
    F.TYPE_SINT32,
    F.TYPE_FIXED64,
    F.TYPE_BOOL,
    F.TYPE_STRING,
    F.TYPE_BYTES,
    F.TYPE_DOUBLE,
)
_TEXT = st.text(st.characters(codec="utf-8"), max_size=5)


@st.composite
def files(draw: Callable[..., Any]) -> FileDescriptorProto:
    """A file of proto2 or proto3 with nested messages, all kinds of fields, enums and services."""
    return _Drawing(draw).file()


class _Drawing:
    def __init__(self, draw: Callable[..., Any]) -> None:
        self.draw = draw
        self.numbers = itertools.count()
        self.messages: list[Any] = []
        self.enums: list[Any] = []
        self.proto3 = self.coin()

    def coin(self) -> bool:
        return bool(self.draw(st.booleans()))

    def name(self, letter: str) -> str:
        return f"{letter}{next(self.numbers)}"

    def file(self) -> FileDescriptorProto:
        file = descriptor_pb2.FileDescriptorProto(name="x.proto", syntax="proto3" if self.proto3 else "proto2")
        file.package = self.draw(st.sampled_from(["", "p", "p.q"]))
        if self.coin():
            file.options.java_package = self.draw(_TEXT)
        scope = f".{file.package}" if file.package else ""
        for _ in range(self.draw(st.integers(0, 2))):
            self.enum(file.enum_type.add(), scope)
        for _ in range(self.draw(st.integers(1, 3))):
            self.declare(file.message_type.add(), scope, depth=2)
        for message, full_name in self.messages:
            self.fill(message, full_name)
        if self.coin():
            self.service(file.service.add(name=self.name("S")))
        return file

    def enum(self, enum: EnumDescriptorProto, scope: str) -> None:
        enum.name = self.name("E")
        for number in [0, *self.draw(st.lists(st.integers(-100, 100).filter(bool), max_size=3, unique=True))]:
            enum.value.add(name=self.name("V"), number=number)
        self.enums.append((f"{scope}.{enum.name}", enum.value[-1].name))

    def declare(self, message: DescriptorProto, scope: str, depth: int) -> None:
        message.name = self.name("M")
        full_name = f"{scope}.{message.name}"
        self.messages.append((message, full_name))
        if self.coin():
            self.enum(message.enum_type.add(), full_name)
        for _ in range(self.draw(st.integers(0, 2)) if depth else 0):
            self.declare(message.nested_type.add(), full_name, depth - 1)

    def fill(self, message: DescriptorProto, full_name: str) -> None:
        for number in self.draw(st.lists(st.integers(1, 3_000), max_size=5, unique=True)):
            item = message.field.add(name=f"f_{next(self.numbers)}", number=number, label=F.LABEL_OPTIONAL)
            if self.draw(st.integers(0, 3)):
                self.type(item)
                self.shape(item, message)
            else:
                self.map(item, message, full_name)
        if self.proto3:
            self.make_optional(message)
        if self.coin():
            message.reserved_range.add(start=4_000, end=self.draw(st.integers(4_001, 4_010)))
            message.reserved_name.append("gone")

    def type(self, item: FieldDescriptorProto) -> None:
        kind = self.draw(st.sampled_from(["scalar", "message", "enum"]))
        if kind == "message":
            item.type, item.type_name = F.TYPE_MESSAGE, self.draw(st.sampled_from(self.messages))[1]
        elif kind == "enum" and self.enums:
            item.type, (item.type_name, value) = F.TYPE_ENUM, self.draw(st.sampled_from(self.enums))
            if not self.proto3 and self.coin():
                item.default_value = value
        else:
            item.type = self.draw(st.sampled_from(_SCALARS))

    def shape(self, item: FieldDescriptorProto, message: DescriptorProto) -> None:
        shape = self.draw(st.sampled_from(["plain", "repeated", "required", "oneof", "default", "json", "deprecated"]))
        if shape == "repeated" and not item.default_value:
            item.label = F.LABEL_REPEATED
        elif shape == "required" and not self.proto3:
            item.label = F.LABEL_REQUIRED
        elif shape == "oneof":
            if not message.oneof_decl:
                message.oneof_decl.add(name=self.name("o"))
            item.oneof_index = 0
        elif shape == "default" and not self.proto3 and item.type == F.TYPE_STRING:
            item.default_value = self.draw(_TEXT)
        elif shape == "json":
            item.json_name = f"j{item.number}"
        elif shape == "deprecated":
            item.options.deprecated = self.coin()

    def map(self, item: FieldDescriptorProto, message: DescriptorProto, full_name: str) -> None:
        entry = message.nested_type.add(name=f"F{item.name[2:]}Entry")
        entry.options.map_entry = True
        key = self.draw(st.sampled_from([F.TYPE_STRING, F.TYPE_INT32]))
        entry.field.add(name="key", number=1, label=F.LABEL_OPTIONAL, type=key)
        entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL, type=self.draw(st.sampled_from(_SCALARS)))
        item.label, item.type, item.type_name = F.LABEL_REPEATED, F.TYPE_MESSAGE, f"{full_name}.{entry.name}"

    def make_optional(self, message: DescriptorProto) -> None:
        """proto3's ``optional``, whose oneofs come behind those of the text."""
        for item in message.field:
            if item.label == F.LABEL_OPTIONAL and not item.HasField("oneof_index") and self.coin():
                item.proto3_optional = True
                item.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{item.name}")

    def service(self, service: ServiceDescriptorProto) -> None:
        for _ in range(self.draw(st.integers(0, 2))):
            taken, given = self.messages[0][1], self.messages[-1][1]
            method = service.method.add(name=self.name("R"), input_type=taken, output_type=given)
            if self.coin():
                method.server_streaming = True
