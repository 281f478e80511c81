"""fastavro's verdict on a definition, and the form in which fastavro takes what Avro's Java takes.

fastavro decides what a schema is. It differs from Avro 1.11's Java, which AWS and Confluent run, where Java accepts more:

- a logical type that is invalid is ignored. Specification, 'Logical Types': "If a logical type is invalid, for example a
  decimal with scale greater than its precision, then implementations should ignore the logical type and use the underlying
  Avro type." fastavro raises;
- ``"namespace": null`` is no namespace given, so that the enclosing one holds; fastavro takes it for the empty one;
- ``{"type": "n.Name"}`` is a use of that type, written as an object; fastavro knows it as text only;
- a whole number is a default of ``{"type": "double"}`` as of ``"double"``, and so is its text; fastavro wants a fraction;
- a bare name that the enclosing namespace does not have is looked up in the empty one. The specification knows no such
  look-up ('Names'), and Avro's Java relies on it: what it writes of a type in the empty namespace is its bare name, wherever
  it is used, so that its clients register such definitions;
- what a record named ``n.R`` encloses is in namespace ``n``; fastavro minds a ``namespace`` alone.

:func:`parse_by_library` rewrites all of them. The keys that fastavro marks its own results with are dropped: a definition
from outside that has them would pass for one that was checked.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from penstock.schema.avro.model import PRIMITIVES

__all__ = ["library_refusal", "parse_by_library"]

_COMPLEX = frozenset({"record", "error", "enum", "fixed", "array", "map"})
_NAMED = frozenset({"record", "error", "enum", "fixed"})
_HOLDERS = {"array": "items", "map": "values"}
_FASTAVROS_OWN = frozenset({"__fastavro_parsed", "__named_schemas"})
_MAX_FIXED = 2**31 - 1
_REFUSALS = (
    SchemaParseException,
    UnknownType,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


def library_refusal(node: Any, known: dict[str, Any]) -> str | None:
    """Why fastavro refuses the definition ``node`` (JSON values of bounded depth), in its words; None where it takes it.

    ``known`` holds named types of earlier definitions in fastavro's form, and gets those of this one.
    """
    try:
        parse_by_library(node, known)
    except UnknownType as error:
        return f"'{str(error.name)[:200]}' is not a type known at this place"
    except _REFUSALS as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return None


def parse_by_library(node: Any, known: dict[str, Any]) -> Any:
    """The schema ``node`` (JSON values of bounded depth) as fastavro parses it; ``node`` is not changed.

    ``known`` holds named types of earlier definitions in fastavro's form, and gets those of this one. Raises what fastavro
    does.
    """
    form = _Form(known)
    changed = form.type(node, "")
    # Names with a dot are taken as they stand, and looked up: a dot alone in front is no name that a definition can have.
    marked = {f".{name}": name for name in form.bare}
    known.update(dict.fromkeys(marked))
    try:
        parsed = fastavro.parse_schema(changed, known)
    finally:
        for mark in marked:
            del known[mark]
    return _unmarked(parsed, marked) if marked else parsed


class _Form:
    """One walk over a definition, which makes what fastavro takes of it; ``bare`` are names it would not look for.

    Looks at types alone, so that defaults and custom properties stay as they are, but for defaults of numbers.
    """

    def __init__(self, known: Mapping[str, Any]) -> None:
        self.names = set(known)
        self.bare: set[str] = set()

    def type(self, node: Any, namespace: str) -> Any:
        if isinstance(node, str):
            return node if node in PRIMITIVES else self._use(node, namespace)
        if isinstance(node, list):
            return [self.type(branch, namespace) for branch in node]
        if not isinstance(node, dict):
            return node
        changed = {key: value for key, value in node.items() if key not in _FASTAVROS_OWN}
        kind = changed.get("type")
        if not isinstance(kind, str):
            return changed
        if kind not in PRIMITIVES and kind not in _COMPLEX:
            return self._use(kind, namespace)
        if kind in _NAMED:
            namespace = self._define(changed, namespace)
        if kind in _HOLDERS and _HOLDERS[kind] in changed:
            changed[_HOLDERS[kind]] = self.type(changed[_HOLDERS[kind]], namespace)
        if isinstance(changed.get("fields"), list):
            changed["fields"] = [self._field(field, namespace) for field in changed["fields"]]
        if changed.get("logicalType") == "decimal" and not _is_decimal(changed):
            del changed["logicalType"]
        return changed

    def _use(self, name: str, namespace: str) -> str:
        if (
            name in PRIMITIVES
            or "." in name
            or not namespace
            or f"{namespace}.{name}" in self.names
            or name not in self.names
        ):
            return name
        self.bare.add(name)
        return f".{name}"

    def _define(self, node: dict[str, Any], namespace: str) -> str:
        """Note the name that ``node`` defines; the namespace of what is inside."""
        name = node.get("name")
        if "namespace" in node and node["namespace"] is None:
            del node["namespace"]
        if not isinstance(name, str):
            return namespace
        if "." in name:
            namespace = node["namespace"] = name.rpartition(".")[0]
            self.names.add(name)
            return namespace
        inside = node.get("namespace", namespace)
        if not isinstance(inside, str):
            return namespace
        self.names.add(f"{inside}.{name}" if inside else name)
        return inside

    def _field(self, node: Any, namespace: str) -> Any:
        if not isinstance(node, dict):
            return node
        changed = dict(node)
        kind = node.get("type")
        if "type" in node:
            changed["type"] = self.type(kind, namespace)
        if isinstance(kind, dict) and kind.get("type") in ("float", "double") and "default" in node:
            changed["default"] = _fraction(node["default"])
        return changed


def _unmarked(parsed: Any, marked: Mapping[str, str]) -> Any:
    """``parsed`` with the names that were marked as they were: in what is parsed no namespace is added to them any more."""
    if isinstance(parsed, str):
        return marked.get(parsed, parsed)
    if isinstance(parsed, list):
        return [_unmarked(branch, marked) for branch in parsed]
    # In place, since fastavro's table of names holds the same objects.
    for key in _HOLDERS.values():
        if key in parsed:
            parsed[key] = _unmarked(parsed[key], marked)
    for field in parsed.get("fields", ()):
        field["type"] = _unmarked(field["type"], marked)
    return parsed


def _fraction(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return value
    try:
        return float(value)
    except (ValueError, OverflowError):
        return value


def _is_decimal(node: Mapping[str, Any]) -> bool:
    """Whether precision and scale are those of a decimal over ``bytes`` or a ``fixed`` that is large enough."""
    precision, scale = node.get("precision"), node.get("scale", 0)
    if not _whole(precision) or not _whole(scale) or not 0 <= scale <= precision or precision == 0:
        return False
    if node.get("type") == "bytes":
        return True
    size = node.get("size")
    if node.get("type") != "fixed" or not _whole(size) or not 0 < size <= _MAX_FIXED:
        return False
    return precision <= math.floor(math.log10(2) * (8 * size - 1))


def _whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
