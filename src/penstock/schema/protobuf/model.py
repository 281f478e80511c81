"""A compiled definition: its descriptors, its types by name, and what the two wire formats need of them."""

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from penstock.schema.errors import InvalidSchema

__all__ = [
    "EDITIONS",
    "MAIN_FILE",
    "REPEATED",
    "REQUIRED",
    "TYPE_BYTES",
    "TYPE_ENUM",
    "TYPE_GROUP",
    "TYPE_MESSAGE",
    "TYPE_STRING",
    "EnumType",
    "MessageType",
    "ProtoTree",
    "default_json_name",
    "is_group",
    "is_required",
    "messages_of",
    "real_oneof",
    "shared",
    "type_name",
    "type_text",
]

MAIN_FILE = "penstock-definition.proto"
"""The registered text's own name among the files: registered texts have none."""

REQUIRED, REPEATED = 2, 3  # FieldDescriptorProto.Label
TYPE_STRING, TYPE_GROUP, TYPE_MESSAGE, TYPE_BYTES, TYPE_ENUM = 9, 10, 11, 12, 14
EDITIONS = {998: "proto2", 999: "proto3", 1000: "2023", 1001: "2024"}  # descriptor.proto's Edition

_LEGACY_REQUIRED = 3  # FeatureSet.FieldPresence
_SCALARS = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "fixed64",
    7: "fixed32",
    8: "bool",
    9: "string",
    12: "bytes",
    13: "uint32",
    15: "sfixed32",
    16: "sfixed64",
    17: "sint32",
    18: "sint64",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageType:
    """A message type: ``proto`` is its DescriptorProto, ``file`` the FileDescriptorProto around it.

    ``full_name`` has the package and no leading dot, ``local_name`` is without the package. ``path`` are the positions that
    lead to it: in the file, then in each message around it. ``delimited`` says that an edition's features make sub-messages
    groups on the wire where the field itself does not say.
    """

    full_name: str
    local_name: str
    proto: Any
    file: Any
    path: tuple[int, ...]
    delimited: bool = False

    @property
    def is_map_entry(self) -> bool:
        """Whether it is the message behind a ``map<K, V>`` field."""
        return bool(self.proto.options.map_entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumType:
    """An enum type, named as a :class:`MessageType` is."""

    full_name: str
    local_name: str
    proto: Any
    file: Any


@dataclass(frozen=True, kw_only=True)
class ProtoTree:
    """A definition and all it imports.

    ``files`` are FileDescriptorProtos, each behind what it imports, the definition itself last: the order in which a
    ``google.protobuf.descriptor_pool.DescriptorPool`` takes them. ``comments`` are those of the definition's messages and
    fields by full name.
    """

    files: Sequence[Any]
    comments: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def file(self) -> Any:
        """The FileDescriptorProto of the definition itself."""
        return self.files[-1]

    @cached_property
    def messages(self) -> Mapping[str, MessageType]:
        """All message types, those of imports too, by full name."""
        own = {item.full_name: item for file in self.files if not _is_shared(file) for item in messages_of(file)}
        return ChainMap(own, *(_SHARED[file.name].messages for file in self.files if _is_shared(file)))

    @cached_property
    def enums(self) -> Mapping[str, EnumType]:
        """All enum types, those of imports too, by full name."""
        own = {item.full_name: item for file in self.files if not _is_shared(file) for item in _enums(file)}
        return ChainMap(own, *(_SHARED[file.name].enums for file in self.files if _is_shared(file)))

    @cached_property
    def own_messages(self) -> Sequence[MessageType]:
        """The definition's own message types in the order of the text, each before those inside it."""
        return tuple(messages_of(self.file))

    @property
    def first_message(self) -> MessageType | None:
        """The first message of the file: what a table, or a client that names none, takes for the record's type."""
        return self.own_messages[0] if self.own_messages else None

    def message_index_glue(self, full_name: str) -> int:
        """Return the varint before a message in AWS's frames: the rank of its name among the file's in Java's string order.

        Nested types and map entries count. Raise :class:`~penstock.schema.errors.InvalidSchema` for a name that the
        definition does not have.
        """
        names = self.names_glue()
        if full_name not in names:
            raise self._missing(full_name)
        return names.index(full_name)

    def names_glue(self) -> list[str]:
        """Return the full names of the definition's message types by :meth:`message_index_glue`."""
        return sorted((item.full_name for item in self.own_messages), key=lambda name: name.encode("utf-16-be"))

    def message_indexes_confluent(self, full_name: str) -> tuple[int, ...]:
        """Return the message indexes of Confluent's frames: positions in the file, then in each message around it.

        Positions are those of the descriptor, in which the entry of a ``map<K, V>`` field is a nested message too.
        """
        for item in self.own_messages:
            if item.full_name == full_name:
                return item.path
        raise self._missing(full_name)

    def _missing(self, full_name: str) -> InvalidSchema:
        return InvalidSchema(
            f"The definition has no message {full_name[:200]}.", remedy="Name one of its messages with its package."
        )


@dataclass(frozen=True, slots=True)
class _SharedFile:
    """A file that comes with the compiler and its types, once for all the trees that import it."""

    file: Any
    messages: dict[str, MessageType]
    enums: dict[str, EnumType]


_SHARED: dict[str, _SharedFile] = {}


def shared(file: Any) -> Any:
    """Return the one copy of a file that is the same in every tree."""
    shared_file = _SHARED.get(file.name)
    if shared_file is None:
        copy = type(file)()
        copy.CopyFrom(file)
        messages = {item.full_name: item for item in messages_of(copy)}
        # Of two threads one wins, and both take what it put there.
        shared_file = _SHARED.setdefault(
            file.name, _SharedFile(copy, messages, {item.full_name: item for item in _enums(copy)})
        )
    return shared_file.file


def _is_shared(file: Any) -> bool:
    shared_file = _SHARED.get(file.name)
    return shared_file is not None and shared_file.file is file


def messages_of(file: Any) -> Iterator[MessageType]:
    """Yield the message types of a FileDescriptorProto in the order of the text, each before those inside it."""
    prefix = f"{file.package}." if file.package else ""

    def walk(protos: Sequence[Any], around: str, path: tuple[int, ...], delimited: bool) -> Iterator[MessageType]:
        for position, proto in enumerate(protos):
            local_name, own_path = f"{around}{proto.name}", (*path, position)
            inside = _delimited(proto.options, delimited)
            yield MessageType(
                full_name=prefix + local_name,
                local_name=local_name,
                proto=proto,
                file=file,
                path=own_path,
                delimited=inside,
            )
            yield from walk(proto.nested_type, f"{local_name}.", own_path, inside)

    return walk(file.message_type, "", (), _delimited(file.options, inherited=False))


def _enums(file: Any) -> Iterator[EnumType]:
    prefix = f"{file.package}." if file.package else ""
    for proto in file.enum_type:
        yield EnumType(full_name=prefix + proto.name, local_name=proto.name, proto=proto, file=file)
    for message in messages_of(file):
        for proto in message.proto.enum_type:
            local_name = f"{message.local_name}.{proto.name}"
            yield EnumType(full_name=prefix + local_name, local_name=local_name, proto=proto, file=file)


def _delimited(options: Any, inherited: bool) -> bool:
    encoding = options.features.message_encoding if options.HasField("features") else 0
    return encoding == 2 if encoding else inherited  # FeatureSet.MessageEncoding: 1 LENGTH_PREFIXED, 2 DELIMITED


def is_required(field: Any) -> bool:
    """Return whether a FieldDescriptorProto has to be present: proto2's ``required``, or an edition's feature for it."""
    return bool(field.label == REQUIRED or field.options.features.field_presence == _LEGACY_REQUIRED)


def is_group(field: Any, message: MessageType) -> bool:
    """Return whether a field's sub-message is delimited by tags on the wire."""
    return bool(field.type == TYPE_GROUP or (field.type == TYPE_MESSAGE and _delimited(field.options, message.delimited)))


def real_oneof(field: Any) -> int | None:
    """Return the position of a field's oneof in the text; proto3's ``optional`` makes another one, which is not counted."""
    return field.oneof_index if field.HasField("oneof_index") and not field.proto3_optional else None


def type_name(field: Any) -> str:
    """Return the field's type without label: a scalar's name, or a full name with its leading dot."""
    return str(field.type_name) or _SCALARS[field.type]


def type_text(field: Any, tree: ProtoTree) -> str:
    """Return the field's type as in .proto source: ``repeated int32``, ``map<string, a.B>``, ``a.B``."""
    if field.type == TYPE_MESSAGE and field.label == REPEATED:
        entry = tree.messages[field.type_name[1:]]
        if entry.is_map_entry:
            key, value = sorted(entry.proto.field, key=lambda part: part.number)
            return f"map<{type_name(key)}, {type_name(value).lstrip('.')}>"
    label = "required " if is_required(field) else "repeated " if field.label == REPEATED else ""
    return label + type_name(field).lstrip(".")


def default_json_name(name: str) -> str:
    """Return the JSON name that the compiler gives a field without one (descriptor.cc's ToJsonName)."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)
