"""Table columns from a Protobuf definition: the fields of its first message.

Unsigned integers get a type that holds all their values. Google's wrappers are the plain type that they wrap, which a column
can be null in anyway, and its Timestamp is a timestamp.
"""

from typing import Any

from penstock.schema.columns import HiveColumn, check_depth, hive_column
from penstock.schema.errors import NoColumns
from penstock.schema.protobuf.model import REPEATED, TYPE_ENUM, TYPE_GROUP, TYPE_MESSAGE, MessageType, ProtoTree, type_name
from penstock.types.model import STRING, Array, Field, LakeType, Map, Scalar, Struct, decimal

__all__ = ["columns"]

_INT, _LONG, _UNSIGNED = Scalar("int"), Scalar("bigint"), decimal(20)
_PLAIN: dict[str, LakeType] = {
    "double": Scalar("double"),
    "float": Scalar("float"),
    "bool": Scalar("boolean"),
    "string": STRING,
    "bytes": Scalar("binary"),
    **dict.fromkeys(("int32", "sint32", "sfixed32"), _INT),
    **dict.fromkeys(("int64", "sint64", "sfixed64", "uint32", "fixed32"), _LONG),
    **dict.fromkeys(("uint64", "fixed64"), _UNSIGNED),
}
_WRAPPERS = ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
_WELL_KNOWN = {
    "google.protobuf.Timestamp": Scalar("timestamp"),
    **{f"google.protobuf.{name}Value": _PLAIN[name.lower()] for name in _WRAPPERS},
}


def columns(tree: ProtoTree, name: str | None = None) -> tuple[HiveColumn, ...]:
    """Return the columns of the definition's first message, or of ``name``, comments from those of its fields.

    Raise :class:`~penstock.schema.errors.NoColumns` if there is no message, for messages that contain themselves or
    have no fields, and for types that nest deeper than 64 levels or are longer than a catalog column holds.
    """
    first = tree.first_message if name is None else tree.messages[name]
    if first is None:
        raise NoColumns("A table's columns need a message, and the definition has none.", remedy="Declare a message.")
    types = _LakeTypes(tree)
    return tuple(
        hive_column(
            field.name,
            types.field(field, f"/{field.name}", (first.full_name,), 1),
            tree.comments.get(f"{first.full_name}.{field.name}"),
            path=f"/{field.name}",
        )
        for field in first.proto.field
    )


class _LakeTypes:
    """The lake's types of one definition. Each message is converted once."""

    def __init__(self, tree: ProtoTree) -> None:
        self._tree = tree
        self._types: dict[str, LakeType] = {}

    def field(self, field: Any, path: str, inside: tuple[str, ...], depth: int) -> LakeType:
        """Return the type of a field; ``inside`` are the messages around it."""
        check_depth(path, depth)
        message = self._tree.messages[field.type_name[1:]] if field.type in {TYPE_MESSAGE, TYPE_GROUP} else None
        if field.label != REPEATED:
            return self._single(field, message, path, inside, depth)
        if message is not None and message.is_map_entry:
            key, value = sorted(message.proto.field, key=lambda part: part.number)
            return Map(self.field(key, path, inside, depth), self.field(value, f"{path}/values", inside, depth + 1))
        return Array(self._single(field, message, f"{path}/items", inside, depth + 1))

    def _single(self, field: Any, message: MessageType | None, path: str, inside: tuple[str, ...], depth: int) -> LakeType:
        if message is None:
            return _PLAIN["string" if field.type == TYPE_ENUM else type_name(field)]
        return _WELL_KNOWN.get(message.full_name) or self._struct(message, path, inside, depth)

    def _struct(self, message: MessageType, path: str, inside: tuple[str, ...], depth: int) -> LakeType:
        if message.full_name in inside:
            raise NoColumns(
                f"{path}: message {message.full_name} contains itself, and a table's columns are finite.",
                remedy="Bound the recursion, for example by repeated ids in place of the nested message.",
            )
        if not message.proto.field:
            raise NoColumns(
                f"{path}: message {message.full_name} has no fields, and a struct needs one.", remedy="Add a field."
            )
        if message.full_name not in self._types:
            within = (*inside, message.full_name)
            self._types[message.full_name] = Struct(
                tuple(
                    Field(field.name, self.field(field, f"{path}/{field.name}", within, depth + 1))
                    for field in message.proto.field
                )
            )
        return self._types[message.full_name]
