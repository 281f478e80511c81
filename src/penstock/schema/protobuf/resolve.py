"""The reasons why a reader's definition cannot read a writer's data: the published rules of Confluent and Glue.

Messages are matched by name without the package, fields by number. What both APIs agree on is here without a flag:
messages, the kinds of fields, oneofs. An imported message is compared where a field uses it.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.schema.incompatibility import Incompatibility
from penstock.schema.protobuf.model import (
    REPEATED,
    TYPE_BYTES,
    TYPE_ENUM,
    TYPE_GROUP,
    TYPE_MESSAGE,
    TYPE_STRING,
    MessageType,
    ProtoTree,
    is_group,
    is_required,
    real_oneof,
    type_text,
)
from penstock.schema.protobuf.services import service_conflicts
from penstock.schema.rules import ProtobufRules

__all__ = ["MAX_FOUND", "incompatibilities"]

MAX_FOUND = 100

# Scalars that share an encoding (Protobuf's language guide, "Updating a message type"), by FieldDescriptorProto.Type.
_VARINT, _ZIGZAG, _TEXT = "int32, int64, uint32, uint64, bool or an enum", "sint32 or sint64", "string or bytes"
_FIXED32, _FIXED64 = "fixed32 or sfixed32", "fixed64 or sfixed64"
_GROUPS = {
    **dict.fromkeys((3, 4, 5, 8, 13, TYPE_ENUM), _VARINT),
    **dict.fromkeys((17, 18), _ZIGZAG),
    **dict.fromkeys((TYPE_STRING, TYPE_BYTES), _TEXT),
    **dict.fromkeys((7, 15), _FIXED32),
    **dict.fromkeys((6, 16), _FIXED64),
    2: "float",
    1: "double",
}


def incompatibilities(reader: ProtoTree, writer: ProtoTree, rules: ProtobufRules) -> list[Incompatibility]:
    """Return why ``reader`` cannot read data of ``writer``, at most :data:`MAX_FOUND`; empty if it can."""
    findings: list[Incompatibility] = []
    for finding in _Comparison(reader, writer, rules).run():
        findings.append(finding)
        if len(findings) == MAX_FOUND:
            break
    return findings


class _Comparison:
    """One comparison of a reader and a writer. Pairs of messages are queued, so that no chain of types is too long."""

    def __init__(self, reader: ProtoTree, writer: ProtoTree, rules: ProtobufRules) -> None:
        self._reader, self._writer, self._rules = reader, writer, rules
        self._pending: list[tuple[MessageType, MessageType]] = []
        self._compared: set[tuple[str, str]] = set()

    def run(self) -> Iterator[Incompatibility]:
        if self._reader.file.package != self._writer.file.package:
            yield Incompatibility(
                path="/",
                rule="PACKAGE_CHANGED",
                reader=self._reader.file.package or "(none)",
                writer=self._writer.file.package or "(none)",
                message="The package is not the same, so every message has another full name. "
                f"Keep the package '{self._writer.file.package}'.",
            )
        yield from self._messages()
        # Imported pairs join while earlier ones are compared.
        for reader, writer in self._pending:
            yield from self._message(reader, writer)
        yield from self._enums()
        if self._rules.services:
            yield from service_conflicts(self._reader, self._writer)

    def _messages(self) -> Iterator[Incompatibility]:
        own = {item.local_name: item for item in self._reader.own_messages}
        removed: set[str] = set()
        for writer in self._writer.own_messages:
            reader = own.get(writer.local_name)
            if writer.is_map_entry:
                continue
            if reader is not None and not reader.is_map_entry:
                self._add(reader, writer)
                continue
            removed.add(writer.local_name)
            if writer.local_name.rpartition(".")[0] in removed:
                continue
            yield Incompatibility(
                path=_path(writer),
                rule="MESSAGE_REMOVED",
                reader="(missing)",
                writer=f"message {writer.local_name}",
                message=f"The reader has no message {writer.local_name}. Keep it, even if nothing uses it.",
            )

    def _add(self, reader: MessageType, writer: MessageType) -> None:
        pair = (reader.full_name, writer.full_name)
        if pair not in self._compared:
            self._compared.add(pair)
            self._pending.append((reader, writer))

    def _message(self, reader: MessageType, writer: MessageType) -> Iterator[Incompatibility]:
        read = {field.number: field for field in reader.proto.field}
        written = {field.number: field for field in writer.proto.field}
        path = _path(reader)
        reserved = _Reserved(writer.proto, 0 if self._rules.reserved else None)
        oneofs = _oneof_names(reader)
        vacated = _oneofs_left(writer, read, oneofs)
        yield from self._joined(reader, writer, written, path)
        for number in sorted(read.keys() | written.keys()):
            new, old = read.get(number), written.get(number)
            if old is None:
                yield from self._added(new, reader, reserved, path)
            elif new is None:
                yield from self._removed(old, writer, vacated, path)
            else:
                yield from self._moved((new, reader), (old, writer), oneofs, path)
                yield from self._field((new, reader), (old, writer), f"{path}/{new.name}")

    def _moved(
        self, new: tuple[Any, MessageType], old: tuple[Any, MessageType], oneofs: set[str], path: str
    ) -> Iterator[Incompatibility]:
        """Yield a field that left its oneof, which the reader still has by name: ``oneofs`` are those names.

        Source: OneOfDiff of Confluent's registry up to 8.1, which compares the members of oneofs of the same name.
        """
        (read, reader), (written, writer) = new, old
        oneof = _oneof_name(written, writer)
        if oneof is None or oneof == _oneof_name(read, reader) or oneof not in oneofs:
            return
        yield Incompatibility(
            path=f"{path}/{oneof}/{written.name}",
            rule="ONEOF_FIELD_REMOVED",
            reader=_text(read, reader, self._reader),
            writer=f"oneof {oneof} {{{_text(written, writer, self._writer)}}}",
            message=f"The reader's oneof has no field {written.number}, so it cannot tell that choice from none. "
            "Keep the field in the oneof, or remove the whole oneof.",
        )

    def _added(self, field: Any, reader: MessageType, reserved: "_Reserved", path: str) -> Iterator[Incompatibility]:
        text = _text(field, reader, self._reader)
        if is_required(field):
            yield Incompatibility(
                path=f"{path}/{field.name}",
                rule="REQUIRED_FIELD_ADDED",
                reader=text,
                writer="(missing)",
                message=f"The reader requires field {field.number}, which the writer does not have. Make it optional.",
            )
        number = reserved.number(field.number)
        if number or field.name in reserved.names:
            reserved_as = f"number {field.number}" if number else f"name {field.name}"
            yield Incompatibility(
                path=f"{path}/{field.name}",
                rule="RESERVED_FIELD_REUSED",
                reader=text,
                writer=f"reserved {field.number if number else field.name}",
                message=f"The {reserved_as} is reserved in the writer, because older data has it with another meaning. "
                "Give the field a number and a name that were never used.",
            )

    def _removed(self, field: Any, writer: MessageType, vacated: set[int], path: str) -> Iterator[Incompatibility]:
        text = _text(field, writer, self._writer)
        oneof = real_oneof(field)
        if oneof is not None:
            name = writer.proto.oneof_decl[oneof].name
            if oneof in vacated:
                yield Incompatibility(
                    path=f"{path}/{name}/{field.name}",
                    rule="ONEOF_FIELD_REMOVED",
                    reader="(missing)",
                    writer=text,
                    message=f"The reader's oneof has no field {field.number}, so it cannot tell that choice from none. "
                    "Keep the field, or remove the whole oneof.",
                )
        elif is_required(field) and self._rules.required_removed:
            yield Incompatibility(
                path=f"{path}/{field.name}",
                rule="REQUIRED_FIELD_REMOVED",
                reader="(missing)",
                writer=text,
                message=f"The writer's required field {field.number} is missing in the reader. "
                "Keep it, or make it optional first.",
            )

    def _joined(
        self, reader: MessageType, writer: MessageType, written: Mapping[int, Any], path: str
    ) -> Iterator[Incompatibility]:
        """Fields that could be set together before and exclude each other now."""
        members: dict[int, list[Any]] = {}
        for field in reader.proto.field:
            oneof = real_oneof(field)
            if oneof is not None and field.number in written:
                members.setdefault(oneof, []).append(field)
        for index, items in sorted(members.items()):
            name = reader.proto.oneof_decl[index].name
            origins = {_origin(written[field.number]) for field in items}
            if len(origins) < 2:
                continue
            moved = [field.name for field in items if real_oneof(written[field.number]) is None]
            several = len(moved) > 1
            yield Incompatibility(
                path=f"{path}/{name}",
                rule="MULTIPLE_FIELDS_MOVED_TO_ONEOF" if several else "FIELD_MOVED_TO_EXISTING_ONEOF",
                reader=f"oneof {name} {{{', '.join(field.name for field in items)}}}",
                writer=", ".join(_text(written[field.number], writer, self._writer) for field in items),
                message="The writer can set these fields together, and the reader keeps only the last of them. "
                f"Leave {'all but one of them' if several else 'the field that joined'} outside of the oneof.",
            )

    def _field(
        self, new: tuple[Any, MessageType], old: tuple[Any, MessageType], path: str, *, labels: bool = True
    ) -> Iterator[Incompatibility]:
        (read, reader), (written, writer) = new, old
        sides = {
            "path": path,
            "reader": _text(read, reader, self._reader),
            "writer": _text(written, writer, self._writer),
        }
        if labels and self._rules.required_made and is_required(read) and not is_required(written):
            yield Incompatibility(
                **sides,
                rule="REQUIRED_FIELD_ADDED",
                message=f"The reader requires field {read.number}, which is optional in the writer. Make it optional.",
            )
        read_as = _kind(read, reader, self._reader)
        if read_as != _kind(written, writer, self._writer):
            yield Incompatibility(
                **sides,
                rule="FIELD_KIND_CHANGED",
                message=f"Field {read.number} has another kind, and other bytes. Give the new field a number of its own.",
            )
        elif read_as == "scalar":
            yield from self._scalar(read, written, sides, self._labels(new, old) if labels else False)
        elif read_as == "map":
            entry_read, entry_written = (
                self._reader.messages[read.type_name[1:]],
                self._writer.messages[written.type_name[1:]],
            )
            for part_read, part_written in zip(_parts(entry_read), _parts(entry_written), strict=True):
                place = f"{path}/{part_read.name}"
                yield from self._field((part_read, entry_read), (part_written, entry_written), place, labels=False)
        else:
            yield from self._message_names(
                self._reader.messages[read.type_name[1:]], self._writer.messages[written.type_name[1:]], sides
            )

    def _scalar(self, read: Any, written: Any, sides: dict[str, str], relabelled: bool) -> Iterator[Incompatibility]:
        group = _GROUPS[written.type]
        if _GROUPS[read.type] != group:
            yield Incompatibility(
                **sides,
                rule="FIELD_SCALAR_KIND_CHANGED",
                message=f"Field {read.number} is encoded in another way. Use {group}, or a new field number.",
            )
        elif relabelled and group != _TEXT:
            yield Incompatibility(
                **sides,
                rule="FIELD_NUMERIC_LABEL_CHANGED",
                message=f"Repeated numbers are packed, single ones are not: field {read.number} cannot change its label. "
                "Keep it, or use a new field number.",
            )

    def _message_names(self, reader: MessageType, writer: MessageType, sides: dict[str, str]) -> Iterator[Incompatibility]:
        if reader.local_name != writer.local_name:
            yield Incompatibility(
                **sides,
                rule="FIELD_NAMED_TYPE_CHANGED",
                message=f"The field's message is another one. Keep {writer.local_name}, or use a new field number.",
            )
        elif reader.file is not self._reader.file or writer.file is not self._writer.file:
            self._add(reader, writer)

    def _labels(self, new: tuple[Any, MessageType], old: tuple[Any, MessageType]) -> bool:
        """Return whether the label changed, by the rules of the called API."""
        (read, reader), (written, writer) = new, old
        if not self._rules.written_labels:
            return bool((read.label == REPEATED) != (written.label == REPEATED))
        labels = _written_label(read, reader), _written_label(written, writer)
        return "" not in labels and labels[0] != labels[1]

    def _enums(self) -> Iterator[Incompatibility]:
        if not self._rules.reserved:
            return
        written = {item.local_name: item for item in self._writer.enums.values() if item.file is self._writer.file}
        for enum in self._reader.enums.values():
            old = written.get(enum.local_name) if enum.file is self._reader.file else None
            if old is None:
                continue
            reserved = _Reserved(old.proto, 1)
            for value in enum.proto.value:
                if value.name in reserved.names or reserved.number(value.number):
                    yield Incompatibility(
                        path=f"/{enum.local_name.replace('.', '/')}/{value.name}",
                        rule="RESERVED_VALUE_REUSED",
                        reader=f"{value.name} = {value.number}",
                        writer="reserved",
                        message="The writer reserves this name or number, because older data has it with another meaning. "
                        "Use one that was never used.",
                    )


def _path(message: MessageType) -> str:
    return f"/{message.local_name.replace('.', '/')}"


def _origin(field: Any) -> tuple[str, int]:
    """What a field belonged to: fields of one oneof exclude each other already."""
    oneof = real_oneof(field)
    return ("field", field.number) if oneof is None else ("oneof", oneof)


def _kind(field: Any, message: MessageType, tree: ProtoTree) -> str:
    if field.type not in {TYPE_GROUP, TYPE_MESSAGE}:
        return "scalar"
    if is_group(field, message):
        return "group"
    return "map" if field.label == REPEATED and tree.messages[field.type_name[1:]].is_map_entry else "message"


def _parts(entry: MessageType) -> Sequence[Any]:
    return sorted(entry.proto.field, key=lambda item: item.number)


def _written_label(field: Any, message: MessageType) -> str:
    """Return the label in the text, empty where there is none: proto3's plain fields, members of oneofs, editions."""
    if field.label == REPEATED:
        return "repeated"
    if message.file.syntax in {"proto3", "editions"} or real_oneof(field) is not None:
        return "optional" if field.proto3_optional else ""
    return "required" if is_required(field) else "optional"


def _text(field: Any, message: MessageType, tree: ProtoTree) -> str:
    optional = "optional " if _written_label(field, message) == "optional" else ""
    return f"{optional}{type_text(field, tree)} {field.name} = {field.number}"


def _oneofs_left(writer: MessageType, read: Mapping[int, Any], names: set[str]) -> set[int]:
    """Return the writer's oneofs of which the reader has a field or the name, one of ``names``.

    One that is gone with all its fields leaves nothing behind that could be half read.
    """
    vacated = {index for index, oneof in enumerate(writer.proto.oneof_decl) if oneof.name in names}
    remaining = (real_oneof(field) for field in writer.proto.field if field.number in read)
    return vacated.union(index for index in remaining if index is not None)


def _oneof_name(field: Any, message: MessageType) -> str | None:
    index = real_oneof(field)
    return None if index is None else str(message.proto.oneof_decl[index].name)


def _oneof_names(message: MessageType) -> set[str]:
    return {name for field in message.proto.field if (name := _oneof_name(field, message)) is not None}


class _Reserved:
    """The names and numbers that a message or an enum reserves, looked up without a walk over all of them.

    ``last`` is added to the end of each range, which a message excludes (0) and an enum includes (1); None: nothing counts.
    """

    def __init__(self, proto: Any, last: int | None) -> None:
        self.names = frozenset() if last is None else frozenset(proto.reserved_name)
        # The compiler refuses ranges that overlap.
        spans = [] if last is None else sorted((span.start, span.end + last) for span in proto.reserved_range)
        self._starts, self._ends = [start for start, _ in spans], [end for _, end in spans]

    def number(self, number: int) -> bool:
        """Return whether ``number`` is in one of the ranges."""
        index = bisect_right(self._starts, number) - 1
        return index >= 0 and number < self._ends[index]
