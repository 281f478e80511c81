"""From the columns of a query to those of a Hive table: which types there are, and which values fit without loss."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from penstock.query.tables.formats.arrow_types import arrow_type
from penstock.sql.errors import StatementError
from penstock.sql.hive_types import parse_hive_type
from penstock.sql.kinds import SKETCHES
from penstock.sql.types import ZONED_FIELDS
from penstock.statements.model import ResultColumn
from penstock.types.model import LakeType
from penstock.types.widening import INSERT, fits

__all__ = ["cast_column", "check_insertable", "hive_types"]

_NAMES = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.uint8(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.date32(): "date",
}


_BYTES = frozenset({"ipaddress", "geometry", "sphericalgeography", *(kind.name for kind in SKETCHES)})
"""What the engine holds as bytes, and is no varbinary."""
_REFUSED = frozenset({"json", "time", "timestamp with time zone"}) | _BYTES


def hive_types(columns: Sequence[ResultColumn], schema: pa.Schema) -> Sequence[str]:
    """Return the Hive type of each column of a query. Raises :class:`StatementError` for one that Hive does not have."""
    found = []
    for column, field in zip(columns, schema, strict=True):
        if column.type == "bigint":  # sums that the engine keeps in 128 bits
            found.append("bigint")
            continue
        text = _hive_type(field.type) if column.type not in _REFUSED else None
        if text is None:
            what = "unknown" if pa.types.is_null(field.type) else column.type
            raise StatementError(
                "NOT_SUPPORTED",
                f"Column '{column.name}' has type {what}, which Hive's tables do not have.",
                remedy="CAST it.",
            )
        found.append(text)
    return found


def _hive_type(kind: pa.DataType) -> str | None:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else None
    return _NAMES.get(kind) or _nested_type(kind)


def _nested_type(kind: pa.DataType) -> str | None:
    if isinstance(kind, pa.MapType):
        parts = [_hive_type(kind.key_type), _hive_type(kind.item_type)]
        return None if None in parts else f"map<{','.join(map(str, parts))}>"
    if isinstance(kind, pa.StructType):
        parts = [_hive_type(each.type) for each in kind]
        if [each.name for each in kind] == ZONED_FIELDS:
            return None
        named = [f"{each.name.lower()}:{part}" for each, part in zip(kind, parts, strict=True)]
        return None if None in parts else f"struct<{','.join(named)}>"
    inner = _hive_type(kind.value_type) if isinstance(kind, pa.ListType | pa.LargeListType) else None
    return None if inner is None else f"array<{inner}>"


def check_insertable(table: Sequence[tuple[str, str]], columns: Sequence[ResultColumn], schema: pa.Schema) -> None:
    """Raise :class:`StatementError` unless a query's columns can be stored in the table's (names and Hive types).

    As in Trino, a value is converted only where none can be lost (its documentation, "INSERT").
    """
    fits = len(table) == len(schema)
    if fits:
        for (_, kind), column, field in zip(table, columns, schema, strict=True):
            source = pa.int64() if column.type == "bigint" else field.type
            fits = fits and column.type not in _BYTES and _fits(source, parse_hive_type(kind))
    if not fits:
        wanted = ", ".join(kind for _, kind in table)
        given = ", ".join(each.type for each in columns)
        raise StatementError(
            "TYPE_MISMATCH",
            f"Insert query has mismatched column types: Table: [{wanted}], Query: [{given}]",
            remedy="Select the table's columns in their order, its partition keys last, and CAST what differs.",
        )


def _fits(kind: pa.DataType, wanted: LakeType) -> bool:
    if pa.types.is_null(kind):
        return True
    if wanted.name in {"array", "map", "struct"}:
        return _nested_fits(kind, wanted)
    text = _hive_type(kind)
    return text is not None and fits(parse_hive_type(text), wanted, INSERT)


def _nested_fits(kind: pa.DataType, wanted: LakeType) -> bool:
    if wanted.name == "map":
        return isinstance(kind, pa.MapType) and all(map(_fits, (kind.key_type, kind.item_type), wanted.inner))
    if wanted.name == "struct":
        fields = list(kind) if isinstance(kind, pa.StructType) else []
        return len(fields) == len(wanted.inner) > 0 and all(
            _fits(each.type, inner) for each, inner in zip(fields, wanted.inner, strict=True)
        )
    return isinstance(kind, pa.ListType | pa.LargeListType) and _fits(kind.value_type, wanted.inner[0])


def cast_column(name: str, values: pa.Array | pa.ChunkedArray, kind: LakeType) -> pa.Array | pa.ChunkedArray:
    """Return the values in the Arrow type of ``kind``. Raises :class:`StatementError` for one that is not of it."""
    target = arrow_type(kind)
    try:
        if pa.types.is_floating(values.type) and pa.types.is_integer(target):
            raise pa.ArrowInvalid("a real number is not an integer")
        found = values if values.type == target else _cast(values, target)
    except pa.ArrowException as error:
        what = str(error).splitlines()[0][:200]
        raise StatementError("INVALID_CAST_ARGUMENT", f"A value of column '{name}' is not of its type: {what}") from error
    if kind.name in {"varchar", "char"} and kind.numbers:
        longest = pc.max(pc.utf8_length(found)).as_py()
        if longest is not None and longest > kind.numbers[0]:
            raise StatementError(
                "INVALID_CAST_ARGUMENT",
                f"A text of column '{name}' has {longest} characters; {kind.name} has {kind.numbers[0]}.",
            )
    return found


def _cast(values: pa.Array | pa.ChunkedArray, target: pa.DataType) -> pa.Array | pa.ChunkedArray:
    if isinstance(target, pa.StructType) and isinstance(values, pa.StructArray):
        fields = [_cast(values.field(number), target.field(number).type) for number in range(target.num_fields)]
        return pa.StructArray.from_arrays(fields, fields=list(target), mask=values.is_null())
    return values.cast(target)
