"""Invalid logical types are ignored: the specification's rule, applied for a library that refuses them instead.

Source: Avro specification, 'Logical Types': "If a logical type is invalid, for example a decimal with scale greater than its
precision, then implementations should ignore the logical type and use the underlying Avro type." Java does; fastavro raises.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

__all__ = ["without_invalid_logical_types"]


def without_invalid_logical_types(node: Any) -> Any:
    """The schema ``node``, as JSON values, without the ``logicalType`` of decimals that are none.

    Looks at types alone, so that defaults and custom properties stay as they are; ``node`` is not changed.
    Expects a tree whose depth is bounded.
    """
    if isinstance(node, list):
        return [without_invalid_logical_types(branch) for branch in node]
    if not isinstance(node, dict):
        return node
    changed = dict(node)
    for inner in ("type", "items", "values"):
        if isinstance(changed.get(inner), dict | list):
            changed[inner] = without_invalid_logical_types(changed[inner])
    if isinstance(changed.get("fields"), list):
        changed["fields"] = [without_invalid_logical_types(field) for field in changed["fields"]]
    if changed.get("logicalType") == "decimal" and not _is_decimal(changed):
        del changed["logicalType"]
    return changed


def _is_decimal(node: Mapping[str, Any]) -> bool:
    """Whether precision and scale are those of a decimal over ``bytes`` or a ``fixed`` that is large enough."""
    precision, scale = node.get("precision"), node.get("scale", 0)
    if not _whole(precision) or not _whole(scale) or not 0 <= scale <= precision or precision == 0:
        return False
    if node.get("type") == "bytes":
        return True
    size = node.get("size")
    return node.get("type") == "fixed" and _whole(size) and precision <= math.floor(math.log10(2) * (8 * size - 1))


def _whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
