"""fastavro's verdict on a definition, and the form in which fastavro takes what Avro's Java takes.

fastavro decides what a schema is. It differs from Avro 1.11's Java, which AWS and Confluent run, where Java accepts more:

- a logical type that is invalid is ignored. Specification, 'Logical Types': "If a logical type is invalid, for example a
  decimal with scale greater than its precision, then implementations should ignore the logical type and use the underlying
  Avro type." fastavro raises;
- ``"namespace": null`` is no namespace given, so that the enclosing one holds; fastavro takes it for the empty one;
- ``{"type": "n.Name"}`` is a use of that type, written as an object; fastavro knows it as text only;
- a whole number is a default of ``{"type": "double"}`` as of ``"double"``, and so is its text; fastavro wants a fraction;
- a bare name that the enclosing namespace does not have is looked up in the empty one; fastavro cannot say that at all.

:func:`library_form` rewrites the first four. The keys that fastavro marks its own results with are dropped: a definition
from outside that has them would pass for one that was checked.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

from fastavro.schema import SchemaParseException, UnknownType, parse_schema

from penstock.schema.avro.model import PRIMITIVES

__all__ = ["library_form", "library_refusal"]

_COMPLEX = frozenset({"record", "error", "enum", "fixed", "array", "map"})
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
        parse_schema(library_form(node), known)
    except UnknownType as error:
        return f"'{str(error.name)[:200]}' is not a type known at this place"
    except _REFUSALS as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return None


def library_form(node: Any) -> Any:
    """The schema ``node`` (JSON values of bounded depth) as fastavro takes it; ``node`` is not changed.

    Looks at types alone, so that defaults and custom properties stay as they are, but for defaults of numbers.
    """
    if isinstance(node, list):
        return [library_form(branch) for branch in node]
    if not isinstance(node, dict):
        return node
    kind = node.get("type")
    if isinstance(kind, str) and kind not in PRIMITIVES and kind not in _COMPLEX:
        return kind
    changed = {key: value for key, value in node.items() if key not in _FASTAVROS_OWN}
    if "namespace" in changed and changed["namespace"] is None:
        del changed["namespace"]
    for inner in ("items", "values"):
        if isinstance(changed.get(inner), dict | list):
            changed[inner] = library_form(changed[inner])
    if isinstance(changed.get("fields"), list):
        changed["fields"] = [_field(field) for field in changed["fields"]]
    if changed.get("logicalType") == "decimal" and not _is_decimal(changed):
        del changed["logicalType"]
    return changed


def _field(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    changed = dict(node)
    kind = node.get("type")
    if isinstance(kind, dict | list):
        changed["type"] = library_form(kind)
    if isinstance(kind, dict) and kind.get("type") in ("float", "double") and "default" in node:
        changed["default"] = _fraction(node["default"])
    return changed


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
