"""Limits for hostile Avro payloads: an analysis of each schema, and a walk that stops such payloads before fastavro starts.

fastavro decodes recursively in C and trusts counts: a few kilobytes of a recursive schema overflow its stack and end the
process, and five bytes of ``array<null>`` become millions of items. Every other value consumes input, so the payload's size
bounds it. Therefore only schemas that are recursive or have arrays of items without bytes need :func:`check`, a walk over
the payload with an explicit stack that makes no values.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from penstock.schema.avro.fold import Fold
from penstock.schema.avro.model import (
    ArrayType,
    AvroSchema,
    EnumType,
    FixedType,
    MapType,
    PrimitiveType,
    RecordType,
    UnionType,
)
from penstock.serdes.errors import MalformedPayload, PayloadTooLarge, TruncatedPayload, UnreadableSchema

__all__ = ["MAX_SCHEMA_DEPTH", "Kind", "Limits", "Node", "analyse", "check", "needs_check", "tree_depth"]

MAX_SCHEMA_DEPTH = 300
"""JSON levels of a schema (a record's field is three); fastavro parses and decodes nested types recursively in C."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one message.

    ``payload`` is in bytes after inflation, ``depth`` in levels of nested records, unions, arrays and maps of a recursive
    value, ``empty_items`` in array items that have no bytes.
    """

    payload: int = 64 * 1024 * 1024
    depth: int = 500
    empty_items: int = 1_000_000


class Kind(Enum):
    """The binary layout of a value."""

    VARINT = 1
    FIXED = 2
    LENGTH = 3
    RECORD = 4
    ARRAY = 5
    MAP = 6
    UNION = 7


@dataclass(slots=True, eq=False)
class Node:
    """The binary layout of a type: ``size`` in bytes if it is fixed, ``inside`` its parts or branches."""

    kind: Kind
    size: int = 0
    inside: list["Node"] = field(default_factory=list)
    empty: bool = False
    recursive: bool = False


def tree_depth(tree: object) -> int:
    """Return the deepest nesting of lists and objects in a JSON value, counted without recursion."""
    deepest = 0
    level: list[object] = [tree]
    while level:
        inner: list[object] = []
        for value in level:
            if isinstance(value, dict):
                inner.extend(value.values())
            elif isinstance(value, list):
                inner.extend(value)
        deepest += 1
        level = [value for value in inner if isinstance(value, dict | list)]
    return deepest


def analyse(schema: AvroSchema) -> Node:
    """Return the layout of a schema's values as a tree, with cycles if the schema is recursive.

    Raise :class:`UnreadableSchema` for a record that directly contains itself, which has no values.
    """
    fold = _NodeFold(schema)
    root = fold.root()
    fold.settle()
    return root


def needs_check(root: Node) -> bool:
    """Return whether payloads must be walked before they are decoded."""
    return any(node.recursive or (node.kind is Kind.ARRAY and node.inside[0].empty) for node in _reachable(root))


class _NodeFold(Fold[Node]):
    def __init__(self, schema: AvroSchema) -> None:
        super().__init__(schema)
        self._records: list[Node] = []
        self._recursive: dict[str, Node] = {}  # records that are used inside themselves, before they are complete

    def primitive(self, avro_type: PrimitiveType) -> Node:
        return _PRIMITIVES[avro_type.name]

    def enum(self, avro_type: EnumType) -> Node:  # noqa: ARG002
        return _VARINT

    def fixed(self, avro_type: FixedType) -> Node:
        return _fixed(avro_type.size)

    def array(self, avro_type: ArrayType, items: Node) -> Node:  # noqa: ARG002
        return Node(Kind.ARRAY, inside=[items])

    def map(self, avro_type: MapType, values: Node) -> Node:  # noqa: ARG002
        return Node(Kind.MAP, inside=[values])

    def union(self, avro_type: UnionType, branches: Sequence[Node]) -> Node:  # noqa: ARG002
        return Node(Kind.UNION, inside=list(branches))

    def record(self, avro_type: RecordType, fields: Sequence[Node]) -> Node:
        node = self._recursive.get(avro_type.name) or Node(Kind.RECORD)
        node.inside = list(fields)
        self._records.append(node)
        return node

    def recursive(self, avro_type: RecordType) -> Node:
        return self._recursive.setdefault(avro_type.name, Node(Kind.RECORD, recursive=True))

    def settle(self) -> None:
        """Mark the records whose values have no bytes, because none of their parts has any."""
        for record in self._records:
            if record.recursive and _reaches_itself(record):
                raise UnreadableSchema(
                    "A record contains itself without a union, array or map between, so no value fits it.",
                    remedy="Make the field that contains the record a union with null, an array or a map.",
                )
        changed = True
        while changed:
            changed = False
            for record in self._records:
                if not record.empty and all(part.empty for part in record.inside):
                    record.empty = changed = True


def _fixed(size: int) -> Node:
    return Node(Kind.FIXED, size=size, empty=size == 0)


_VARINT, _LENGTH = Node(Kind.VARINT), Node(Kind.LENGTH)
_PRIMITIVES = {
    **{name: _fixed(size) for name, size in (("null", 0), ("boolean", 1), ("float", 4), ("double", 8))},
    **dict.fromkeys(("int", "long"), _VARINT),
    **dict.fromkeys(("string", "bytes"), _LENGTH),
}


def _reaches_itself(record: Node) -> bool:
    visited: set[int] = set()
    todo = [part for part in record.inside if part.kind is Kind.RECORD]
    while todo:
        node = todo.pop()
        if node is record:
            return True
        if id(node) not in visited:
            visited.add(id(node))
            todo.extend(part for part in node.inside if part.kind is Kind.RECORD)
    return False


def _reachable(root: Node) -> list[Node]:
    nodes: dict[int, Node] = {}
    todo = [root]
    while todo:
        node = todo.pop()
        if id(node) not in nodes:
            nodes[id(node)] = node
            todo.extend(node.inside)
    return list(nodes.values())


class _Leave:
    """On the stack: a value that counts as a level of depth ends here."""


@dataclass(slots=True)
class _Blocks:
    """On the stack: the next block of an array or map must be read."""

    node: Node


@dataclass(slots=True)
class _Items:
    """On the stack: ``left`` items of the current block remain."""

    node: Node
    remaining: int


_LEAVE = _Leave()


def check(root: Node, payload: bytes, start: int, limits: Limits) -> int:
    """Walk one value from byte ``start`` without building it; return how many items without bytes it has.

    Raise :class:`PayloadTooLarge` if it nests deeper or has more empty items than allowed, and :class:`TruncatedPayload` or
    :class:`MalformedPayload` if it is not a value of the schema.
    """
    return _Walk(payload, start, limits).run(root)


class _Walk:
    def __init__(self, payload: bytes, start: int, limits: Limits) -> None:
        self._bytes = payload
        self._at = start
        self._limits = limits
        self._depth = 0
        self._empty_items = 0
        self._work: list[Node | _Leave | _Blocks | _Items] = []

    def run(self, root: Node) -> int:
        work = self._work
        work.append(root)
        while work:
            task = work.pop()
            if isinstance(task, Node):
                self._value(task)
            elif isinstance(task, _Leave):
                self._depth -= 1
            elif isinstance(task, _Blocks):
                self._block(task)
            else:
                self._item(task)
        return self._empty_items

    def _value(self, node: Node) -> None:
        if node.kind is Kind.VARINT:
            self._varint()
        elif node.kind is Kind.FIXED:
            self._skip(node.size)
        elif node.kind is Kind.LENGTH:
            self._skip(self._varint())
        else:
            self._enter()
            if node.kind is Kind.RECORD:
                self._work.extend(reversed(node.inside))
            elif node.kind is Kind.UNION:
                self._work.append(self._branch(node))
            else:
                self._work.append(_Blocks(node))

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > self._limits.depth:
            raise PayloadTooLarge(
                f"Payload nests deeper than {self._limits.depth} levels at byte {self._at}.",
                remedy="Give the deserialiser limits=Limits(depth=...) if such values are expected.",
            )
        self._work.append(_LEAVE)

    def _branch(self, node: Node) -> Node:
        at, index = self._at, self._varint()
        if not 0 <= index < len(node.inside):
            raise MalformedPayload(f"Payload names branch {index} of a union of {len(node.inside)} at byte {at}.")
        return node.inside[index]

    def _block(self, blocks: _Blocks) -> None:
        node = blocks.node
        count = self._varint()
        if count == 0:
            return
        if count < 0:
            count = -count
            self._varint()
        self._work.append(blocks)
        if node.kind is Kind.ARRAY and node.inside[0].empty:
            self._empty_items += count
            if self._empty_items > self._limits.empty_items:
                raise PayloadTooLarge(
                    f"Payload claims {count} items without bytes before byte {self._at}; "
                    f"at most {self._limits.empty_items} are allowed in a message.",
                    remedy="Give the deserialiser limits=Limits(empty_items=...) if such values are expected.",
                )
        else:
            self._work.append(_Items(node, count))

    def _item(self, items: _Items) -> None:
        items.remaining -= 1
        if items.remaining:
            self._work.append(items)
        if items.node.kind is Kind.MAP:
            self._skip(self._varint())
        self._work.append(items.node.inside[0])

    def _skip(self, size: int) -> None:
        if size < 0:
            raise MalformedPayload(f"Payload has the negative length {size} before byte {self._at}.")
        self._at += size
        if self._at > len(self._bytes):
            raise TruncatedPayload(f"Payload ends {self._at - len(self._bytes)} bytes inside a value.")

    def _varint(self) -> int:
        result = shift = 0
        while True:
            if self._at >= len(self._bytes):
                raise TruncatedPayload(f"Payload ends inside a value, after {len(self._bytes)} bytes.")
            byte = self._bytes[self._at]
            self._at += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (result >> 1) ^ -(result & 1)
            shift += 7
            if shift >= 70:
                raise MalformedPayload(f"Payload has an integer of more than ten bytes before byte {self._at}.")
