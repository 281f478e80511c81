"""The types of Glue's schemas as values: what ``DynamicFrame.schema()`` returns. No pyspark.

A choice has values of several types. Names, members and JSON are AWS's:
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-extensions-types.html
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

__all__ = [
    "ArrayType",
    "AtomicType",
    "BinaryType",
    "BooleanType",
    "ByteType",
    "ChoiceType",
    "DataType",
    "DateType",
    "DecimalType",
    "DoubleType",
    "EntityType",
    "EnumType",
    "Field",
    "FloatType",
    "IntegerType",
    "LongType",
    "MapType",
    "NullType",
    "ShortType",
    "StringType",
    "StructType",
    "TimestampType",
    "UnknownType",
    "mergeDataTypes",
    "type_of_json",
]

Properties = Mapping[str, Any]


class DataType:
    """The base of all types; ``properties`` are free text beside a type."""

    def __init__(self, properties: Properties | None = None) -> None:
        self.properties: dict[str, Any] = dict(properties or {})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.typeName())

    @classmethod
    def typeName(cls) -> str:  # noqa: N802 - AWS's names, here and below
        """Return the name that schemas show, such as ``long``."""
        return cls.__name__.removesuffix("Type").lower()

    def jsonValue(self) -> dict[str, Any]:  # noqa: N802
        """Return the type as AWS's JSON has it; :func:`type_of_json` reads it."""
        return {"dataType": self.typeName(), "properties": self.properties}

    @classmethod
    def fromJsonValue(cls, json_value: Mapping[str, Any]) -> Self:  # noqa: N802
        """Return the type that :meth:`jsonValue` wrote."""
        return cls(**{name: value for name, value in json_value.items() if name != "dataType"})


class AtomicType(DataType):
    """A type without parts."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.properties})"


class BinaryType(AtomicType):
    """Bytes."""


class BooleanType(AtomicType):
    """True and false."""


class ByteType(AtomicType):
    """Integers of one byte."""


class DateType(AtomicType):
    """Days."""


class DecimalType(AtomicType):
    """Decimal numbers, of 10 digits and 2 behind the point by default."""

    def __init__(self, precision: int = 10, scale: int = 2, properties: Properties | None = None) -> None:
        super().__init__(properties)
        self.precision = precision
        self.scale = scale

    def __repr__(self) -> str:
        return f"DecimalType({self.precision}, {self.scale}, {self.properties})"

    def jsonValue(self) -> dict[str, Any]:  # noqa: N802
        """Return the type as JSON, with its digits."""
        return {**super().jsonValue(), "precision": self.precision, "scale": self.scale}


class DoubleType(AtomicType):
    """Floating-point numbers of 64 bits."""


class EnumType(AtomicType):
    """Strings of a set, ``options``."""

    def __init__(self, options: Sequence[str] = (), properties: Properties | None = None) -> None:
        super().__init__(properties)
        self.options = list(options)

    def __repr__(self) -> str:
        more = ",..." if len(self.options) > 3 else ""
        return f"EnumType([{','.join(self.options[:3])}{more}], {self.properties})"

    def jsonValue(self) -> dict[str, Any]:  # noqa: N802
        """Return the type as JSON, with its strings."""
        return {**super().jsonValue(), "options": self.options}


class FloatType(AtomicType):
    """Floating-point numbers of 32 bits."""


class IntegerType(AtomicType):
    """Integers of 32 bits."""

    @classmethod
    def typeName(cls) -> str:  # noqa: N802
        """Return ``int``."""
        return "int"


class LongType(AtomicType):
    """Integers of 64 bits."""


class NullType(AtomicType):
    """No record has a value."""


class ShortType(AtomicType):
    """Integers of 16 bits."""


class StringType(AtomicType):
    """Text."""


class TimestampType(AtomicType):
    """Points in time."""


class UnknownType(AtomicType):
    """Nothing is known; merged with a type, it is that type."""


class ArrayType(DataType):
    """Arrays whose elements have one type."""

    def __init__(self, elementType: DataType | None = None, properties: Properties | None = None) -> None:  # noqa: N803
        super().__init__(properties)
        self.elementType = elementType or UnknownType()

    def __repr__(self) -> str:
        return f"ArrayType({self.elementType}, {self.properties})"

    def jsonValue(self) -> dict[str, Any]:  # noqa: N802
        """Return the type as JSON, with that of its elements."""
        return {**super().jsonValue(), "elementType": self.elementType.jsonValue()}

    @classmethod
    def fromJsonValue(cls, json_value: Mapping[str, Any]) -> Self:  # noqa: N802
        """Return the type that :meth:`jsonValue` wrote."""
        return cls(type_of_json(json_value["elementType"]), json_value.get("properties"))


class MapType(DataType):
    """Maps of strings to values of one type."""

    def __init__(self, valueType: DataType | None = None, properties: Properties | None = None) -> None:  # noqa: N803
        super().__init__(properties)
        self.valueType = valueType or UnknownType()

    def __repr__(self) -> str:
        return f"MapType({self.valueType}, {self.properties})"

    def jsonValue(self) -> dict[str, Any]:  # noqa: N802
        """Return the type as JSON, with that of its values."""
        return {**super().jsonValue(), "valueType": self.valueType.jsonValue()}

    @classmethod
    def fromJsonValue(cls, json_value: Mapping[str, Any]) -> Self:  # noqa: N802
        """Return the type that :meth:`jsonValue` wrote."""
        return cls(type_of_json(json_value["valueType"]), json_value.get("properties"))


class ChoiceType(DataType):
    """Values of several types, by the types' names; a type is in it once."""

    def __init__(self, choices: Iterable[DataType] = (), properties: Properties | None = None) -> None:
        super().__init__(properties)
        self.choices: dict[str, DataType] = {}
        for choice in choices:
            self.add(choice)

    def __repr__(self) -> str:
        return f"ChoiceType([{','.join(str(data_type) for data_type in self.ordered())}], {self.properties})"

    def ordered(self) -> list[DataType]:
        """Return the types by name, the order in which schemas show them."""
        return [self.choices[name] for name in sorted(self.choices)]

    def add(self, new_choice: DataType) -> None:
        """Add a type. Raises ValueError if one of its name is there."""
        if new_choice.typeName() in self.choices:
            raise ValueError("Attempting to insert duplicate choice", new_choice)
        self.choices[new_choice.typeName()] = new_choice

    def merge(self, new_choices: DataType | Iterable[DataType]) -> None:
        """Add types, each merged with the one of its name."""
        for choice in [new_choices] if isinstance(new_choices, DataType) else new_choices:
            before = self.choices.get(choice.typeName(), UnknownType())
            self.choices[choice.typeName()] = mergeDataTypes(before, choice)

    def jsonValue(self) -> dict[str, Any]:  # noqa: N802
        """Return the type as JSON, with its alternatives."""
        return {**super().jsonValue(), "choices": [choice.jsonValue() for choice in self.choices.values()]}

    @classmethod
    def fromJsonValue(cls, json_value: Mapping[str, Any]) -> Self:  # noqa: N802
        """Return the type that :meth:`jsonValue` wrote."""
        return cls([type_of_json(choice) for choice in json_value["choices"]], json_value.get("properties"))


class Field:
    """A field of a struct."""

    def __init__(self, name: str, dataType: DataType, properties: Properties | None = None) -> None:  # noqa: N803
        self.name = name
        self.dataType = dataType
        self.properties: dict[str, Any] = dict(properties or {})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Field) and (self.name, self.dataType) == (other.name, other.dataType)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Field({self.name}, {self.dataType}, {self.properties})"

    def jsonValue(self) -> dict[str, Any]:  # noqa: N802
        """Return the field as AWS's JSON has it."""
        return {"name": self.name, "container": self.dataType.jsonValue(), "properties": self.properties}

    @classmethod
    def fromJsonValue(cls, json_value: Mapping[str, Any]) -> Self:  # noqa: N802
        """Return the field that :meth:`jsonValue` wrote."""
        return cls(json_value["name"], type_of_json(json_value["container"]), json_value.get("properties"))


class StructType(DataType):
    """Named fields in an order."""

    def __init__(self, fields: Iterable[Field] = (), properties: Properties | None = None) -> None:
        super().__init__(properties)
        self.fields = list(fields)
        self.field_map = {field.name: field for field in self.fields}

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __repr__(self) -> str:
        return f"StructType([{','.join(str(field) for field in self.fields)}], {self.properties})"

    def add(self, field: Field) -> None:
        """Add a field at the end."""
        self.fields.append(field)
        self.field_map[field.name] = field

    def hasField(self, field: Field | str) -> bool:  # noqa: N802
        """Return whether there is a field of this name."""
        return (field.name if isinstance(field, Field) else field) in self.field_map

    def getField(self, field: Field | str) -> Field:  # noqa: N802
        """Return the field of this name. Raises KeyError."""
        return self.field_map[field.name if isinstance(field, Field) else field]

    def jsonValue(self) -> dict[str, Any]:  # noqa: N802
        """Return the type as JSON, with its fields."""
        return {**super().jsonValue(), "fields": [field.jsonValue() for field in self.fields]}

    @classmethod
    def fromJsonValue(cls, json_value: Mapping[str, Any]) -> Self:  # noqa: N802
        """Return the type that :meth:`jsonValue` wrote."""
        return cls([Field.fromJsonValue(field) for field in json_value["fields"]], json_value.get("properties"))


class EntityType(DataType):
    """AWS's library has the name only."""

    def __init__(self, entity: object, base_type: object, properties: object) -> None:
        raise NotImplementedError("EntityTypes are not supported, nor are they on AWS.")


_TYPES: Mapping[str, type[DataType]] = {
    subclass.typeName(): subclass
    for parent in (AtomicType, DataType)
    for subclass in parent.__subclasses__()
    if subclass not in {AtomicType, EntityType}
}


def type_of_json(value: Mapping[str, Any] | str) -> DataType:
    """Return the type of AWS's JSON, a mapping or its text. Raises ValueError for an unknown type."""
    document = json.loads(value) if isinstance(value, str) else value
    type_class = _TYPES.get(document.get("dataType", ""))
    if type_class is None:
        raise ValueError(f"{document.get('dataType')!r} is not a type of Glue.")
    return type_class.fromJsonValue(document)


def mergeDataTypes(s1: DataType, s2: DataType) -> DataType:  # noqa: N802
    """Return the type of values that have ``s1`` or ``s2``: one of them, a merged struct or array, or a choice."""
    if isinstance(s1, UnknownType | NullType):
        return s2
    if isinstance(s2, UnknownType | NullType):
        return s1
    if s1.typeName() != s2.typeName() or isinstance(s1, ChoiceType):
        choice = ChoiceType(s1.choices.values() if isinstance(s1, ChoiceType) else [s1], s1.properties)
        choice.merge(s2.choices.values() if isinstance(s2, ChoiceType) else s2)
        return choice
    merge = _MERGES.get(type(s1))
    return s1 if merge is None else merge(s1, s2)


def _merged_structs(s1: Any, s2: Any) -> StructType:
    fields = [
        Field(field.name, mergeDataTypes(field.dataType, s2.getField(field).dataType), field.properties)
        if s2.hasField(field)
        else field
        for field in s1
    ]
    return StructType([*fields, *(field for field in s2 if not s1.hasField(field))], s1.properties)


def _merged_decimals(s1: Any, s2: Any) -> DecimalType:
    scale = max(s1.scale, s2.scale)
    return DecimalType(min(38, max(s1.precision - s1.scale, s2.precision - s2.scale) + scale), scale)


_MERGES: Mapping[type[DataType], Callable[[Any, Any], DataType]] = {
    StructType: _merged_structs,
    ArrayType: lambda s1, s2: ArrayType(mergeDataTypes(s1.elementType, s2.elementType)),
    MapType: lambda s1, s2: MapType(mergeDataTypes(s1.valueType, s2.valueType)),
    EnumType: lambda s1, s2: EnumType(list(dict.fromkeys([*s1.options, *s2.options]))),
    DecimalType: _merged_decimals,
}
