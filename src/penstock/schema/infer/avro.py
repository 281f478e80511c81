"""Avro schemas that have room for data: made anew, or by adding to a registered one.

Every rule follows from one wish: a schema derived today can take tomorrow's data under FULL compatibility, which asks that
old and new consumers read old and new records alike.

- A new field, and the items of a new array, may be null; the field's default is null. Nothing is ever required.
- A registered schema is only added to: fields to its records, and nothing else. No type is widened, no branch added to a
  union, nothing removed, because an old consumer could not follow.
- What has no type yet (null, ``[]``, ``{}``) makes no field until a value says what it is.
- A record within a record is named after both: ``Sensor_position``. Fields are in alphabetical order, later ones behind.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.schema.avro.model import (
    ArrayType,
    AvroField,
    AvroSchema,
    AvroType,
    MapType,
    NamedType,
    PrimitiveType,
    RecordType,
    Reference,
    UnionType,
    by_reference,
    unqualified,
)
from penstock.schema.avro.parse import parse_avro
from penstock.schema.format import MAX_DEFINITION_CHARS
from penstock.schema.infer.avro_text import written
from penstock.schema.infer.avro_types import contradiction, described, holds, simple, takes
from penstock.schema.infer.errors import CannotDerive, TooManyFields, TypeConflict, UnknownKind
from penstock.schema.infer.rules import InferenceRules
from penstock.schema.infer.shape import NOTHING, Shape, kinds, merge

__all__ = ["derive_avro", "extend_avro", "record_name", "room_in_avro", "turned_avro", "unite_avro"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NULL = PrimitiveType(name="null")
_BY_HAND = "Correct the data, or register a version that has both as the mode allows; derived schemas then add to that one."
_RULES = InferenceRules()


def derive_avro(shape: Shape, name: str, rules: InferenceRules = _RULES) -> str:
    """The definition of a record ``name`` for records of ``shape``; the same text for the same data in whatever order.

    Raises :class:`~penstock.schema.infer.errors.TypeConflict` where the data contradict each other, and the other errors of
    :class:`~penstock.schema.infer.errors.CannotDerive`.
    """
    _need_records(shape)
    draft = _Draft(names={name: RecordType(name=name, fields=())}, root=Reference(name=name), rules=rules)
    draft.cover(draft.root, shape, "")
    return draft.text()


def extend_avro(definition: str, shape: Shape, rules: InferenceRules = _RULES, *, converted: bool = False) -> str | None:
    """``definition`` with the fields that records of ``shape`` have and it has not; None where it has them all.

    ``converted``: values are converted to the types that the definition has, so that those are not held against the data.
    Raises :class:`~penstock.schema.infer.errors.TypeConflict` where the data are of other types than the definition, the
    other errors of :class:`~penstock.schema.infer.errors.CannotDerive`, and :class:`~penstock.schema.errors.InvalidSchema`
    for a definition that is none.
    """
    _need_records(shape)
    draft = _Draft.of(definition, rules)
    draft.lenient = converted
    draft.cover(draft.root, shape, "")
    return draft.text() if draft.added else None


def room_in_avro(definition: str) -> Callable[[Shape], bool]:
    """Whether ``definition`` has room for records of a shape, as :func:`extend_avro` would say it, parsed once for many.

    The function that is returned raises :class:`~penstock.schema.infer.errors.TypeConflict` as that one does.
    """
    draft = _Draft.of(definition, _RULES)

    def has_room(shape: Shape) -> bool:
        _need_records(shape)
        trial = replace(draft, names=dict(draft.names))
        trial.cover(trial.root, shape, "")
        return not trial.added

    return has_room


def unite_avro(base: str, others: Sequence[str]) -> str | None:
    """``base`` with the fields that any of ``others`` has, by the names of their records: what producers added at once.

    None where ``base`` has them all. New fields come in alphabetical order, so that everybody who unites the same makes the
    same text. Raises :class:`~penstock.schema.infer.errors.TypeConflict` where a field has two types.
    """
    draft = _Draft.of(base, _RULES)
    for other in others:
        draft.unite(_Draft.of(other, _RULES))
    draft.sort_added()
    return draft.text() if draft.added else None


def turned_avro(definition: str, places: int) -> str:
    """The same schema with the fields of its outermost record turned by ``places``.

    Another text for what was registered before: a registry takes each text once, and it cannot become the latest again.
    """
    draft = _Draft.of(definition, _RULES)
    for branch in draft._branches(draft.root):
        if isinstance(branch, RecordType):
            first = places % max(1, len(branch.fields))
            draft.names[branch.name] = replace(branch, fields=(*branch.fields[first:], *branch.fields[:first]))
    return draft.text()


def record_name(schema: str) -> str:
    """The name of a schema as an Avro name: ``iot.sensor-1`` is ``iot_sensor_1``."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", schema) or "record"
    return name if _NAME.match(name) else f"_{name}"


def _need_records(shape: Shape) -> None:
    others = [kind for kind in kinds(shape) if kind != "record"] + (["null"] if shape.null else [])
    if others:
        raise TypeConflict(
            f"the data are {' and '.join(others)}, and a schema is derived from records.", path="", remedy="Send mappings."
        )


@dataclass(slots=True)
class _Draft:
    """A schema in the making: ``names`` hold the named types, which everything else refers to by name."""

    names: dict[str, NamedType]
    root: AvroType
    rules: InferenceRules
    added: dict[str, int] | None = None
    """How many fields each record has got, by its name."""
    lenient: bool = False
    """Whether values of other types than a field has are passed over."""

    @classmethod
    def of(cls, definition: str, rules: InferenceRules) -> "_Draft":
        """The draft that is ``definition`` so far."""
        schema = by_reference(parse_avro(definition))
        return cls(names=dict(schema.names), root=schema.root, rules=rules)

    def text(self) -> str:
        """The definition as compact JSON, keys in the order in which people write them."""
        text = written(AvroSchema(root=self.root, names=self.names))
        if len(text) > MAX_DEFINITION_CHARS:
            raise TooManyFields(
                f"the derived definition has {len(text)} characters; the limit is {MAX_DEFINITION_CHARS}.",
                path="",
                remedy="Keep rarely used fields in a map, or in a schema of their own.",
            )
        return text

    def cover(self, kind: AvroType, shape: Shape, path: str) -> None:
        """Add to the records in ``kind`` until it has room for ``shape``; raise :class:`TypeConflict` where it cannot."""
        branches = self._branches(kind)
        if shape.null and not any(_is(branch, "null") for branch in branches):
            self._refuse(path, "null", kind)
        for scalar in sorted(shape.scalars):
            if not any(takes(branch, scalar) for branch in branches):
                words = kinds(Shape(scalars=frozenset({scalar})))[0]
                is_double = scalar == "wide" and any(takes(branch, "double") for branch in branches)
                self._refuse(path, f"a {words} that a double does not hold exactly" if is_double else words, kind)
        if shape.decimal is not None and not any(holds(branch, shape.decimal) for branch in branches):
            self._refuse(path, kinds(Shape(decimal=shape.decimal))[0], kind)
        if shape.items is not None:
            arrays = [branch for branch in branches if isinstance(branch, ArrayType)]
            if arrays:
                self.cover(arrays[0].items, shape.items, f"{path}/items")
            else:
                self._refuse(path, "array", kind)
        if shape.members is not None:
            self._cover_object(kind, branches, shape.members, path)

    def _cover_object(self, kind: AvroType, branches: Sequence[AvroType], members: Mapping[str, Shape], path: str) -> None:
        records = [branch for branch in branches if isinstance(branch, RecordType)]
        maps = [branch for branch in branches if isinstance(branch, MapType)]
        if len(records) == 1:
            self._cover_record(records[0].name, members, path)
        elif maps and not records:
            values = NOTHING
            for member in members.values():
                values = merge(values, member)
            self.cover(maps[0].values, values, f"{path}/values")
        elif records:
            self._choose(kind, records, members, path)
        else:
            self._refuse(path, "record", kind)

    def _choose(self, kind: AvroType, records: Sequence[RecordType], members: Mapping[str, Shape], path: str) -> None:
        """Of several records in a union one has to hold the data as it is: which one to add to cannot be told."""
        for record in records:
            trial = replace(self, names=dict(self.names), added=None)
            try:
                trial._cover_record(record.name, members, path)
            except CannotDerive:
                continue
            if not trial.added:
                return
        self._refuse(path, "a record that none of them holds", kind)

    def _cover_record(self, name: str, members: Mapping[str, Shape], path: str) -> None:
        record = self._record(name)
        known = {item.name: item for item in record.fields}
        for key in sorted(members):
            where = f"{path}/{key}"
            if key in known:
                self.cover(known[key].type, members[key], where)
            elif members[key].has_type:
                self._add(name, key, self._type(members[key], where, name, _checked(key, path)))

    def _add(self, name: str, key: str, kind: AvroType) -> None:
        record = self._record(name)
        new = AvroField(name=key, type=UnionType(branches=(_NULL, kind)), has_default=True, default=None)
        self._put(name, (*record.fields, new))

    def _put(self, name: str, fields: tuple[AvroField, ...]) -> None:
        record = self._record(name)
        self.added = self.added or {}
        self.added[name] = self.added.get(name, 0) + len(fields) - len(record.fields)
        self.names[name] = replace(record, fields=fields)
        counts = {known: len(kind.fields) for known, kind in self.names.items() if isinstance(kind, RecordType)}
        if sum(counts.values()) > self.rules.max_fields:
            largest = max(counts, key=lambda known: counts[known])
            raise TooManyFields(
                f"the schema would have more than {self.rules.max_fields} fields, {counts[largest]} of them in record "
                f"{largest}.",
                path="",
                remedy="Where keys are data, register a schema that has a map there: derived schemas add to it.",
            )

    def _type(self, shape: Shape, path: str, parent: str, key: str) -> AvroType:
        """The type of a new field, or of a new array's items."""
        found = kinds(shape)
        scalar = simple(shape, self.rules) if shape.members is None and shape.items is None else None
        if scalar is not None:
            return scalar
        if len(found) > 1 or shape.scalars or shape.decimal is not None:
            raise TypeConflict(contradiction(shape, found), path=path, remedy=_BY_HAND)
        if shape.items is not None:
            items = self._type(shape.items, f"{path}/items", parent, key)
            return ArrayType(items=UnionType(branches=(_NULL, items)))
        name = self._free(f"{parent}_{key}")
        self.names[name] = RecordType(name=name, fields=())
        self._cover_record(name, shape.members or {}, path)
        return Reference(name=name)

    def _free(self, name: str) -> str:
        number, free = 1, name
        while free in self.names:
            number += 1
            free = f"{name}_{number}"
        return free

    def _record(self, name: str) -> RecordType:
        kind = self.names[name]
        assert isinstance(kind, RecordType)
        return kind

    def _branches(self, kind: AvroType) -> list[AvroType]:
        found = kind.branches if isinstance(kind, UnionType) else (kind,)
        return [self.names[branch.name] if isinstance(branch, Reference) else branch for branch in found]

    def _refuse(self, path: str, found: str, kind: AvroType) -> None:
        if self.lenient:
            return
        known = self.names[kind.name] if isinstance(kind, Reference) else kind
        raise TypeConflict(
            f"the data has {found}, and the registered schema has {described(known)}.",
            path=path,
            remedy="A type that is registered stays, or its readers fail. Correct the data, or use a new field"
            + ("; whole_numbers='double' leaves room for fractions in fields to come." if found == "double" else "."),
        )

    def unite(self, other: "_Draft") -> None:
        """Add what ``other`` has and this has not; both of records by the same names."""
        for name, kind in other.names.items():
            ours = self.names.get(name)
            if ours is None:
                self.names[name] = kind
                self.added = {**(self.added or {}), name: len(kind.fields) if isinstance(kind, RecordType) else 0}
                continue
            if not (isinstance(ours, RecordType) and isinstance(kind, RecordType)):
                continue
            known = {item.name: item for item in ours.fields}
            for item in kind.fields:
                if item.name in known and known[item.name].type != item.type:
                    raise TypeConflict(
                        f"one producer's schema has {described(known[item.name].type)}, another's {described(item.type)}.",
                        path=f"/{unqualified(name)}/{item.name}",
                        remedy=_BY_HAND,
                    )
            missing = tuple(item for item in kind.fields if item.name not in known)
            if missing:
                self._put(name, (*ours.fields, *missing))

    def sort_added(self) -> None:
        """Put what was added behind what was there, in alphabetical order."""
        for name, count in (self.added or {}).items():
            record = self.names[name]
            if not isinstance(record, RecordType):
                continue
            first = len(record.fields) - count
            new = sorted(record.fields[first:], key=lambda item: item.name)
            self.names[name] = replace(record, fields=(*record.fields[:first], *new))


def _is(kind: AvroType, name: str) -> bool:
    return isinstance(kind, PrimitiveType) and kind.name == name


def _checked(key: str, path: str) -> str:
    if _NAME.fullmatch(key) is None:
        raise UnknownKind(
            f"the key '{key[:80]}' cannot name a field of Avro.",
            path=path,
            remedy="Names are letters, digits and _, no digit first. Rename it, or register a schema that has a map here.",
        )
    return key
