"""JSON values to values of an Avro schema, from plain JSON or with Avro's JSON encoding of unions.

Strings become bytes if the schema has bytes there, one byte per character as in Avro's JSON encoding
(https://avro.apache.org/docs/1.12.0/specification/#json-encoding). All other values stay unchanged; the encoder checks them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.schema.avro.fold import FunctionFold
from penstock.schema.avro.model import (
    ArrayType,
    AvroSchema,
    EnumType,
    FixedType,
    MapType,
    PrimitiveType,
    RecordType,
    UnionType,
    branch_name,
)
from penstock.serdes.avro.diagnosis import MisfitFold

__all__ = ["FromJson", "compile_from_json", "convert_defaults"]

FromJson = Callable[[Any], Any]
"""A function from a value of :func:`json.loads` to a value for :func:`penstock.serdes.avro.codec.encoder`."""


def compile_from_json(schema: AvroSchema) -> FromJson:
    """Return the function that converts values of ``schema``."""
    return _FromJsonFold(schema).root()


def convert_defaults(schema: AvroSchema, parsed_names: Mapping[str, Any]) -> None:
    """Convert the defaults of the records in ``parsed_names`` in place, because fastavro takes defaults for Python values.

    ``parsed_names`` are the named types of ``schema`` in fastavro's form.
    """
    fold = _FromJsonFold(schema)
    for name, parsed in parsed_names.items():
        named_type = schema.names[name]
        if not isinstance(named_type, RecordType):
            continue
        for field, part in zip(named_type.fields, parsed["fields"], strict=True):
            if field.default is not None and not (isinstance(field.type, PrimitiveType) and field.type.name != "bytes"):
                part["default"] = fold.of(field.type)(part["default"])


class _FromJsonFold(FunctionFold[[Any], Any]):
    def __init__(self, schema: AvroSchema) -> None:
        super().__init__(schema)
        self._misfits = MisfitFold(schema, ignore_unknown=False)

    def primitive(self, avro_type: PrimitiveType) -> FromJson:
        return _bytes if avro_type.name == "bytes" else _same

    def enum(self, avro_type: EnumType) -> FromJson:  # noqa: ARG002
        return _same

    def fixed(self, avro_type: FixedType) -> FromJson:  # noqa: ARG002
        return _bytes

    def array(self, avro_type: ArrayType, items: FromJson) -> FromJson:  # noqa: ARG002
        return lambda value: [items(item) for item in value] if isinstance(value, list) else value

    def map(self, avro_type: MapType, values: FromJson) -> FromJson:  # noqa: ARG002
        return lambda value: {name: values(item) for name, item in value.items()} if isinstance(value, dict) else value

    def record(self, avro_type: RecordType, fields: Sequence[FromJson]) -> FromJson:
        parts = {field.name: convert for field, convert in zip(avro_type.fields, fields, strict=True)}

        def convert(value: Any) -> Any:
            if not isinstance(value, dict):
                return value
            return {name: parts[name](field) if name in parts else field for name, field in value.items()}

        return convert

    def union(self, avro_type: UnionType, branches: Sequence[FromJson]) -> FromJson:
        choices = [(convert, self._misfits.of(branch)) for convert, branch in zip(branches, avro_type.branches, strict=True)]
        tagged = {branch_name(branch): convert for convert, branch in zip(branches, avro_type.branches, strict=True)}

        def convert(value: Any) -> Any:
            for convert_branch, misfit in choices:
                converted = convert_branch(value)
                if misfit(converted, "") is None:
                    return converted
            if isinstance(value, dict) and len(value) == 1:
                ((name, inner),) = value.items()
                if name in tagged:
                    return tagged[name](inner)
            return value

        return convert


def _same(value: Any) -> Any:
    return value


def _bytes(value: Any) -> Any:
    try:
        return value.encode("latin-1") if isinstance(value, str) else value
    except UnicodeEncodeError:
        return value  # the encoder refuses it
