"""The changes between two Avro schemas: a walk over both at once, with fields and branches paired by name.

The walk keeps a list of pending pairs instead of recursing, since types nest through names as deep as a definition is long.
A pair of records is compared at its first use. Its other uses are recorded, because a broken rule may name their paths.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.schema.avro.model import (
    ArrayType,
    AvroField,
    AvroSchema,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    NamedType,
    PrimitiveType,
    RecordType,
    UnionType,
    describe,
)
from penstock.schema.diff.model import Change, Changes

__all__ = ["avro_changes"]

_MEANINGFUL = frozenset({"logicalType", "precision", "scale"})  # properties that change how readers read
_Resolved = PrimitiveType | ArrayType | MapType | UnionType | NamedType


def avro_changes(old: AvroSchema, new: AvroSchema) -> Changes:
    """Return the changes from ``old`` to ``new`` in the order of their fields."""
    return _Walk(old, new).run()


class _Walk:
    def __init__(self, old: AvroSchema, new: AvroSchema) -> None:
        self._old, self._new = old, new
        self._changes: list[Change] = []
        self._first: dict[tuple[str, str], str] = {}
        self._same: dict[str, str] = {}
        # Changes are queued among the pairs, so that they come in the order of the fields.
        self._todo: list[tuple[AvroType, AvroType, str] | Change] = [(old.root, new.root, "")]

    def run(self) -> Changes:
        while self._todo:
            entry = self._todo.pop()
            if isinstance(entry, Change):
                self._changes.append(entry)
                continue
            old, new, path = entry
            waiting, self._todo = self._todo, []
            self._pair(self._old.resolve(old), self._new.resolve(new), path)
            self._todo = waiting + self._todo[::-1]
        return Changes(changes=self._changes, same=self._same)

    def _pair(self, old: _Resolved, new: _Resolved, path: str) -> None:
        match old, new:
            case UnionType(), UnionType():
                self._branches(self._keyed(old, self._old), self._keyed(new, self._new), path)
            case (UnionType(), _) | (_, UnionType()):
                self._note(path, "type", describe(old), describe(new))
                ours, theirs = self._keyed(old, self._old), self._keyed(new, self._new)
                self._todo.extend((ours[key], theirs[key], path) for key in ours if key in theirs)
            case RecordType() | EnumType() | FixedType(), RecordType() | EnumType() | FixedType() if type(old) is type(new):
                self._named_types(old, new, path)
            case ArrayType(), ArrayType():
                self._props(old.props, new.props, path)
                self._todo.append((old.items, new.items, f"{path}/items"))
            case MapType(), MapType():
                self._props(old.props, new.props, path)
                self._todo.append((old.values, new.values, f"{path}/values"))
            case PrimitiveType(), PrimitiveType() if old.name == new.name:
                self._props(old.props, new.props, path)
            case _:
                self._note(path, "type", describe(old), describe(new))

    def _keyed(self, avro_type: _Resolved, schema: AvroSchema) -> dict[str, _Resolved]:
        """Return the branches of a union, or the one type, by the key that distinguishes branches."""
        branches = map(schema.resolve, avro_type.branches) if isinstance(avro_type, UnionType) else (avro_type,)
        return {_key(branch): branch for branch in branches}

    def _branches(self, old: Mapping[str, _Resolved], new: Mapping[str, _Resolved], path: str) -> None:
        for key, branch in old.items():
            if key in new:
                self._todo.append((branch, new[key], path))
            else:
                self._note(path, "branch", describe(branch), None)
        for key, branch in new.items():
            if key not in old:
                self._note(path, "branch", None, describe(branch))
        self._order(path, "order of branches", list(old), list(new))

    def _named_types(self, old: NamedType, new: NamedType, path: str) -> None:
        first = self._first.setdefault((old.name, new.name), path)
        if first != path:
            self._same[path or "/"] = first or "/"
            return
        if old.name != new.name:
            self._note(path, "name", old.name, new.name)
        self._maybe(path, "aliases", _joined(old.aliases), _joined(new.aliases))
        self._maybe(path, "doc", old.doc, new.doc, inert=True)
        self._props(old.props, new.props, path)
        match old, new:
            case RecordType(), RecordType():
                self._maybe(path, "kind", old.kind, new.kind, inert=True)
                self._fields(old.fields, new.fields, path)
            case EnumType(), EnumType():
                self._symbols(old, new, path)
            case FixedType(), FixedType():
                self._maybe(path, "size", f"{old.size} bytes", f"{new.size} bytes")

    def _fields(self, old: Sequence[AvroField], new: Sequence[AvroField], path: str) -> None:
        before, after = ({field.name: field for field in side} for side in (old, new))
        for name, field in before.items():
            where = f"{path}/{name}"
            if name in after:
                self._field(field, after[name], where)
            else:
                self._note(where, "field", _text(field), None)
        for name, field in after.items():
            if name not in before:
                self._note(f"{path}/{name}", "field", None, _text(field))
        self._order(path, "order of fields", list(before), list(after))

    def _field(self, old: AvroField, new: AvroField, path: str) -> None:
        self._maybe(path, "default", _default(old), _default(new), inert=True)
        self._maybe(path, "aliases", _joined(old.aliases), _joined(new.aliases))
        self._maybe(path, "doc", old.doc, new.doc, inert=True)
        self._maybe(path, "order", old.order, new.order, inert=True)
        self._props(old.props, new.props, path)
        self._todo.append((old.type, new.type, path))

    def _symbols(self, old: EnumType, new: EnumType, path: str) -> None:
        before, after = frozenset(old.symbols), frozenset(new.symbols)
        for symbol in old.symbols:
            if symbol not in after:
                self._note(path, "symbol", symbol, None)
        for symbol in new.symbols:
            if symbol not in before:
                self._note(path, "symbol", None, symbol)
        self._order(path, "order of symbols", old.symbols, new.symbols)
        self._maybe(path, "default symbol", old.default, new.default)

    def _props(self, old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> None:
        for name in sorted({**old, **new}):
            ours, theirs = (_json(props[name]) if name in props else None for props in (old, new))
            self._maybe(path, name, ours, theirs, inert=name not in _MEANINGFUL)

    def _order(self, path: str, part: str, old: Sequence[str], new: Sequence[str]) -> None:
        """Report a change of the order of the elements that both sides have, which the binary encoding follows."""
        common = set(old) & set(new)
        if [element for element in new if element in common] != [element for element in old if element in common]:
            self._note(path, part, ", ".join(old), ", ".join(new), inert=True)

    def _maybe(self, path: str, part: str, old: str | None, new: str | None, *, inert: bool = False) -> None:
        if old != new:
            self._note(path, part, old, new, inert=inert)

    def _note(self, path: str, part: str, old: str | None, new: str | None, *, inert: bool = False) -> None:
        self._todo.append(Change(path=path or "/", part=part, old=old, new=new, inert=inert))


def _key(avro_type: _Resolved) -> str:
    match avro_type:
        case PrimitiveType() | RecordType() | EnumType() | FixedType():
            return avro_type.name
        case _:
            return type(avro_type).__name__


def _text(field: AvroField) -> str:
    default = f" = {_json(field.default)}" if field.has_default else ""
    return describe(field.type) + default


def _default(field: AvroField) -> str | None:
    return _json(field.default) if field.has_default else None


def _joined(names: Iterable[str]) -> str | None:
    return ", ".join(names) or None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
