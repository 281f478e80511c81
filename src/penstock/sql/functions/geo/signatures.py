"""A geospatial function as a value, and the row and the function over Arrow columns that it becomes.

A function has several overloads where Trino's has them: by the number of the arguments, and by Geometry or
SphericalGeography. Its body gets one NumPy array (shapes, numbers) or list (texts, arrays) for each parameter, without the
rows in which an argument is NULL, and returns a value for each row.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from penstock.sql.functions.build import cast_to, engine_type
from penstock.sql.functions.geo.shapes import geometries, shapely, stored
from penstock.sql.functions.python import invalid
from penstock.sql.functions.rows import ArrowFunction, Call, Row, Types, call_engine
from penstock.sql.trino_types import BIGINT, BOOLEAN, DOUBLE, INTEGER, VARBINARY, VARCHAR, Type

__all__ = ["GEOMETRY", "GEOMETRY_ARRAY", "POINTS", "SPHERE", "TINYINT", "Function", "definitions", "for_each_row", "rows"]

GEOMETRY, SPHERE = Type("Geometry"), Type("SphericalGeography")
GEOMETRY_ARRAY = Type.array(GEOMETRY)
POINTS = Type.row([(None, GEOMETRY), (None, GEOMETRY)])
TINYINT = Type("tinyint")

Read = Callable[[pa.Array], Any]


@dataclass(frozen=True, slots=True)
class Function:
    """One overload: Trino's ``name`` in the case of its documentation, its types, and what computes it."""

    name: str
    parameters: Sequence[Type]
    returns: Type
    body: Callable[..., Any]
    reads: Read | None = None
    """How its first argument is read, if not by its type alone: text or bytes from outside."""
    note: str = ""

    @property
    def engine(self) -> str:
        """The name in the engine, of its own for each overload."""
        suffix = "_sphere" if self.parameters[0] == SPHERE else ""
        return f"trino_shape_{self.name.lower()}{suffix}"

    @property
    def shown(self) -> str:
        """The signature, as Trino's messages have it."""
        return f"{self.name.lower()}({', '.join(map(str, self.parameters))})"


def for_each_row(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the body that calls ``function`` with one row's values at a time."""
    return lambda *columns: [function(*row) for row in zip(*columns, strict=True)]


def rows(functions: Sequence[Function]) -> Iterator[Row]:
    """Yield a row for each name in ``functions``."""
    names = list(dict.fromkeys(function.name.lower() for function in functions))
    for name in names:
        yield _row(name, [function for function in functions if function.name.lower() == name])


def definitions(functions: Sequence[Function]) -> Iterator[ArrowFunction]:
    """Yield the engine's function for each of ``functions``."""
    for function in functions:
        parameters = [_engine(type_) for type_ in function.parameters]
        yield ArrowFunction(function.engine, parameters, _engine(function.returns), _over_columns(function))


def _engine(type_: Type) -> str:
    text = engine_type(type_)
    assert text is not None
    return text


def _row(name: str, overloads: Sequence[Function]) -> Row:
    def overload_of(types: Types) -> Function | None:
        return next((overload for overload in overloads if _fits(overload.parameters, types)), None)

    def returns(types: Types) -> Type:
        return (overload_of(types) or overloads[0]).returns

    def write(call: Call) -> exp.Expr:
        function = overload_of(call.types)
        if function is None:
            raise call.unexpected(", ".join(overload.shown for overload in overloads))
        if any(
            type_ is None and parameter_type in _HELD
            for type_, parameter_type in zip(call.types, function.parameters, strict=True)
        ):
            raise call.error(
                f"{name} is not supported for a value whose type is not known.",
                code="NOT_SUPPORTED",
                remedy="Compute the shape in the call: ST_GeomFromBinary(x).",
            )
        return call_engine(function.engine, *map(_argument, call.arguments, call.types, function.parameters))

    count = len(overloads[0].parameters)
    return Row(name, arity=count, returns=returns, write=write, note=overloads[0].note)


_HELD = (GEOMETRY, SPHERE, GEOMETRY_ARRAY)


def _fits(parameters: Sequence[Type], types: Types) -> bool:
    return len(parameters) == len(types) and all(map(_fits_one, parameters, types))


def _fits_one(parameter: Type, type_: Type | None) -> bool:
    if type_ is None or type_.name == "unknown":
        return True
    if parameter.inner:
        return type_.name == parameter.name and _fits_one(GEOMETRY, type_.element)
    if parameter == DOUBLE:
        return type_.is_number
    if parameter == INTEGER:
        return type_.is_integer and type_ != BIGINT
    return parameter == type_ or (parameter == VARCHAR and type_.name == "varchar")


def _argument(value: exp.Expr, type_: Type | None, parameter: Type) -> exp.Expr:
    return value if type_ == parameter else cast_to(value, _engine(parameter))


def _over_columns(function: Function) -> Callable[..., pa.Array]:
    first, *others = (_READS[type_.name] for type_ in function.parameters)
    reads = [function.reads or first, *others]
    write = _WRITES[function.returns.name]

    def compute(*columns: pa.Array | pa.ChunkedArray) -> pa.Array:
        whole = [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in columns]
        valid = reduce(pc.and_, (item.is_valid() for item in whole))
        if pc.all(valid).as_py() is not False:
            return _computed(whole)
        values = _computed([item.filter(valid) for item in whole])
        places = pc.if_else(valid, pc.subtract(pc.cumulative_sum(valid.cast(pa.int64())), 1), None)
        return values.take(places)

    def _computed(columns: Sequence[pa.Array]) -> pa.Array:
        if not len(columns[0]):
            return write([])
        from shapely.errors import GEOSException  # noqa: PLC0415 - see shapes

        try:
            return write(function.body(*(read(column) for read, column in zip(reads, columns, strict=True))))
        except GEOSException as error:
            raise invalid(f"{function.name}: {_reason(error)}") from None

    return compute


def _reason(error: Exception) -> str:
    """Return GEOS's message without the name of its class."""
    type_, _, reason = str(error).partition(": ")
    return (reason if type_.endswith("Exception") else str(error)).splitlines()[0]


def _numbers(column: pa.Array) -> Any:
    return column.to_numpy(zero_copy_only=False)


def _arrays(column: pa.Array) -> Sequence[Any]:
    """Return for each row the NumPy array of its shapes; None stands for NULL inside."""
    inside = shapely.from_wkb(column.flatten().to_numpy(zero_copy_only=False))
    ends = pc.cumulative_sum(pc.list_value_length(column)).to_pylist()
    return [inside[start:end] for start, end in zip([0, *ends], ends, strict=False)]


_READS: Mapping[str, Read] = {
    "Geometry": geometries,
    "SphericalGeography": geometries,
    "array": _arrays,
    "double": _numbers,
    "integer": _numbers,
    "varchar": lambda column: column.to_pylist(),
    "varbinary": lambda column: column.to_pylist(),
}


def _shapes(shapes: Any) -> pa.Array:
    import numpy as np  # noqa: PLC0415 - it is here if shapely is

    return stored(shapes if isinstance(shapes, np.ndarray) else np.array([*shapes, None], dtype=object)[:-1])


def _shape_arrays(rows: Sequence[Sequence[Any] | None]) -> pa.Array:
    inside = _shapes([shape for row in rows if row is not None for shape in row]).to_pylist()
    at = iter(inside)
    return pa.array([None if row is None else [next(at) for _ in row] for row in rows], pa.list_(pa.binary()))


def _pairs(rows: Sequence[tuple[Any, Any] | None]) -> pa.Array:
    fields = [_shapes([None if pair is None else pair[at] for pair in rows]) for at in (0, 1)]
    missing = pa.array([pair is None for pair in rows], pa.bool_())
    return pa.StructArray.from_arrays(fields, names=["field0", "field1"], mask=missing)


def _plain(type_: pa.DataType) -> Callable[[Any], pa.Array]:
    return lambda values: pa.array(values, type_)


_WRITES: Mapping[str, Callable[[Any], pa.Array]] = {
    "Geometry": _shapes,
    "SphericalGeography": _shapes,
    "array": _shape_arrays,
    "row": _pairs,
    BOOLEAN.name: _plain(pa.bool_()),
    DOUBLE.name: _plain(pa.float64()),
    BIGINT.name: _plain(pa.int64()),
    INTEGER.name: _plain(pa.int32()),
    TINYINT.name: _plain(pa.int8()),
    VARCHAR.name: _plain(pa.string()),
    VARBINARY.name: _plain(pa.binary()),
}
