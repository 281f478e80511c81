"""Protobuf payloads to values: the message index in AWS's or Confluent's form, then the message, read by Google's library.

AWS: a plain varint, the rank of the message's full name among all names of the file in Java's string order. Confluent:
zig-zag varints, a count and that many positions, from the file to the message; a single 0 stands for the first message.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.errors import EnvironmentProblem
from penstock.schema.errors import InvalidSchema
from penstock.schema.formats.protobuf import ProtobufFormat
from penstock.schema.protobuf.model import ProtoTree
from penstock.schema.version import SchemaText
from penstock.serdes.avro.limits import Limits
from penstock.serdes.errors import MalformedPayload, PayloadTooLarge, SerdeError, TruncatedPayload, UnreadableSchema
from penstock.serdes.protobuf.fields import element, elements, messages_in
from penstock.serdes.protobuf.locate import locate_in_message

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["ProtobufSchema", "protobuf_decoder", "steps_of"]

_MAX_INDEXES = 100
_STEP = re.compile(r"Failed to (?:parse|serialize) (\S+) field: ")


class ProtobufSchema:
    """A definition's messages as classes of Google's library."""

    def __init__(self, schema: SchemaText) -> None:
        """Compile. Raise :class:`UnreadableSchema`."""
        try:
            tree: ProtoTree = ProtobufFormat().parse(schema.definition, schema.references).tree
        except InvalidSchema as error:
            raise UnreadableSchema(f"The schema cannot be used: {error}") from error
        self._tree = tree
        self.pool = _pool(tree)
        self.by_rank = tree.names_glue()
        self.by_path = {message.path: message.full_name for message in tree.own_messages}
        self._names = frozenset(self.by_rank)

    def message(self, name: str) -> "type[Message]":
        """Return the class of a message. Raise :class:`UnreadableSchema` if the definition has no message of this name."""
        from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415 - an extra's library

        self._check(name)
        message_class: type[Message] = GetMessageClass(self.pool.FindMessageTypeByName(name))
        return message_class

    def first_name(self) -> str:
        """Return the full name of the definition's first message. Raise :class:`UnreadableSchema` if it has none."""
        first = self._tree.first_message
        if first is None:
            raise UnreadableSchema("The schema defines no message.", remedy="Add a message to the definition.")
        return first.full_name

    def index(self, name: str) -> bytes:
        """Return AWS's index of a message: its rank as a varint."""
        self._check(name)
        return _as_varint(self._tree.message_index_glue(name))

    def confluent_index(self, name: str) -> bytes:
        """Return Confluent's indexes of a message: the path to it; a single 0 for the first message."""
        self._check(name)
        path = self._tree.message_indexes_confluent(name)
        if path == (0,):
            return b"\0"
        return b"".join(_as_varint(number << 1) for number in (len(path), *path))

    def _check(self, name: str) -> None:
        if name not in self._names:
            raise UnreadableSchema(
                f"The schema has no message {name}.", remedy="Use a schema that keeps the message's name and package."
            )

    def descriptor(self, name: str) -> Any:
        """Return the descriptor of a message of the definition or its imports. Raise :class:`UnreadableSchema`."""
        try:
            return self.pool.FindMessageTypeByName(name)
        except KeyError:
            raise UnreadableSchema(f"The schema has no message {name}.", remedy="Register the class's definition.") from None


def protobuf_decoder(
    writer: ProtobufSchema,
    reader: ProtobufSchema | None = None,
    *,
    start: int,
    limits: Limits,
    confluent: bool = False,
    in_header: bytes | None = None,
    messages: "type[Message] | bool" = False,
) -> Callable[[bytes], Any]:
    """Return a function from a message whose payload begins at byte ``start`` to a dictionary of its set fields.

    Keys are the definition's field names, values as in Protobuf's JSON. ``confluent`` is true for Confluent's index;
    ``in_header`` is the index if the payload is bare. ``messages`` returns messages instead: true for classes generated from
    the schema, or a class, which every payload must be of. With ``reader`` the bytes are read as that definition's message
    of the same name. A field that both definitions have with different types is then an error, since Protobuf would drop it
    silently. The function raises :class:`TruncatedPayload`, :class:`MalformedPayload`, :class:`PayloadTooLarge` and
    :class:`UnreadableSchema`.
    """
    from google.protobuf.json_format import Error as JsonError  # noqa: PLC0415 - an extra's library
    from google.protobuf.json_format import MessageToDict  # noqa: PLC0415
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    target = reader or writer
    as_dict: dict[str, Any] = {"preserving_proto_field_name": True, "descriptor_pool": target.pool}
    # By the byte in front of the message, its index.
    kinds: dict[bytes, _Kind] = {}
    after, resolved = start + 1, reader is not None

    def learn(data: bytes) -> tuple[_Kind, int]:
        if in_header is not None:
            name, at = _confluent_name(writer, in_header, 0)[0], start
        else:
            name, at = (_confluent_name if confluent else _glue_name)(writer, data, start)
        kind = _Kind(name, _kind(target, name, messages))
        if at == after:
            kinds[data[start:at]] = kind
        return kind, at

    def decode(data: bytes) -> Any:
        if len(data) - start > limits.payload:
            raise PayloadTooLarge(
                f"Payload has {len(data) - start} bytes; at most {limits.payload} are allowed.",
                remedy="Give the deserialiser limits=Limits(payload=...) if messages of this size are expected.",
            )
        kind, at = kinds.get(data[start:after]), after
        if kind is None:
            kind, at = learn(data)
        try:
            message = kind.parse(data[at:])
            if resolved or kind.may_lack:
                _check(message, kind, resolved)
            return message if messages else MessageToDict(message, **as_dict)
        except DecodeError as error:
            raise _undecodable(kind.descriptor, data[at:], len(data) - start, error) from None
        except (JsonError, ValueError, TypeError, KeyError, RecursionError) as error:
            path, text = steps_of(kind.name, error)
            raise MalformedPayload(
                f"Payload of {len(data) - start} bytes cannot be represented in Protobuf's JSON, at {path}: {text}",
                path=path,
                remedy="Read messages: set protobufMessageType to DYNAMIC_MESSAGE, or POJO with a message_class.",
            ) from None

    return decode


def steps_of(name: str, error: BaseException) -> tuple[str, str]:
    """Return the path and the reason of an error of json_format: ``Failed to parse legs field: ...``."""
    rest = " ".join(str(error).split()).rstrip(".")[:300]
    steps = [name]
    while (step := _STEP.match(rest)) is not None:
        steps.append(step[1])
        rest = rest[step.end() :]
    return ".".join(steps), rest


def _undecodable(descriptor: Any, message: bytes, size: int, error: Exception) -> SerdeError:
    name = descriptor.full_name
    path, why = locate_in_message(descriptor, message, name) or ("", " ".join(str(error).split())[:300])
    where = f", at {path}" if path else ""
    if path and not why:
        return TruncatedPayload(f"Payload of {size} bytes ends inside a value of message {name}{where}.", path=path)
    return MalformedPayload(f"Payload of {size} bytes is not a message {name}{where}: {why}.", path=path)


class _Kind:
    """A message's class for reading; ``may_lack`` is true if it, or a message in it, has required fields."""

    __slots__ = ("descriptor", "may_lack", "name", "parse")

    def __init__(self, name: str, message: "type[Message]") -> None:
        self.name = name
        self.parse: Callable[[bytes], Message] = message.FromString
        self.descriptor = message.DESCRIPTOR
        self.may_lack = any(
            part.is_extendable or any(field.is_required for field in part.fields) for part in messages_in(self.descriptor)
        )


def _kind(target: ProtobufSchema, name: str, messages: "type[Message] | bool") -> "type[Message]":
    if isinstance(messages, bool):
        return target.message(name)
    if messages.DESCRIPTOR.full_name != name:
        raise UnreadableSchema(
            f"The payload is a message {name}, and this deserialiser reads {messages.DESCRIPTOR.full_name}.",
            remedy="Give the class of that message as message_class, or set protobufMessageType to DYNAMIC_MESSAGE.",
        )
    return messages


def _check(message: Any, kind: _Kind, resolved: bool) -> None:
    if not message.IsInitialized():
        raise _unfinished(message, kind.name)
    if resolved:
        _check_dropped(message, kind.name)


def _unfinished(message: Any, name: str) -> MalformedPayload:
    missing = message.FindInitializationErrors()
    return MalformedPayload(
        f"Message {name} lacks the required fields {', '.join(missing)[:300]}.", path=f"{name}.{missing[0]}"
    )


def _pool(tree: ProtoTree) -> Any:
    try:
        from google.protobuf.descriptor_pool import DescriptorPool  # noqa: PLC0415 - an extra's library
    except ImportError:
        raise EnvironmentProblem("Protobuf needs the package protobuf.", remedy="pip install 'penstock[protobuf]'") from None
    pool = DescriptorPool()
    try:
        for file in tree.files:
            pool.Add(file)
    except (TypeError, ValueError) as error:
        raise UnreadableSchema(f"The schema cannot be used: {str(error)[:300]}") from error
    return pool


def _glue_name(schema: ProtobufSchema, data: bytes, at: int) -> tuple[str, int]:
    rank, at = _varint(data, at)
    if rank >= len(schema.by_rank):
        raise MalformedPayload(f"Payload names message {rank} of a definition of {len(schema.by_rank)} messages.")
    return schema.by_rank[rank], at


def _confluent_name(schema: ProtobufSchema, data: bytes, at: int) -> tuple[str, int]:
    count, at = _zigzag(data, at)
    if not 0 <= count <= _MAX_INDEXES:
        raise MalformedPayload(f"Payload has a list of {count} message indexes.")
    path: list[int] = []
    for _ in range(count):
        index, at = _zigzag(data, at)
        path.append(index)
    name = schema.by_path.get(tuple(path or (0,)))
    if name is None:
        raise MalformedPayload(f"Payload names message {path}, which its definition does not have.")
    return name, at


def _as_varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    raw, at = _varint(data, at)
    return (raw >> 1) ^ -(raw & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while shift < 35:
        if at >= len(data):
            raise TruncatedPayload("Payload ends inside its message index.")
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7
    raise MalformedPayload("Payload has a message index of more than five bytes.")


def _check_dropped(message: Any, name: str) -> None:
    from google.protobuf.unknown_fields import UnknownFieldSet  # noqa: PLC0415 - an extra's library

    pending = [(message, name)]
    while pending:
        part, path = pending.pop()
        fields = part.DESCRIPTOR.fields_by_number
        unknown: Any = UnknownFieldSet(part)
        for item in unknown:
            if item.field_number in fields:
                raise UnreadableSchema(
                    f"The reader's schema cannot read field {path}.{fields[item.field_number].name} ({item.field_number}): "
                    "it was written as another type, or with an enum value that the reader's schema lacks."
                )
        for field, value in part.ListFields():
            if element(field).message_type is not None:
                pending.extend((one, f"{path}.{field.name}") for one in elements(field, value))
