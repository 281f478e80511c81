"""How a data file's columns become the table's: by field ids, whatever their names and order in the file.

Source: Iceberg table specification, "Column Projection".
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from penstock.query.tables.iceberg.types import engine_type, literal
from penstock.sql.errors import StatementError
from penstock.sql.types import quote_name, quote_text

__all__ = ["FileLayout", "NameMapping", "identity_values", "read_name_mapping"]

_ID = b"PARQUET:field_id"
_T = pa.types

NameMapping = Mapping[str, tuple[int | None, "NameMapping"]]
"""Ids by the names of columns in files without ids, with the mapping of the fields inside."""


def read_name_mapping(properties: Mapping[str, str]) -> NameMapping | None:
    """Return the table's name mapping (``schema.name-mapping.default``), None without one."""
    text = properties.get("schema.name-mapping.default")
    return _mapping(json.loads(text)) if text else None


def _mapping(fields: Sequence[Any]) -> NameMapping:
    return {
        name: (field.get("field-id"), _mapping(field.get("fields") or ())) for field in fields for name in field["names"]
    }


@dataclass(frozen=True, slots=True)
class _Node:
    """A column or field of a file: its name there, its type, and the fields inside by their ids."""

    name: str
    kind: pa.DataType
    inside: "Mapping[int, _Node]"


class FileLayout:
    """The columns of one Parquet file by field ids."""

    def __init__(self, path: str, mapping: NameMapping | None) -> None:
        schema = pq.read_schema(path)
        if not any(_field_id(item) is not None for item in schema) and len(schema):
            if mapping is None:
                raise StatementError(
                    "ICEBERG_BAD_DATA",
                    f"The data file {path.rpartition('/')[2]} has no field ids, and its table no name mapping.",
                    remedy="Set the table's property schema.name-mapping.default.",
                )
        else:
            mapping = None
        self._columns = _nodes(list(schema), mapping)

    def project(self, field: NestedField, constants: Mapping[int, str]) -> str:
        """Return SQL that gives the column ``field`` from the file's own columns."""
        node = self._columns.get(field.field_id)
        if node is None:
            return constants.get(field.field_id) or literal(field.initial_default, field.field_type)
        return _project(quote_name(node.name), node, field.field_type)[0]


def identity_values(file: DataFile, spec: PartitionSpec, types: Mapping[int, IcebergType]) -> Mapping[int, str]:
    """Return SQL for the columns whose value in ``file`` is known from its partition: files of Hive tables lack them."""
    return {
        field.source_id: literal(file.partition[at], types[field.source_id])
        for at, field in enumerate(spec.fields)
        if isinstance(field.transform, IdentityTransform) and field.source_id in types
    }


def _field_id(field: pa.Field) -> int | None:
    value = (field.metadata or {}).get(_ID)
    return int(value) if value is not None else None


def _nodes(fields: Sequence[pa.Field], mapping: NameMapping | None) -> Mapping[int, _Node]:
    nodes: dict[int, _Node] = {}
    for field in fields:
        number, inside = (_field_id(field), None) if mapping is None else mapping.get(field.name, (None, {}))
        if number is not None:
            nodes[number] = _Node(field.name, field.type, _nodes(_children(field.type), inside))
    return nodes


def _children(type_: pa.DataType) -> list[pa.Field]:
    if _T.is_struct(type_):
        return [type_.field(at) for at in range(type_.num_fields)]
    if _T.is_list(type_) or _T.is_large_list(type_):
        return [type_.value_field.with_name("element")]
    if _T.is_map(type_):
        return [type_.key_field.with_name("key"), type_.item_field.with_name("value")]
    return []


def _project(sql: str, node: _Node, type_: IcebergType) -> tuple[str, bool]:
    """Return SQL for the value ``sql`` as ``type_``, and whether that is another expression than ``sql``."""
    if isinstance(type_, StructType):
        return _struct(sql, node, type_)
    if isinstance(type_, ListType):
        if not (_T.is_list(node.kind) or _T.is_large_list(node.kind)):
            raise _unfit(node, type_)
        item = f"e{type_.element_id}"
        inner, changed = _inside(item, node, type_.element_field)
        return (f"list_transform({sql}, lambda {item}: {inner})", True) if changed else (sql, False)
    if isinstance(type_, MapType):
        if not _T.is_map(node.kind):
            raise _unfit(node, type_)
        item = f"e{type_.key_id}"
        key, other_key = _inside(f"{item}.key", node, type_.key_field)
        value, other_value = _inside(f"{item}.value", node, type_.value_field)
        if not other_key and not other_value:
            return sql, False
        pairs = f"list_transform(map_entries({sql}), lambda {item}: struct_pack(k := {key}, v := {value}))"
        return f"map_from_entries({pairs})", True
    return _primitive(sql, node, type_)


def _inside(sql: str, node: _Node, field: NestedField) -> tuple[str, bool]:
    inner = node.inside.get(field.field_id)
    if inner is None:
        raise _unfit(node, field.field_type)
    return _project(sql, inner, field.field_type)


def _struct(sql: str, node: _Node, type_: StructType) -> tuple[str, bool]:
    if not _T.is_struct(node.kind):
        raise _unfit(node, type_)
    names = [item.name for item in (node.kind.field(at) for at in range(node.kind.num_fields))]
    changed = names != [nested_field.name for nested_field in type_.fields]
    parts = []
    for field in type_.fields:
        inner = node.inside.get(field.field_id)
        if inner is None:
            text, other = literal(field.initial_default, field.field_type), True
        else:
            text, other = _project(f"struct_extract({sql}, {quote_text(inner.name)})", inner, field.field_type)
            other = other or inner.name != field.name
        changed = changed or other
        parts.append(f"{quote_name(field.name)} := {text}")
    if not changed:
        return sql, False
    return f"CASE WHEN {sql} IS NULL THEN NULL ELSE struct_pack({', '.join(parts)}) END", True


def _primitive(sql: str, node: _Node, type_: IcebergType) -> tuple[str, bool]:
    fits, same = _fits(node.kind, type_)
    if not fits:
        raise _unfit(node, type_)
    return (sql, False) if same else (f"CAST({sql} AS {engine_type(type_)})", True)


def _fits(source: pa.DataType, type_: IcebergType) -> tuple[bool, bool]:
    """Return whether a file's type may stand for ``type_``, and whether the engine reads it as just that."""
    test = _FITS.get(type(type_))
    plain = source.value_type if _T.is_dictionary(source) else source
    return test(plain, type_) if test is not None else (False, False)


def _fits_decimal(source: pa.DataType, type_: Any) -> tuple[bool, bool]:
    if not _T.is_decimal(source) or source.scale != type_.scale or source.precision > type_.precision:
        return False, False
    return True, source.precision == type_.precision


def _fits_uuid(source: pa.DataType, _type: Any) -> tuple[bool, bool]:
    is_uuid = str(getattr(source, "extension_name", "")) == "arrow.uuid"
    return is_uuid or (_T.is_fixed_size_binary(source) and source.byte_width == 16), is_uuid


def _fits_bytes(source: pa.DataType, _type: Any) -> tuple[bool, bool]:
    return _T.is_binary(source) or _T.is_large_binary(source) or _T.is_fixed_size_binary(source), True


def _fits_local(source: pa.DataType, _type: Any) -> tuple[bool, bool]:
    return _T.is_date32(source) or (_T.is_timestamp(source) and source.tz is None), source == pa.timestamp("us")


def _fits_instant(source: pa.DataType, _type: Any) -> tuple[bool, bool]:
    # INT96, which old writers use for instants too, has no zone in the file.
    return _T.is_timestamp(source), source == pa.timestamp("us", "UTC")


_FITS: Mapping[type[IcebergType], Callable[[pa.DataType, Any], tuple[bool, bool]]] = {
    BooleanType: lambda source, _: (_T.is_boolean(source), True),
    IntegerType: lambda source, _: (_T.is_signed_integer(source) and source.bit_width <= 32, source == pa.int32()),
    LongType: lambda source, _: (_T.is_signed_integer(source), source == pa.int64()),
    FloatType: lambda source, _: (_T.is_float32(source), True),
    DoubleType: lambda source, _: (_T.is_float32(source) or _T.is_float64(source), _T.is_float64(source)),
    DecimalType: _fits_decimal,
    StringType: lambda source, _: (_T.is_string(source) or _T.is_large_string(source), True),
    UUIDType: _fits_uuid,
    FixedType: _fits_bytes,
    BinaryType: _fits_bytes,
    DateType: lambda source, _: (_T.is_date32(source), True),
    TimeType: lambda source, _: (_T.is_time(source), source == pa.time64("us")),
    TimestampType: _fits_local,
    TimestamptzType: _fits_instant,
}


def _unfit(node: _Node, type_: IcebergType) -> StatementError:
    return StatementError(
        "ICEBERG_BAD_DATA",
        f"The column '{node.name}' of a data file is of type {node.kind}, which is not Iceberg's {type_}.",
    )
