"""The changes between two JSON Schemas: their canonical documents, keyword by keyword."""

import json
from collections.abc import Sequence
from typing import Any

from penstock.schema.diff.model import Change, Changes
from penstock.schema.format import ParsedSchema
from penstock.schema.jsonschema.document import escape
from penstock.schema.jsonschema.drafts import HOLDERS_BY_NAME

__all__ = ["json_changes"]

_ANNOTATIONS = frozenset(
    {
        "$schema",
        "$id",
        "id",
        "$comment",
        "title",
        "description",
        "default",
        "examples",
        "readOnly",
        "writeOnly",
        "deprecated",
    }
)
_SETS = frozenset({"required", "enum"})  # their canonical lists are sorted, and each member is compared by itself
_VALUES = frozenset({"default", "const", "examples"})  # they hold values, not keywords
_MISSING = object()  # for a side without the part: None is JSON's null


def json_changes(old: ParsedSchema, new: ParsedSchema) -> Changes:
    """Return the changes from ``old`` to ``new`` by the JSON pointers of their keywords."""
    walk = _Walk()
    walk.run(json.loads(old.canonical), json.loads(new.canonical))
    return Changes(changes=walk.changes, same=walk.same)


class _Walk:
    """Compares pairs of values; ``names`` is true for a pair whose keys are names of properties or definitions."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.same: dict[str, str] = {}

    def run(self, old: Any, new: Any) -> None:
        todo: list[tuple[Any, Any, str, str, bool]] = [(old, new, "", "schema", False)]
        while todo:
            ours, theirs, path, part, names = todo.pop()
            if part in _VALUES:
                self._compare(path, part, ours, theirs)
            elif isinstance(ours, dict) and isinstance(theirs, dict):
                self._reference(ours, theirs, path)
                todo.extend(reversed(self._members(ours, theirs, path, names)))
            elif isinstance(ours, list) and isinstance(theirs, list) and part in _SETS:
                self._set(ours, theirs, path, part)
            elif isinstance(ours, list) and isinstance(theirs, list) and _schemas(ours) and _schemas(theirs):
                todo.extend(reversed(self._listed(ours, theirs, path, part)))
            else:
                self._compare(path, part, ours, theirs)

    def _members(self, old: dict[str, Any], new: dict[str, Any], path: str, names: bool) -> list[Any]:
        pairs = []
        for key in [*old, *(key for key in new if key not in old)]:
            where, part = f"{path}/{escape(key)}", path.rpartition("/")[2] if names else key
            if key not in new:
                self.changes.append(_change(where, part, old[key]))
            elif key not in old:
                self.changes.append(_change(where, part, new=new[key]))
            else:
                pairs.append((old[key], new[key], where, part, not names and key in HOLDERS_BY_NAME))
        return pairs

    def _listed(self, old: list[Any], new: list[Any], path: str, part: str) -> list[Any]:
        for index in range(len(new), len(old)):
            self.changes.append(_change(f"{path}/{index}", part, old[index]))
        for index in range(len(old), len(new)):
            self.changes.append(_change(f"{path}/{index}", part, new=new[index]))
        return [
            (ours, theirs, f"{path}/{index}", part, False)
            for index, (ours, theirs) in enumerate(zip(old, new, strict=False))
        ]

    def _set(self, old: list[Any], new: list[Any], path: str, part: str) -> None:
        before, after = ({_json(member): member for member in items} for items in (old, new))
        for text, member in before.items():
            if text not in after:
                self.changes.append(_change(_of_set(path, part, member), part, member))
        for text, member in after.items():
            if text not in before:
                self.changes.append(_change(_of_set(path, part, member), part, new=member))

    def _reference(self, old: dict[str, Any], new: dict[str, Any], path: str) -> None:
        """Record where a ``$ref`` leads: rules name the path through it, and its target is compared where it is defined."""
        target = new.get("$ref")
        if target == old.get("$ref") and isinstance(target, str) and target.startswith("#/"):
            self.same[path or "/"] = target[1:]

    def _compare(self, path: str, part: str, old: Any, new: Any) -> None:
        if _json(old) != _json(new):  # by their text, since 1 equals true
            self.changes.append(_change(path, part, old, new))


def _change(path: str, part: str, old: Any = _MISSING, new: Any = _MISSING) -> Change:
    before, after = (None if side is _MISSING else _json(side) for side in (old, new))
    return Change(path=path or "/", part=part, old=before, new=after, inert=part in _ANNOTATIONS)


def _schemas(items: Sequence[Any]) -> bool:
    return all(isinstance(item, dict | bool) for item in items)


def _of_set(path: str, part: str, member: Any) -> str:
    return f"{path}/{escape(member)}" if part == "required" and isinstance(member, str) else path


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
