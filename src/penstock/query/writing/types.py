"""From the columns of a query to those of a Hive table: which types there are, and which values fit without loss."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from penstock.sql.errors import StatementError
from penstock.sql.hive_types import parse_hive_type
from penstock.sql.trino_types import SKETCHES
from penstock.sql.types import ZONED_FIELDS
from penstock.statements.model import ResultColumn
from penstock.types import arrow, hive
from penstock.types.model import VOID, Array, LakeType, Map, Scalar, Struct, TypeMissing, fold, replace_fields
from penstock.types.widening import INSERT, fits

__all__ = ["cast_column", "check_insertable", "hive_types"]

_BYTES = frozenset({"ipaddress", "geometry", "sphericalgeography", *(type_.name for type_ in SKETCHES)})
"""Types that the engine holds as bytes, other than varbinary."""
_NOT_IN_HIVE = frozenset({"time", "timestamptz", "uuid"})
_REFUSED = frozenset({"json", "time", "timestamp with time zone"}) | _BYTES


def hive_types(columns: Sequence[ResultColumn], schema: pa.Schema) -> Sequence[str]:
    """Return the Hive type of each column of a query. Raises :class:`StatementError` for one that Hive does not have."""
    types = []
    for column, field in zip(columns, schema, strict=True):
        if column.type == "bigint":  # sums that the engine keeps in 128 bits
            types.append("bigint")
            continue
        type_ = _lake_type(field.type, void=False) if column.type not in _REFUSED else None
        if type_ is None:
            what = "unknown" if pa.types.is_null(field.type) else column.type
            raise StatementError(
                "NOT_SUPPORTED",
                f"Column '{column.name}' has type {what}, which Hive's tables do not have.",
                remedy="CAST it.",
            )
        types.append(hive.render(type_))
    return types


def _lake_type(type_: pa.DataType, *, void: bool) -> LakeType | None:
    """Return the type of a query's column, None if Hive's tables do not have it; ``void`` for values that are all NULL."""

    def in_hive(scalar: Scalar) -> LakeType:
        if scalar.name in _NOT_IN_HIVE or (scalar == VOID and not void):
            raise TypeMissing(f"Hive's tables have no {scalar.name}.")
        return scalar

    try:
        return fold(arrow.parse(type_), scalar=in_hive, array=Array, mapping=Map, struct=_row)
    except TypeMissing:
        return None


def _row(type_: Struct, types: tuple[LakeType, ...]) -> LakeType:
    if [field.name for field in type_] == ZONED_FIELDS:
        raise TypeMissing("Hive's tables have no timestamps with a zone.")
    return replace_fields(Struct(tuple(replace(field, name=field.name.lower()) for field in type_)), types)


def check_insertable(table: Sequence[tuple[str, str]], columns: Sequence[ResultColumn], schema: pa.Schema) -> None:
    """Raise :class:`StatementError` unless a query's columns can be stored in the table's (names and Hive types).

    As in Trino, a value is converted only where none can be lost (its documentation, "INSERT").
    """
    fitting = len(table) == len(schema)
    if fitting:
        for (_, type_), column, field in zip(table, columns, schema, strict=True):
            source = _lake_type(pa.int64() if column.type == "bigint" else field.type, void=True)
            fitting &= column.type not in _BYTES and source is not None and fits(source, parse_hive_type(type_), INSERT)
    if not fitting:
        table_types = ", ".join(type_ for _, type_ in table)
        query_types = ", ".join(result_column.type for result_column in columns)
        raise StatementError(
            "TYPE_MISMATCH",
            f"Insert query has mismatched column types: Table: [{table_types}], Query: [{query_types}]",
            remedy="Select the table's columns in their order, its partition keys last, and CAST what differs.",
        )


def cast_column(name: str, values: pa.Array | pa.ChunkedArray, type_: LakeType) -> pa.Array | pa.ChunkedArray:
    """Return the values in the Arrow type of ``type_``. Raises :class:`StatementError` for one that is not of it."""
    target = arrow.render(type_)
    try:
        if pa.types.is_floating(values.type) and pa.types.is_integer(target):
            raise pa.ArrowInvalid("a real number is not an integer")
        converted = values if values.type == target else _cast(values, target)
    except pa.ArrowException as error:
        what = str(error).splitlines()[0][:200]
        raise StatementError("INVALID_CAST_ARGUMENT", f"A value of column '{name}' is not of its type: {what}") from error
    if type_.name in {"varchar", "char"} and type_.numbers:
        longest = pc.max(pc.utf8_length(converted)).as_py()
        if longest is not None and longest > type_.numbers[0]:
            raise StatementError(
                "INVALID_CAST_ARGUMENT",
                f"A text of column '{name}' has {longest} characters; {type_.name} has {type_.numbers[0]}.",
            )
    return converted


def _cast(values: pa.Array | pa.ChunkedArray, target: pa.DataType) -> pa.Array | pa.ChunkedArray:
    if isinstance(target, pa.StructType) and isinstance(values, pa.StructArray):
        fields = [_cast(values.field(number), target.field(number).type) for number in range(target.num_fields)]
        return pa.StructArray.from_arrays(fields, fields=list(target), mask=values.is_null())
    return values.cast(target)
