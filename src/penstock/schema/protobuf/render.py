"""The canonical text of a compiled definition: .proto source that compiles to the same descriptor.

What two texts may differ in without meaning anything else is gone: comments, layout, how a type is named from where it
stands, the order of fields, imports, options, enums, services, reserved names, and how a map field is spelled. Kept is the
order of messages, at the top and inside messages: Confluent's frames name a message by its position.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from penstock.schema.protobuf.model import (
    EDITIONS,
    REPEATED,
    REQUIRED,
    TYPE_BYTES,
    TYPE_GROUP,
    TYPE_MESSAGE,
    TYPE_STRING,
    MessageType,
    ProtoTree,
    default_json_name,
    real_oneof,
    type_name,
)
from penstock.schema.protobuf.options import OptionWriter, quoted

__all__ = ["Renderer", "render_file"]

_MAX_ENUM = 2**31 - 1
_MAX_TAGS = frozenset({2**29, 2**31 - 1})  # one past the largest field number; messages of message sets go further
_STEP = "  "


def render_file(tree: ProtoTree) -> str:
    """Return the canonical text of the definition itself."""
    return Renderer(tree).text(tree.file)


class Renderer:
    """Renders the files of one tree."""

    def __init__(self, tree: ProtoTree) -> None:
        self._options = OptionWriter(tree.files)
        self._entries = {f".{item.full_name}": item for item in tree.messages.values() if item.is_map_entry}

    def text(self, file: Any) -> str:
        """Return the canonical text of one of the tree's files; ends with a line feed."""
        return "\n".join(_Writer(self._options, self._entries, file).lines()) + "\n"


class _Writer:
    """Lines of one file."""

    def __init__(self, options: OptionWriter, entries: Mapping[str, MessageType], file: Any) -> None:
        self._options = options
        self._entries = entries
        self._file = file
        self._proto3 = file.syntax == "proto3"
        self._editions = file.syntax == "editions"

    def lines(self) -> Iterator[str]:
        file = self._file
        if self._editions:
            yield f'edition = "{EDITIONS.get(file.edition, file.edition)}";'
        else:
            yield f'syntax = "{file.syntax or "proto2"}";'
        if file.package:
            yield f"package {file.package};"
        yield from self._imports()
        yield from self._options.statements(file.options, "")
        scope = f".{file.package}" if file.package else ""
        yield from self._enums(file.enum_type, "")
        yield from self._messages(file.message_type, file.extension, [], scope, "")
        yield from self._extensions(self._plain(file.extension, file.message_type, scope), "")
        for service in sorted(file.service, key=lambda item: item.name):
            yield from self._service(service)

    def _imports(self) -> Iterator[str]:
        public, weak = set(self._file.public_dependency), set(self._file.weak_dependency)
        modifiers = {
            name: "public " if index in public else "weak " if index in weak else ""
            for index, name in enumerate(self._file.dependency)
        }
        for name in sorted(modifiers):
            yield f"import {modifiers[name]}{quoted(name)};"
        for name in sorted(getattr(self._file, "option_dependency", ())):
            yield f"import option {quoted(name)};"

    def _messages(self, messages: Any, extensions: Any, fields: Sequence[Any], scope: str, indent: str) -> Iterator[str]:
        """Messages in their order; a group's fields stand where its message does."""
        groups = {item.type_name: item for item in extensions if item.type == TYPE_GROUP}
        own = {item.type_name: item for item in fields if item.type == TYPE_GROUP}
        for message in messages:
            full_name = f"{scope}.{message.name}"
            if full_name in own:
                yield from self._field(own[full_name], indent, message, scope)
            elif full_name in groups:
                item = groups[full_name]
                yield f"{indent}extend {item.extendee} {{"
                yield from self._field(item, indent + _STEP, message, scope)
                yield f"{indent}}}"
            elif not message.options.map_entry:
                yield f"{indent}{_visibility(message)}message {message.name} {{"
                yield from self._body(message, full_name, indent + _STEP)
                yield f"{indent}}}"

    def _plain(self, extensions: Any, messages: Any, scope: str) -> list[Any]:
        """Return the extensions that :meth:`_messages` does not write."""
        groups = {f"{scope}.{message.name}" for message in messages}
        return [item for item in extensions if item.type != TYPE_GROUP or item.type_name not in groups]

    def _body(self, message: Any, scope: str, indent: str) -> Iterator[str]:
        yield from self._options.statements(message.options, indent)
        yield from self._reserved(message, indent, _message_end)
        for item in sorted(message.extension_range, key=lambda part: part.start):
            numbers = _span(item.start, item.end - 1, item.end in _MAX_TAGS)
            options = self._options.brackets(self._options.assignments(item.options))
            yield f"{indent}extensions {numbers}{options};"
        members: dict[int, list[Any]] = {}
        plain: list[tuple[int, Any]] = []
        for item in message.field:
            oneof = real_oneof(item)
            if oneof is not None:
                members.setdefault(oneof, []).append(item)
            elif item.type != TYPE_GROUP:
                plain.append((item.number, item))
        # A oneof with a group stands where the group's message does, all others by their lowest number.
        grouped = {index: items for index, items in members.items() if any(item.type == TYPE_GROUP for item in items)}
        for index, items in members.items():
            if index not in grouped:
                plain.append((min(item.number for item in items), (message.oneof_decl[index], items)))
        for _, item in sorted(plain, key=lambda pair: pair[0]):
            if isinstance(item, tuple):
                oneof, items = item
                yield from self._oneof(oneof, items, indent, scope, message)
            else:
                yield from self._field(item, indent, None, scope)
        yield from self._enums(message.enum_type, indent)
        yield from self._nested(message, grouped, scope, indent)
        yield from self._extensions(self._plain(message.extension, message.nested_type, scope), indent)

    def _nested(self, message: Any, grouped: dict[int, list[Any]], scope: str, indent: str) -> Iterator[str]:
        by_message = {item.type_name: index for index, items in grouped.items() for item in items if item.type == TYPE_GROUP}
        alone = [item for item in message.field if item.type == TYPE_GROUP and real_oneof(item) is None]
        written: set[int] = set()
        for nested in message.nested_type:
            index = by_message.get(f"{scope}.{nested.name}")
            if index is None:
                yield from self._messages([nested], message.extension, alone, scope, indent)
            elif index not in written:
                written.add(index)
                yield from self._oneof(message.oneof_decl[index], grouped[index], indent, scope, message, in_order=True)

    def _oneof(
        self, oneof: Any, items: Sequence[Any], indent: str, scope: str, message: Any, *, in_order: bool = False
    ) -> Iterator[str]:
        groups = {f"{scope}.{nested.name}": nested for nested in message.nested_type}
        yield f"{indent}oneof {oneof.name} {{"
        yield from self._options.statements(oneof.options, indent + _STEP)
        for item in items if in_order else sorted(items, key=lambda part: part.number):
            group = groups[item.type_name] if item.type == TYPE_GROUP else None
            yield from self._field(item, indent + _STEP, group, scope, label=False)
        yield f"{indent}}}"

    def _field(
        self, field: Any, indent: str, group: Any | None, scope: str, *, label: bool = True, extension: bool = False
    ) -> Iterator[str]:
        entry = self._entries.get(field.type_name) if field.type == TYPE_MESSAGE and field.label == REPEATED else None
        options = self._options.brackets(self._field_options(field, extension=extension))
        if entry is not None:
            key, value = sorted(entry.proto.field, key=lambda part: part.number)
            yield f"{indent}map<{type_name(key)}, {type_name(value)}> {field.name} = {field.number}{options};"
            return
        text = self._label(field) if label else ""
        if group is None:
            yield f"{indent}{text}{type_name(field)} {field.name} = {field.number}{options};"
            return
        yield f"{indent}{text}group {group.name} = {field.number}{options} {{"
        yield from self._body(group, f"{scope}.{group.name}", indent + _STEP)
        yield f"{indent}}}"

    def _label(self, field: Any) -> str:
        if field.label == REPEATED:
            return "repeated "
        if field.label == REQUIRED:
            return "required "
        implicit = self._editions or (self._proto3 and not field.proto3_optional)
        return "" if implicit else "optional "

    def _field_options(self, field: Any, *, extension: bool) -> list[str]:
        assignments = self._options.assignments(field.options)
        if field.HasField("json_name") and not extension and field.json_name != default_json_name(field.name):
            assignments.insert(0, f"json_name = {quoted(field.json_name)}")
        if field.HasField("default_value"):
            assignments.insert(0, f"default = {_default(field)}")
        return assignments

    def _reserved(self, proto: Any, indent: str, last: Callable[[Any], tuple[int, bool]]) -> Iterator[str]:
        spans = [_span(start, end, open_end) for start, end, open_end in _merged(proto.reserved_range, last)]
        if spans:
            yield f"{indent}reserved {', '.join(spans)};"
        names = sorted(set(proto.reserved_name))
        if names:
            yield f"{indent}reserved {', '.join(names if self._editions else map(quoted, names))};"

    def _enums(self, enums: Iterable[Any], indent: str) -> Iterator[str]:
        for enum in sorted(enums, key=lambda item: item.name):
            yield f"{indent}{_visibility(enum)}enum {enum.name} {{"
            yield from self._options.statements(enum.options, indent + _STEP)
            yield from self._reserved(enum, indent + _STEP, _enum_end)
            # The first value is proto2's default; among values of one number the first gives the number its name.
            first, *rest = enum.value
            for value in (first, *sorted(rest, key=lambda item: item.number)):
                options = self._options.brackets(self._options.assignments(value.options))
                yield f"{indent}{_STEP}{value.name} = {value.number}{options};"
            yield f"{indent}}}"

    def _extensions(self, extensions: Iterable[Any], indent: str) -> Iterator[str]:
        for extension in sorted(extensions, key=lambda part: (part.extendee, part.number)):
            yield f"{indent}extend {extension.extendee} {{"
            yield from self._field(extension, indent + _STEP, None, "", extension=True)
            yield f"{indent}}}"

    def _service(self, service: Any) -> Iterator[str]:
        yield f"service {service.name} {{"
        yield from self._options.statements(service.options, _STEP)
        for method in sorted(service.method, key=lambda item: item.name):
            request = ("stream " if method.client_streaming else "") + method.input_type
            returned = ("stream " if method.server_streaming else "") + method.output_type
            head = f"{_STEP}rpc {method.name} ({request}) returns ({returned})"
            options = self._options.statements(method.options, _STEP * 2)
            yield from [f"{head} {{", *options, f"{_STEP}}}"] if options else [f"{head};"]
        yield "}"


def _visibility(proto: Any) -> str:
    number = getattr(proto, "visibility", 0)
    return {1: "local ", 2: "export "}.get(number, "")  # descriptor.proto's SymbolVisibility


def _default(field: Any) -> str:
    # The compiler keeps the default of bytes escaped already.
    if field.type == TYPE_BYTES:
        return f'"{field.default_value}"'
    return quoted(field.default_value) if field.type == TYPE_STRING else str(field.default_value)


def _message_end(span: Any) -> tuple[int, bool]:
    return span.end - 1, span.end in _MAX_TAGS


def _enum_end(span: Any) -> tuple[int, bool]:
    return span.end, span.end == _MAX_ENUM


def _merged(ranges: Iterable[Any], last: Callable[[Any], tuple[int, bool]]) -> Iterator[tuple[int, int, bool]]:
    """First and last number of each run of reserved numbers, however the text divides it."""
    spans = sorted((span.start, *last(span)) for span in ranges)
    if not spans:
        return
    start, end, open_end = spans[0]
    for next_start, next_end, next_open in spans[1:]:
        if next_start > end + 1:
            yield start, end, open_end
            start = next_start
        end, open_end = next_end, next_open
    yield start, end, open_end


def _span(start: int, end: int, open_end: bool) -> str:
    if open_end:
        return f"{start} to max"
    return str(start) if start == end else f"{start} to {end}"
