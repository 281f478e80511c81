"""Finds tables of types and texts of types in source code, wherever they stand."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Stray", "strays"]

_WORDS = (
    "any array bigint binary bit blob bool boolean byte bytea bytes char character date date32 date64 datetime "
    "decimal double doubleprecision fixed fixed32 fixed64 float float32 float4 float64 float8 halffloat hugeint "
    "int int16 int2 int32 int4 int64 int8 integer interval intervaldaytosecond json jsonb list long map null "
    "number numeric object real record row sfixed32 sfixed64 short sint32 sint64 smallint string struct super "
    "text time time64 timestamp timestampltz timestampnano timestampntz timestamptz timestampwithlocaltimezone "
    "timestampwithouttimezone timestampwithtimezone tinyint ubigint uint16 uint32 uint64 uint8 uinteger unknown "
    "usmallint utinyint uuid varbinary varbyte varchar variant void "
)
TYPE_NAMES = frozenset(_WORDS.split())
"""Names of types in any of the systems, without spaces, underscores and the ending ``Type``."""
_FEWEST = 4
_NESTED = re.compile(r"\b(struct|array|map|row)<[^>]*$", re.IGNORECASE)
_MARKS = re.compile(r"[\s_\"]|\(.*|<.*|\[.*")


@dataclass(frozen=True, slots=True)
class Stray:
    """Code that maps types: ``what`` is ``table`` or ``text``."""

    module: str
    line: int
    what: str


def strays(folder: Path) -> Iterator[Stray]:
    """Yield the tables from types to types, and the texts of nested types made with placeholders, of all modules."""
    for path in sorted(folder.rglob("*.py")):
        module = path.relative_to(folder).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Dict) and _is_table(node):
                yield Stray(module, node.lineno, "table")
            if isinstance(node, ast.JoinedStr) and _is_text(node):
                yield Stray(module, node.lineno, "text")


def _is_table(node: ast.Dict) -> bool:
    pairs = zip(node.keys, node.values, strict=True)
    return sum(_names_type(key) and _names_type(value) for key, value in pairs) >= _FEWEST


def _is_text(node: ast.JoinedStr) -> bool:
    return any(isinstance(part, ast.Constant) and _NESTED.search(str(part.value)) for part in node.values[:-1])


def _names_type(node: ast.expr | None) -> bool:
    while isinstance(node, ast.Call | ast.Tuple) and not _is_scalar(node):
        node = node.func if isinstance(node, ast.Call) else next(iter(node.elts), None)
    match node:
        case ast.Constant(value=str(name)) | ast.Attribute(attr=name):
            return _is_type(name)
        case ast.Name(id=name):
            return _is_type(name) and not (name.startswith("_") and name.islower())  # that is a function, for values
    return node is not None and _is_scalar(node)


def _is_scalar(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Scalar"


def _is_type(text: str) -> bool:
    return _MARKS.sub("", text).lower().removesuffix("type") in TYPE_NAMES
