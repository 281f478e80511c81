"""Types of attributes in DynamoDB, by their codes.

Source: DynamoDB API Reference, "AttributeValue".
"""

from collections.abc import Mapping

from penstock.types.model import INTEGERS, STRING, VOID, Array, LakeType, Map, Scalar, Struct, scalar_of

__all__ = ["CODES", "code_of"]

_BINARY = Scalar("binary")

CODES: Mapping[str, LakeType] = {
    "S": STRING,
    "B": _BINARY,
    "BOOL": Scalar("boolean"),
    "NULL": VOID,
    "SS": Array(STRING),
    "BS": Array(_BINARY),
}
"""The types of codes that have one whatever the value is; N and NS are numbers of any size, L and M have parts."""

_OF_SCALARS: Mapping[str, str] = {
    **{type_.name: code for code, type_ in CODES.items() if isinstance(type_, Scalar)},
    **dict.fromkeys((*INTEGERS, "decimal", "float", "double"), "N"),
    **dict.fromkeys(("varchar", "char", "uuid", "date", "timestamp", "timestamptz", "timestamp_ntz"), "S"),
}


def code_of(type_: LakeType) -> str:
    """Return the code of a column's attributes. Raises :class:`TypeMissing` for what DynamoDB has nothing for."""
    match type_:
        case Array():
            return "L"
        case Map() | Struct():
            return "M"
        case _:
            code: str = scalar_of(_OF_SCALARS, type_, "DynamoDB")
            return code
