"""The text of a schema, as AWS's ``printSchema`` prints it."""

from collections.abc import Iterator

from penstock.glue.schemas.gluetypes import ArrayType, ChoiceType, DataType, MapType, StructType

__all__ = ["schema_tree"]


def schema_tree(schema: StructType) -> str:
    """Return the lines of ``schema``, such as ``|-- id: choice`` with its types below, under the line ``root``."""
    return "\n".join(["root", *_parts(schema, "")])


def _parts(data_type: DataType, indent: str) -> Iterator[str]:
    if isinstance(data_type, StructType):
        for field in data_type:
            yield f"{indent}|-- {field.name}: {field.dataType.typeName()}"
            yield from _parts(field.dataType, f"{indent}|    ")
    elif isinstance(data_type, ArrayType):
        yield f"{indent}|-- element: {data_type.elementType.typeName()}"
        yield from _parts(data_type.elementType, f"{indent}|    ")
    elif isinstance(data_type, MapType):
        yield f"{indent}|-- keyType: string"
        yield f"{indent}|-- valueType: {data_type.valueType.typeName()}"
        yield from _parts(data_type.valueType, f"{indent}|    ")
    elif isinstance(data_type, ChoiceType):
        for type_ in data_type.ordered():
            yield f"{indent}|-- {type_.typeName()}"
            yield from _parts(type_, f"{indent}|    ")
