"""What a batch's columns change in a table: columns added, types widened, fields renamed, and what cannot be.

Names are compared without regard to case, as catalogs keep them in lower case. Columns that the batch lacks stay in the
table, null in the batch's rows.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType, VariantType

from penstock.spark.types import lake_type, spark_type
from penstock.types.model import MAX_PRECISION, VOID, TypeMissing
from penstock.types.widening import LOSSLESS, widen

__all__ = ["AddColumn", "Change", "Incompatible", "Path", "RenameColumn", "WidenType", "changes", "common_type", "dotted"]

Path = tuple[str, ...]
"""A column's name, and the names inside it; ``element``, ``key`` and ``value`` are those of arrays and maps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumn:
    """The table lacks the column or nested field ``path``."""

    path: Path
    type: DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class WidenType:
    """The table's type ``old`` does not hold the batch's values, and ``new`` holds those of both without loss."""

    path: Path
    old: DataType
    new: DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameColumn:
    """The table has the field under ``old``, which is an alias of ``new``; both have the same parents."""

    old: Path
    new: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Incompatible:
    """No type holds the values of table (``old``) and batch (``new``). ``new`` None: the batch lacks a required column."""

    path: Path
    old: DataType
    new: DataType | None
    reason: str


Change = AddColumn | WidenType | RenameColumn | Incompatible


def dotted(path: Path) -> str:
    """Return the path for people and for Spark's ALTER TABLE: ``items.element.price``."""
    return ".".join(path)


def changes(table: StructType, batch: StructType, aliases: Mapping[str, Collection[str]]) -> list[Change]:
    """Return what ``batch`` changes in ``table``, outer fields before those inside them, in the batch's order.

    ``aliases`` maps paths of the reader schema's fields to those of their aliases, both as
    :func:`penstock.spark.decode.readers.field_paths` writes them (``items[].price``). A renamed field's own changes come
    under its new name, after the rename.
    """
    return list(_fields((), "", table, batch, aliases))


def _fields(
    path: Path, avro: str, table: StructType, batch: StructType, aliases: Mapping[str, Collection[str]]
) -> Iterator[Change]:
    own = {field.name.lower(): field for field in table.fields}
    names = {field.name.lower() for field in batch.fields}
    used: set[str] = set()
    for field in batch.fields:
        here, inside = (*path, field.name), f"{avro}.{field.name}" if avro else field.name
        peer = own.get(field.name.lower())
        if peer is None:
            earlier = [alias.rpartition(".")[2].lower() for alias in aliases.get(inside, ())]
            peer = next((own[name] for name in earlier if name in own and name not in names | used), None)
            if peer is None:
                yield AddColumn(path=here, type=field.dataType)
                continue
            yield RenameColumn(old=(*path, peer.name), new=here)
        used.add(peer.name.lower())
        yield from _types(here, inside, peer.dataType, field.dataType, aliases)
    for name, peer in own.items():
        if name not in names | used and not peer.nullable:
            reason = "the batch lacks it, and the table requires it"
            yield Incompatible(path=(*path, peer.name), old=peer.dataType, new=None, reason=reason)


def _types(path: Path, avro: str, old: DataType, new: DataType, aliases: Mapping[str, Collection[str]]) -> Iterator[Change]:
    match old, new:
        case VariantType(), _:  # a column that takes any value, such as a database's JSON
            return
        case StructType(), StructType():
            yield from _fields(path, avro, old, new, aliases)
        case ArrayType(), ArrayType():
            yield from _types((*path, "element"), f"{avro}[]", old.elementType, new.elementType, aliases)
        case MapType(), MapType():
            yield from _types((*path, "key"), f"{avro}{{}}", old.keyType, new.keyType, aliases)
            yield from _types((*path, "value"), f"{avro}[]", old.valueType, new.valueType, aliases)
        case _:
            common = common_type(old, new)
            if common is None:
                yield Incompatible(path=path, old=old, new=new, reason=_reason(old, new))
            elif common != old:
                yield WidenType(path=path, old=old, new=common)


def common_type(one: DataType, other: DataType) -> DataType | None:
    """Return the smallest of Spark's types that holds all values of both without loss; ``one`` if both are the same to a
    table; None if there is no such type.

    Whole numbers up to 32 bits go into a double, as its 53 bits hold them. A timestamp without a zone is one in UTC.
    """
    if one == other:
        return one
    try:
        first, second = lake_type(one), lake_type(other)
    except TypeMissing:
        return None
    if VOID in (first, second):  # files have no column without values
        return None
    wide = widen(first, second, LOSSLESS)
    if wide is None:
        return None
    return one if wide == first else other if wide == second else spark_type(wide)


def _reason(old: DataType, new: DataType) -> str:
    if isinstance(old, DecimalType) and isinstance(new, DecimalType):
        return f"a decimal for both would have more than {MAX_PRECISION} digits"
    return f"no type holds both {old.simpleString()} and {new.simpleString()} without loss"
