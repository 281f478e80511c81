"""Table columns from an Avro schema.

The mapping is that of Spark's Avro reader, so that catalog, decoded rows and files agree: a union of several types becomes a
struct ``member0, member1, ...`` except int with long (bigint) and float with double (double). Athena does not read
uniontype. Malformed logical types count as their plain type, as Avro requires.
"""

from penstock.schema.avro.logical import decimal_digits, logical_type
from penstock.schema.avro.model import (
    ArrayType,
    AvroSchema,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    NamedType,
    PrimitiveType,
    RecordType,
    UnionType,
    describe,
)
from penstock.schema.errors import NoColumns
from penstock.schema.hive import MAX_HIVE_DEPTH, MAX_HIVE_TYPE, HiveColumn

__all__ = ["columns"]

_MAX_PRECISION = 38  # Hive's and Spark's decimals

_PLAIN = {
    "null": "void",
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
}
_LOGICAL: dict[tuple[str, str | None], str] = {
    ("int", "date"): "date",
    ("long", "timestamp-millis"): "timestamp",
    ("long", "timestamp-micros"): "timestamp",
    ("long", "local-timestamp-millis"): "timestamp",
    ("long", "local-timestamp-micros"): "timestamp",
}


def columns(tree: AvroSchema) -> tuple[HiveColumn, ...]:
    """Return the columns of a schema whose outermost type is a record.

    Raise :class:`~penstock.schema.errors.NoColumns` for other schemas, for types that contain themselves, and for types
    that nest deeper than 64 levels or are longer than a catalog column holds.
    """
    if not isinstance(tree.root, RecordType):
        raise NoColumns(
            f"A table needs a schema whose outermost type is a record, not {describe(tree.root)}.",
            remedy="Wrap the type in a record.",
        )
    writer = _HiveTypes(tree)
    return tuple(
        HiveColumn(name=item.name, type=writer.text(item.type, f"/{item.name}", (tree.root.name,)), comment=item.doc)
        for item in tree.root.fields
    )


class _HiveTypes:
    """The Hive types of one schema. Each named type is written once and then reused."""

    def __init__(self, schema: AvroSchema) -> None:
        self.schema = schema
        self.done: dict[str, str] = {}

    def text(self, kind: AvroType, path: str, inside: tuple[str, ...], depth: int = 1) -> str:
        """Return the Hive type of ``kind``; ``inside`` are the records around it."""
        if depth > MAX_HIVE_DEPTH:
            raise NoColumns(f"{path}: types nest more than {MAX_HIVE_DEPTH} levels.", remedy="Flatten the schema.")
        target = self.schema.resolve(kind)
        match target:
            case PrimitiveType():
                text = _primitive(target)
            case FixedType():
                text = _decimal(target) or "binary"
            case EnumType():
                text = "string"
            case ArrayType():
                text = f"array<{self.text(target.items, f'{path}/items', inside, depth + 1)}>"
            case MapType():
                text = f"map<string,{self.text(target.values, f'{path}/values', inside, depth + 1)}>"
            case UnionType():
                text = self._union(target, path, inside, depth)
            case RecordType():
                text = self._record(target, path, inside, depth)
        if len(text) > MAX_HIVE_TYPE:
            raise NoColumns(
                f"{path}: the column's type has {len(text)} characters; the catalog holds {MAX_HIVE_TYPE}.",
                remedy="Flatten the schema, or repeat nested records less often.",
            )
        return text

    def _record(self, kind: RecordType, path: str, inside: tuple[str, ...], depth: int) -> str:
        if kind.name in inside:
            raise NoColumns(
                f"{path}: record {kind.name} contains itself, and a table's columns are finite.",
                remedy="Bound the recursion, for example by an array of ids in place of the nested record.",
            )
        if not kind.fields:
            raise NoColumns(f"{path}: record {kind.name} has no fields, and a struct needs one.", remedy="Add a field.")
        if kind.name not in self.done:
            parts: list[str] = []
            size = 0
            for item in kind.fields:
                parts.append(f"{item.name}:{self.text(item.type, f'{path}/{item.name}', (*inside, kind.name), depth + 1)}")
                size += len(parts[-1])
                if size > MAX_HIVE_TYPE:
                    break  # the caller refuses it by its length
            self.done[kind.name] = f"struct<{','.join(parts)}>"
        return self.done[kind.name]

    def _union(self, kind: UnionType, path: str, inside: tuple[str, ...], depth: int) -> str:
        branches = [branch for branch in map(self.schema.resolve, kind.branches) if not _is_null(branch)]
        if not branches:
            return _PLAIN["null"]
        if len(branches) == 1:
            return self.text(branches[0], path, inside, depth + 1)
        plain = {branch.name if isinstance(branch, PrimitiveType) else "" for branch in branches}
        if plain == {"int", "long"}:
            return "bigint"
        if plain == {"float", "double"}:
            return "double"
        members = [self.text(branch, path, inside, depth + 1) for branch in branches]
        return f"struct<{','.join(f'member{index}:{text}' for index, text in enumerate(members))}>"


def _is_null(kind: PrimitiveType | ArrayType | MapType | UnionType | NamedType) -> bool:
    return isinstance(kind, PrimitiveType) and kind.name == "null"


def _primitive(kind: PrimitiveType) -> str:
    if kind.name == "bytes":
        return _decimal(kind) or "binary"
    return _LOGICAL.get((kind.name, logical_type(kind)), _PLAIN[kind.name])


def _decimal(kind: PrimitiveType | FixedType) -> str | None:
    precision, scale = decimal_digits(kind) or (0, 0)
    return f"decimal({precision},{scale})" if 0 < precision <= _MAX_PRECISION else None
