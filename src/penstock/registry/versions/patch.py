"""The difference of two JSON values as a JSON Patch (RFC 6902), in time linear in their size.

Array elements are matched by their ``name``, if they are objects that have one, and by their whole value otherwise.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from penstock.schema.diff.align import kept
from penstock.schema.json_text import write_json

__all__ = ["json_patch"]

_Path = tuple[str | int, ...]


def json_patch(old: Any, new: Any) -> list[dict[str, Any]]:
    """Return the operations (``op``, ``path``, ``value``) that turn ``old`` into ``new``, in order."""
    return list(_changes(old, new, ()))


def _changes(old: Any, new: Any, path: _Path) -> Iterator[dict[str, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _of_objects(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _of_arrays(old, new, path)
    elif type(old) is not type(new) or old != new:
        yield _operation("replace", path, new)


def _of_objects(old: Mapping[str, Any], new: Mapping[str, Any], path: _Path) -> Iterator[dict[str, Any]]:
    for name in old:
        if name in new:
            yield from _changes(old[name], new[name], (*path, name))
        else:
            yield _operation("remove", (*path, name))
    for name in new:
        if name not in old:
            yield _operation("add", (*path, name), new[name])


def _of_arrays(old: Sequence[Any], new: Sequence[Any], path: _Path) -> Iterator[dict[str, Any]]:
    """From the end to the start, so that the remaining positions stay those of ``old``."""
    after_old, after_new = len(old), len(new)
    for at_old, at_new in [*reversed(kept(map(_key, old), map(_key, new))), (-1, -1)]:
        gap_old, gap_new = old[at_old + 1 : after_old], new[at_new + 1 : after_new]
        both = min(len(gap_old), len(gap_new))
        for position in range(after_old - 1, at_old + both, -1):
            yield _operation("remove", (*path, position))
        for value in reversed(gap_new[both:]):
            yield _operation("add", (*path, at_old + 1 + both), value)
        for offset in range(both - 1, -1, -1):
            place = (*path, at_old + 1 + offset)
            if _name(gap_old[offset]) is None and _name(gap_new[offset]) is None:
                yield from _changes(gap_old[offset], gap_new[offset], place)
            else:
                yield _operation("replace", place, gap_new[offset])
        if at_old >= 0:
            yield from _changes(old[at_old], new[at_new], (*path, at_old))
        after_old, after_new = at_old, at_new


def _key(value: Any) -> Hashable:
    """Return the key that an element is matched by."""
    name = _name(value)
    return ("name", name) if name is not None else write_json(value)


def _name(value: Any) -> str | None:
    name = value.get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) else None


def _operation(op: str, path: _Path, *value: Any) -> dict[str, Any]:
    text = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
    return {"op": op, "path": text, **({"value": value[0]} if value else {})}
