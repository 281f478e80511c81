"""Trino's types as values, so that a statement's expressions have Trino's types before the engine sees them.

A type that is not known is None everywhere: then the engine's own binding decides between the overloads of a macro.
Sources: Trino's documentation, "Data types"; for sums, products and quotients of decimals "Decimal functions and operators".
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from penstock.types import hive
from penstock.types.model import LakeType, Scalar, Struct, fold
from penstock.types.trino import trino_name

__all__ = [
    "BIGINT",
    "BOOLEAN",
    "DATE",
    "DOUBLE",
    "HYPERLOGLOG",
    "INTEGER",
    "JSON",
    "QDIGESTS",
    "REAL",
    "SKETCHES",
    "TDIGEST",
    "UNKNOWN",
    "VARBINARY",
    "VARCHAR",
    "Type",
    "common",
    "decimal_of",
]

_MAX_PRECISION = 38


@dataclass(frozen=True, slots=True)
class Type:
    """A type: Trino's ``name``, ``numbers`` (precision and scale, or a length) and the types inside it.

    The name is in lower case but for HyperLogLog, and that of a q-digest has the type of its values.
    """

    name: str
    numbers: tuple[int, ...] = ()
    inner: tuple["Type | None", ...] = ()
    """Of an array its elements' type, of a map its keys' and values' types, of a row its fields' types."""
    fields: tuple[str | None, ...] = ()
    """Names of a row's fields; None is a field without a name."""

    def __str__(self) -> str:
        if self.name == "row":
            named = [f"{name} {type_}" if name else str(type_) for name, type_ in zip(self.fields, self.inner, strict=True)]
            return f"row({', '.join(named)})"
        inside = [",".join(map(str, self.numbers))] if self.numbers else [str(type_ or "unknown") for type_ in self.inner]
        zone = " with time zone"
        if inside and self.name.endswith(zone):
            return f"{self.name.removesuffix(zone)}({', '.join(inside)}){zone}"
        return f"{self.name}({', '.join(inside)})" if inside else self.name

    @property
    def is_integer(self) -> bool:
        """Whether it is tinyint, smallint, integer or bigint."""
        return self.name in _INTEGERS

    @property
    def is_floating(self) -> bool:
        """Whether it is real or double."""
        return self.name in {"real", "double"}

    @property
    def is_number(self) -> bool:
        """Whether it can be computed with."""
        return self.is_integer or self.is_floating or self.name == "decimal"

    @property
    def is_whole(self) -> bool:
        """Whether it and every type inside it is known."""
        return self.name != "unknown" and all(type_ is not None and type_.is_whole for type_ in self.inner)

    @property
    def is_text(self) -> bool:
        """Whether it is varchar or char."""
        return self.name in {"varchar", "char"}

    @property
    def element(self) -> "Type | None":
        """The type of an array's elements, of a map's values."""
        return self.inner[-1] if self.inner and self.name in {"array", "map"} else None

    @classmethod
    def decimal(cls, precision: int, scale: int) -> "Type":
        """Return the decimal of at most 38 digits."""
        return cls("decimal", (min(precision, _MAX_PRECISION), scale))

    @classmethod
    def array(cls, element: "Type | None") -> "Type":
        """Return the array of ``element``."""
        return cls("array", inner=(element,))

    @classmethod
    def map(cls, key: "Type | None", value: "Type | None") -> "Type":
        """Return the map from ``key`` to ``value``."""
        return cls("map", inner=(key, value))

    @classmethod
    def row(cls, fields: Iterable[tuple[str | None, "Type | None"]]) -> "Type":
        """Return the row of ``fields``."""
        members = list(fields)
        return cls("row", inner=tuple(type_ for _, type_ in members), fields=tuple(name for name, _ in members))

    @classmethod
    def of(cls, node: exp.DataType) -> "Type | None":
        """Return the type that is written in a CAST, None if it is not one of Trino's."""
        written = node.args.get("kind") if node.this == exp.DType.USERDEFINED else node.this
        name = _NAMES.get(written.value if isinstance(written, exp.DType) else str(written))
        if name is None:
            return None
        inside = node.expressions
        if name == "array":
            return cls.array(cls._inner(inside[0]) if inside else None)
        if name == "map":
            return cls.map(*(cls._inner(item) for item in inside)) if len(inside) == 2 else None
        if name == "row":
            return cls.row((_field_name(item), cls._inner(item)) for item in inside)
        numbers = tuple(int(parameter.name) for parameter in inside if isinstance(parameter, exp.DataTypeParam))
        if name == "decimal":
            numbers = (*numbers, *(38, 0)[len(numbers) :])
        return cls(name, numbers or _NUMBERS.get(name, ()))

    @classmethod
    def _inner(cls, node: exp.Expr) -> "Type | None":
        type_node = node.args.get("kind") if isinstance(node, exp.ColumnDef) else node
        return cls.of(type_node) if isinstance(type_node, exp.DataType) else None

    @classmethod
    def of_lake(cls, type_: LakeType) -> "Type":
        """Return Trino's type for one of the lake's."""
        return fold(type_, scalar=_scalar, array=cls.array, mapping=cls.map, struct=_row)

    @classmethod
    def of_hive(cls, text: str) -> "Type | None":
        """Return the type of a column of the catalog; ``char`` and ``varchar`` have lost their length."""
        return _of_hive(text.strip().lower())


def _field_name(node: exp.Expr) -> str | None:
    return node.name or None if isinstance(node, exp.ColumnDef) else None


def _scalar(type_: Scalar) -> Type:
    return Type(*trino_name(type_))


def _row(struct: Struct, types: tuple[Type, ...]) -> Type:
    return Type.row((field.name, type_) for field, type_ in zip(struct.fields, types, strict=True))


@lru_cache(maxsize=4_096)
def _of_hive(text: str) -> Type | None:
    try:
        return _as_read(Type.of_lake(hive.parse(text)))
    except hive.TypeUnreadable:
        return None


def _as_read(type_: Type | None) -> Type | None:
    if type_ is None:
        return None
    if type_.name in {"char", "varchar"}:
        return VARCHAR
    return Type(type_.name, type_.numbers, tuple(map(_as_read, type_.inner)), type_.fields)


_NAMES = {
    "BOOLEAN": "boolean",
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INT": "integer",
    "BIGINT": "bigint",
    "FLOAT": "real",
    "REAL": "real",
    "DOUBLE": "double",
    "DECIMAL": "decimal",
    "VARCHAR": "varchar",
    "TEXT": "varchar",
    "CHAR": "char",
    "VARBINARY": "varbinary",
    "BINARY": "varbinary",
    "DATE": "date",
    "TIME": "time",
    "TIMETZ": "time with time zone",
    "TIMESTAMP": "timestamp",
    "TIMESTAMPTZ": "timestamp with time zone",
    "TIMESTAMPLTZ": "timestamp with time zone",
    "JSON": "json",
    "UUID": "uuid",
    "IPADDRESS": "ipaddress",
    "HLLSKETCH": "HyperLogLog",
    "P4HyperLogLog": "P4HyperLogLog",
    "TDIGEST": "tdigest",
    **{f"qdigest({kind})": f"qdigest({kind})" for kind in ("bigint", "double", "real")},
    "GEOMETRY": "Geometry",
    "ARRAY": "array",
    "LIST": "array",
    "MAP": "map",
    "STRUCT": "row",
}
_NUMBERS = {
    "char": (1,),
    "time": (3,),
    "time with time zone": (3,),
    "timestamp": (3,),
    "timestamp with time zone": (3,),
}
_INTEGERS = {"tinyint": 3, "smallint": 5, "integer": 10, "bigint": 19}  # digits of each as a decimal
_DATES = ("date", "timestamp", "timestamp with time zone")
_WIDTHS = ("tinyint", "smallint", "integer", "bigint", "decimal", "real", "double")

BOOLEAN, INTEGER, BIGINT, REAL, DOUBLE = (Type(name) for name in ("boolean", "integer", "bigint", "real", "double"))
VARCHAR, VARBINARY, JSON, DATE, UNKNOWN = (Type(name) for name in ("varchar", "varbinary", "json", "date", "unknown"))

HYPERLOGLOG, TDIGEST = Type("HyperLogLog"), Type("tdigest")
QDIGESTS = tuple(Type(f"qdigest({kind})") for kind in ("bigint", "double", "real"))
SKETCHES = (HYPERLOGLOG, Type("P4HyperLogLog"), TDIGEST, *QDIGESTS)
"""Types of sketches, whose values are bytes."""


def decimal_of(type_: Type) -> Type:
    """Return the decimal that holds every value of ``type_``, which is a decimal or an integer type."""
    return Type.decimal(_INTEGERS[type_.name], 0) if type_.is_integer else type_


def common(types: Iterable[Type | None]) -> Type | None:
    """Return the type to which all of ``types`` are coerced (CASE, COALESCE, UNION), None if that is not known."""
    result: Type | None = None
    for number, type_ in enumerate(types):
        if type_ is None:
            return None
        result = type_ if number == 0 or result is None else _pair(result, type_)
        if result is None:
            return None
    return result


def _pair(left: Type, right: Type) -> Type | None:
    if left == right or right.name == "unknown":
        return left
    if left.name == "unknown":
        return right
    result: Type | None = None
    if left.is_number and right.is_number:
        result = _numbers(left, right)
    elif left.is_text and right.is_text:
        bounded = all(type_.numbers for type_ in (left, right))
        name = "char" if left.name == right.name == "char" else "varchar"
        result = Type(name, (max(left.numbers[0], right.numbers[0]),) if bounded else ())
    elif left.name == right.name and left.numbers and right.numbers:
        result = Type(left.name, max(left.numbers, right.numbers))
    elif left.name == right.name and len(left.inner) == len(right.inner):
        result = Type(left.name, (), tuple(common(pair) for pair in zip(left.inner, right.inner, strict=True)), left.fields)
    elif left.name in _DATES and right.name in _DATES:
        result = max(left, right, key=lambda type_: _DATES.index(type_.name))
    return result


def _numbers(left: Type, right: Type) -> Type:
    wider = max(left, right, key=lambda type_: _WIDTHS.index(type_.name))
    if wider.name != "decimal":
        return wider
    first, second = decimal_of(left).numbers, decimal_of(right).numbers
    scale = max(first[1], second[1])
    return Type.decimal(max(first[0] - first[1], second[0] - second[1]) + scale, scale)
