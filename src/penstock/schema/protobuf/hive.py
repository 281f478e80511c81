"""Table columns from a Protobuf definition: the fields of its first message.

Unsigned integers get a type that holds all their values. Google's wrappers are the plain type that they wrap, which a column
can be null in anyway, and its Timestamp is a timestamp.
"""

from typing import Any

from penstock.schema.errors import NoColumns
from penstock.schema.hive import MAX_HIVE_DEPTH, MAX_HIVE_TYPE, HiveColumn
from penstock.schema.protobuf.model import REPEATED, TYPE_ENUM, TYPE_GROUP, TYPE_MESSAGE, MessageType, ProtoTree, type_name

__all__ = ["columns"]

_PLAIN = {
    "double": "double",
    "float": "float",
    "int32": "int",
    "sint32": "int",
    "sfixed32": "int",
    "int64": "bigint",
    "sint64": "bigint",
    "sfixed64": "bigint",
    "uint32": "bigint",
    "fixed32": "bigint",
    "uint64": "decimal(20,0)",
    "fixed64": "decimal(20,0)",
    "bool": "boolean",
    "string": "string",
    "bytes": "binary",
}
_WELL_KNOWN = {
    "google.protobuf.BoolValue": "boolean",
    "google.protobuf.BytesValue": "binary",
    "google.protobuf.DoubleValue": "double",
    "google.protobuf.FloatValue": "float",
    "google.protobuf.Int32Value": "int",
    "google.protobuf.Int64Value": "bigint",
    "google.protobuf.StringValue": "string",
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.UInt32Value": "bigint",
    "google.protobuf.UInt64Value": "decimal(20,0)",
}


def columns(tree: ProtoTree, name: str | None = None) -> tuple[HiveColumn, ...]:
    """Return the columns of the definition's first message, or of ``name``, comments from those of its fields.

    Raise :class:`~penstock.schema.errors.NoColumns` if there is no message, for messages that contain themselves or
    have no fields, and for types that nest deeper than 64 levels or are longer than a catalog column holds.
    """
    first = tree.first_message if name is None else tree.messages[name]
    if first is None:
        raise NoColumns("A table's columns need a message, and the definition has none.", remedy="Declare a message.")
    writer = _HiveTypes(tree)
    return tuple(
        HiveColumn(
            name=item.name,
            type=writer.field(item, f"/{item.name}", (first.full_name,), 1),
            comment=tree.comments.get(f"{first.full_name}.{item.name}"),
        )
        for item in first.proto.field
    )


class _HiveTypes:
    """The Hive types of one definition. Each message is written once and then reused."""

    def __init__(self, tree: ProtoTree) -> None:
        self._tree = tree
        self._done: dict[str, str] = {}

    def field(self, item: Any, path: str, inside: tuple[str, ...], depth: int) -> str:
        """Return the Hive type of a field; ``inside`` are the messages around it."""
        if depth > MAX_HIVE_DEPTH:
            raise NoColumns(f"{path}: types nest more than {MAX_HIVE_DEPTH} levels.", remedy="Flatten the schema.")
        message = self._tree.messages[item.type_name[1:]] if item.type in {TYPE_MESSAGE, TYPE_GROUP} else None
        if item.label != REPEATED:
            text = self._single(item, message, path, inside, depth)
        elif message is not None and message.is_map_entry:
            key, value = sorted(message.proto.field, key=lambda part: part.number)
            text = f"map<{self.field(key, path, inside, depth)},{self.field(value, f'{path}/values', inside, depth + 1)}>"
        else:
            text = f"array<{self._single(item, message, f'{path}/items', inside, depth + 1)}>"
        if len(text) > MAX_HIVE_TYPE:
            raise NoColumns(
                f"{path}: the column's type has {len(text)} characters; the catalog holds {MAX_HIVE_TYPE}.",
                remedy="Flatten the schema, or repeat nested messages less often.",
            )
        return text

    def _single(self, item: Any, message: MessageType | None, path: str, inside: tuple[str, ...], depth: int) -> str:
        if message is not None:
            return _WELL_KNOWN.get(message.full_name) or self._struct(message, path, inside, depth)
        return "string" if item.type == TYPE_ENUM else _PLAIN[type_name(item)]

    def _struct(self, message: MessageType, path: str, inside: tuple[str, ...], depth: int) -> str:
        if message.full_name in inside:
            raise NoColumns(
                f"{path}: message {message.full_name} contains itself, and a table's columns are finite.",
                remedy="Bound the recursion, for example by repeated ids in place of the nested message.",
            )
        if not message.proto.field:
            raise NoColumns(
                f"{path}: message {message.full_name} has no fields, and a struct needs one.", remedy="Add a field."
            )
        if message.full_name not in self._done:
            parts: list[str] = []
            size = 0
            for item in message.proto.field:
                kind = self.field(item, f"{path}/{item.name}", (*inside, message.full_name), depth + 1)
                parts.append(f"{item.name}:{kind}")
                size += len(parts[-1])
                if size > MAX_HIVE_TYPE:
                    break  # the caller refuses it by its length
            self._done[message.full_name] = f"struct<{','.join(parts)}>"
        return self._done[message.full_name]
