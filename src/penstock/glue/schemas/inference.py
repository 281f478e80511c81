"""The type of a value, and of all values of a column, by AWS's rules: each value has its own type, and types that differ
are a choice. No pyspark.

An integer is an int if it has 32 bits, else a long, so that a column may be a choice of both.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from penstock.errors import InvalidInput
from penstock.glue.schemas import gluetypes as g

__all__ = ["Observed", "check_names", "json_records", "normalised", "sorted_fields", "type_of", "type_of_texts", "widened"]

_INT, _LONG = 1 << 31, 1 << 63
_MOST_DIGITS = 38
_NUMBERS = {"int", "long", "double", "decimal"}
_BITS = {"byte": 1 << 7, "short": 1 << 15, "int": _INT, "long": _LONG}
_INTEGER, _LONG_TYPE, _DOUBLE = g.IntegerType(), g.LongType(), g.DoubleType()
_ATOMS: Mapping[type, g.DataType] = {
    bool: g.BooleanType(),
    float: _DOUBLE,
    str: g.StringType(),
    bytes: g.BinaryType(),
    bytearray: g.BinaryType(),
    datetime: g.TimestampType(),
    date: g.DateType(),
    type(None): g.NullType(),
}


class Observed:
    """What values a place of the records has had; one for each place, so that no type is built for each value.

    ``hint`` is the type that the place had before a function changed the records: integers, decimals and floats that
    fit it keep it.
    """

    __slots__ = ("atoms", "element", "fields", "hint", "values")

    def __init__(self, hint: g.DataType | None = None) -> None:
        self.hint = hint
        self.atoms: dict[str, g.DataType] = {}
        self.fields: dict[str, Observed] | None = None
        self.element: Observed | None = None
        self.values: Observed | None = None

    def add(self, value: Any) -> None:
        """Add a value. Raises TypeError for one that no column can have."""
        if isinstance(value, dict):
            self._add_fields(value)
        elif isinstance(value, list | tuple | set):
            if self.element is None:
                self.element = Observed(self.hint.elementType if isinstance(self.hint, g.ArrayType) else None)
            for item in value:
                self.element.add(item)
        else:
            atom = _atom(value, self.hint)
            name = atom.typeName()
            before = self.atoms.get(name)
            if before is not atom:
                self.atoms[name] = atom if before is None else g.mergeDataTypes(before, atom)

    def _add_fields(self, value: Mapping[str, Any]) -> None:
        if isinstance(self.hint, g.MapType):
            self.values = self.values or Observed(self.hint.valueType)
            for item in value.values():
                self.values.add(item)
            return
        if self.fields is None:
            self.fields = {}
        for name, item in value.items():
            field = self.fields.get(name)
            if field is None:
                field_hint = self.hint.field_map.get(name) if isinstance(self.hint, g.StructType) else None
                field = self.fields[str(name)] = Observed(None if field_hint is None else field_hint.dataType)
            field.add(item)

    def null_fields(self) -> frozenset[str]:
        """Return the fields that some record has as null; where others are null, records lack them."""
        return frozenset(name for name, field in (self.fields or {}).items() if "null" in field.atoms)

    def type(self) -> g.DataType:
        """Return the one type of all values: a choice if they disagree."""
        types = {name: atom for name, atom in self.atoms.items() if name != "null"}
        if self.fields is not None:
            types["struct"] = g.StructType([g.Field(name, field.type()) for name, field in self.fields.items()])
        if self.values is not None:
            types["map"] = g.MapType(self.values.type())
        if self.element is not None:
            types["array"] = g.ArrayType(self.element.type())
        if not types:
            return g.NullType() if self.atoms else g.UnknownType()
        return next(iter(types.values())) if len(types) == 1 else g.ChoiceType(types.values())


def type_of(value: Any) -> g.DataType:
    """Return the type of a Python value. Raises TypeError for one that no column can have."""
    observed = Observed()
    observed.add(value)
    return observed.type()


def normalised(value: Any) -> Any:
    """Return a function's value as records have it: dicts, lists, and values of known types.

    Raises TypeError for one that no column can have. Values of NumPy are Python's.
    """
    if isinstance(value, Mapping):
        return {str(name): normalised(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [normalised(item) for item in value]
    if type(value) in _ATOMS or type(value) is int:
        return value
    if hasattr(value, "item") and callable(value.item):
        return normalised(value.item())
    _atom(value, None)
    return value


def _atom(value: Any, hint: g.DataType | None) -> g.DataType:
    if isinstance(hint, g.ChoiceType):
        hint = None
    if type(value) is int:
        bits = _BITS.get(hint.typeName()) if hint is not None else None
        return hint if hint is not None and bits is not None and -bits <= value < bits else _integer(value)
    if type(value) is float:
        return hint if isinstance(hint, g.FloatType) else _DOUBLE
    if isinstance(value, Decimal):
        return _decimal(value, hint)
    atom = _ATOMS.get(type(value))
    if atom is not None:
        return atom
    for python_type, atom_type in _ATOMS.items():
        if isinstance(value, python_type):
            return atom_type
    raise TypeError(f"A value of type {type(value).__name__} cannot be in a record.")


def _decimal(value: Decimal, hint: g.DataType | None) -> g.DataType:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise TypeError(f"The decimal {value} cannot be in a record.")
    scale = max(0, -exponent)
    decimal = g.DecimalType(min(_MOST_DIGITS, max(len(digits) + max(0, exponent), scale)), scale)
    if isinstance(hint, g.DecimalType) and g.mergeDataTypes(hint, decimal) == hint:
        return hint
    return decimal


def _integer(value: int) -> g.DataType:
    if -_INT <= value < _INT:
        return _INTEGER
    if -_LONG <= value < _LONG:
        return _LONG_TYPE
    digits = len(str(abs(value)))
    return g.DecimalType(digits, 0) if digits <= _MOST_DIGITS else g.DoubleType()


def json_records(text: str) -> list[dict[str, Any]] | None:
    """Return the records of one text: an object is one, an array as many as it has. None if it is neither."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    records = parsed if isinstance(parsed, list) else [parsed]
    return records if all(isinstance(record, dict) for record in records) else None


def type_of_texts(texts: Iterable[str | None]) -> Iterator[tuple[g.DataType, int, frozenset[str]]]:
    """Yield the one type of all records in ``texts``, how many texts are not, and the fields that are null in some."""
    observed, bad = Observed(), 0
    for text in texts:
        records = [] if text is None else json_records(text)
        if records is None:
            bad += 1
        for record in records or ():
            observed.add(record)
    yield observed.type(), bad, observed.null_fields()


def check_names(data_type: g.DataType) -> None:
    """Raise :class:`InvalidInput` if two fields of one struct differ only in case, which Spark does not tell apart."""
    if isinstance(data_type, g.StructType):
        spellings: dict[str, str] = {}
        for field in data_type:
            other = spellings.setdefault(field.name.lower(), field.name)
            if other != field.name:
                raise InvalidInput(
                    f"The records have fields {other} and {field.name}, which differ only in case.",
                    remedy='Set spark.conf.set("spark.sql.caseSensitive", "true") first, or rename one of them.',
                )
            check_names(field.dataType)
    elif isinstance(data_type, g.ArrayType):
        check_names(data_type.elementType)
    elif isinstance(data_type, g.ChoiceType):
        for choice in data_type.choices.values():
            check_names(choice)


def widened(data_type: g.DataType) -> g.DataType:
    """Return the type with one type for all numbers of a place: long for integers, double if some have a fraction.

    For records whose types are found again in each batch, so that a column's type does not depend on a batch's values.
    """
    if isinstance(data_type, g.StructType):
        return g.StructType([g.Field(field.name, widened(field.dataType)) for field in data_type])
    if isinstance(data_type, g.ArrayType):
        return g.ArrayType(widened(data_type.elementType))
    if isinstance(data_type, g.ChoiceType):
        numbers = data_type.choices.keys() & _NUMBERS
        rest = [widened(choice) for name, choice in data_type.choices.items() if name not in numbers]
        if numbers:
            rest.append(_DOUBLE if numbers - {"int", "long"} else _LONG_TYPE)
        return rest[0] if len(rest) == 1 else g.ChoiceType(rest)
    return _LONG_TYPE if isinstance(data_type, g.IntegerType) else data_type


def sorted_fields(data_type: g.DataType) -> g.DataType:
    """Return the type with the fields of each struct in the order of their names, as Spark infers them."""
    match data_type:
        case g.StructType():
            ordered = sorted(data_type, key=lambda field: field.name)
            return g.StructType([g.Field(field.name, sorted_fields(field.dataType), field.properties) for field in ordered])
        case g.ArrayType():
            return g.ArrayType(sorted_fields(data_type.elementType), data_type.properties)
        case g.MapType():
            return g.MapType(sorted_fields(data_type.valueType), data_type.properties)
        case g.ChoiceType():
            return g.ChoiceType([sorted_fields(choice) for choice in data_type.choices.values()], data_type.properties)
        case _:
            return data_type
