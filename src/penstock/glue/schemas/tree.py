"""The text of a schema, as AWS's ``printSchema`` prints it."""

from collections.abc import Iterator

from penstock.glue.schemas.gluetypes import ArrayType, ChoiceType, DataType, MapType, StructType

__all__ = ["schema_tree"]


def schema_tree(schema: StructType) -> str:
    """Return the lines of ``schema``, such as ``|-- id: choice`` with its types below, under the line ``root``."""
    return "\n".join(["root", *_parts(schema, "")])


def _parts(kind: DataType, indent: str) -> Iterator[str]:
    if isinstance(kind, StructType):
        for field in kind:
            yield f"{indent}|-- {field.name}: {field.dataType.typeName()}"
            yield from _parts(field.dataType, f"{indent}|    ")
    elif isinstance(kind, ArrayType):
        yield f"{indent}|-- element: {kind.elementType.typeName()}"
        yield from _parts(kind.elementType, f"{indent}|    ")
    elif isinstance(kind, MapType):
        yield f"{indent}|-- keyType: string"
        yield f"{indent}|-- valueType: {kind.valueType.typeName()}"
        yield from _parts(kind.valueType, f"{indent}|    ")
    elif isinstance(kind, ChoiceType):
        for each in kind.ordered():
            yield f"{indent}|-- {each.typeName()}"
            yield from _parts(each, f"{indent}|    ")
