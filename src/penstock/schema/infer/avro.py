"""Avro schemas derived from data: new ones, and extensions of registered ones.

Every rule follows from one goal: a schema derived today can be extended for tomorrow's data under FULL compatibility, so
that old and new consumers read old and new records.

- A new field, and the items of a new array, may be null; the field's default is null. Nothing is ever required.
- A registered schema only gets new fields in its records. No type is widened, no branch is added to a union and nothing is
  removed, because old consumers could not read the result.
- A value without a type (null, ``[]``, ``{}``) makes no field until another value shows the type.
- A record within a record is named after both: ``Sensor_position``. Fields are in alphabetical order, later ones at the end.
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
from penstock.schema.infer.avro_text import definition_text
from penstock.schema.infer.avro_types import contradiction, describe_type, holds, simple, takes
from penstock.schema.infer.errors import CannotDerive, TooManyFields, TypeConflict, UnknownKind
from penstock.schema.infer.rules import InferenceRules
from penstock.schema.infer.shape import NOTHING, Shape, kinds, merge

__all__ = ["derive_avro", "extend_avro", "record_name", "room_in_avro", "rotated_avro", "unite_avro"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NULL = PrimitiveType(name="null")
_BY_HAND = "Correct the data, or register a version for both that the mode allows; derived schemas then extend that one."
_RULES = InferenceRules()


def derive_avro(shape: Shape, name: str, rules: InferenceRules = _RULES) -> str:
    """Return the definition of a record ``name`` for records of ``shape``. The order of the data does not change the text.

    Raise :class:`~penstock.schema.infer.errors.TypeConflict` if the data contradict each other, and the other errors of
    :class:`~penstock.schema.infer.errors.CannotDerive`.
    """
    _need_records(shape)
    draft = _Draft(names={name: RecordType(name=name, fields=())}, root=Reference(name=name), rules=rules)
    draft.cover(draft.root, shape, "")
    return draft.text()


def extend_avro(definition: str, shape: Shape, rules: InferenceRules = _RULES, *, converted: bool = False) -> str | None:
    """Return ``definition`` with the fields of ``shape`` that it lacks, or None if it has them all.

    ``converted`` is true if values are converted to the definition's types, so that types need not match. Raise
    :class:`~penstock.schema.infer.errors.TypeConflict` if the data have other types than the definition, the other errors of
    :class:`~penstock.schema.infer.errors.CannotDerive`, and :class:`~penstock.schema.errors.InvalidSchema` for an invalid
    definition.
    """
    _need_records(shape)
    draft = _Draft.of(definition, rules)
    draft.lenient = converted
    draft.cover(draft.root, shape, "")
    return draft.text() if draft.added else None


def room_in_avro(definition: str) -> Callable[[Shape], bool]:
    """Return a function that tells whether ``definition`` has room for a shape, that is, needs no :func:`extend_avro`.

    The definition is parsed once. The function raises :class:`~penstock.schema.infer.errors.TypeConflict` as
    :func:`extend_avro` does.
    """
    draft = _Draft.of(definition, _RULES)

    def has_room(shape: Shape) -> bool:
        _need_records(shape)
        trial = replace(draft, names=dict(draft.names))
        trial.cover(trial.root, shape, "")
        return not trial.added

    return has_room


def unite_avro(base: str, others: Sequence[str]) -> str | None:
    """Return ``base`` with all fields of ``others``, which producers added concurrently; records are matched by name.

    Return None if ``base`` has them all. New fields come in alphabetical order, so that all producers make the
    same text. Raise :class:`~penstock.schema.infer.errors.TypeConflict` if a field has two types.
    """
    draft = _Draft.of(base, _RULES)
    for other in others:
        draft.unite(_Draft.of(other, _RULES))
    draft.sort_added()
    return draft.text() if draft.added else None


def rotated_avro(definition: str, places: int) -> str:
    """Return the same schema with the fields of its outermost record rotated by ``places``.

    The result is another text for a schema that was registered before: a registry stores each text once, and an old version
    cannot become the latest again.
    """
    draft = _Draft.of(definition, _RULES)
    for branch in draft._branches(draft.root):
        if isinstance(branch, RecordType):
            first = places % max(1, len(branch.fields))
            draft.names[branch.name] = replace(branch, fields=(*branch.fields[first:], *branch.fields[:first]))
    return draft.text()


def record_name(schema: str) -> str:
    """Return the name of a schema as an Avro name: ``iot.sensor-1`` is ``iot_sensor_1``."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", schema) or "record"
    return name if _NAME.match(name) else f"_{name}"


def _need_records(shape: Shape) -> None:
    others = [type_name for type_name in kinds(shape) if type_name != "record"] + (["null"] if shape.null else [])
    if others:
        raise TypeConflict(
            f"the data are {' and '.join(others)}, and schemas are derived from records only.",
            path="",
            remedy="Send mappings of field names to values.",
        )


@dataclass(slots=True)
class _Draft:
    """A schema under construction: ``names`` has the named types, and all other types refer to them by name."""

    names: dict[str, NamedType]
    root: AvroType
    rules: InferenceRules
    added: dict[str, int] | None = None
    """The number of new fields per record, by its name."""
    lenient: bool = False
    """Whether values of other types than their field's are ignored."""

    @classmethod
    def of(cls, definition: str, rules: InferenceRules) -> "_Draft":
        """Return a draft that begins as ``definition``."""
        schema = by_reference(parse_avro(definition))
        return cls(names=dict(schema.names), root=schema.root, rules=rules)

    def text(self) -> str:
        """Return the definition as compact JSON, with keys in the usual order."""
        text = definition_text(AvroSchema(root=self.root, names=self.names))
        if len(text) > MAX_DEFINITION_CHARS:
            raise TooManyFields(
                f"the derived definition has {len(text)} characters; the limit is {MAX_DEFINITION_CHARS}.",
                path="",
                remedy="Keep rarely used fields in a map, or in a schema of their own.",
            )
        return text

    def cover(self, avro_type: AvroType, shape: Shape, path: str) -> None:
        """Add fields to the records in ``avro_type`` until ``shape`` fits. Raise :class:`TypeConflict` if it cannot."""
        branches = self._branches(avro_type)
        if shape.null and not any(_is(branch, "null") for branch in branches):
            self._refuse(path, "null", avro_type)
        for scalar in sorted(shape.scalars):
            if not any(takes(branch, scalar) for branch in branches):
                name = kinds(Shape(scalars=frozenset({scalar})))[0]
                is_double = scalar == "wide" and any(takes(branch, "double") for branch in branches)
                self._refuse(path, f"a {name} that a double does not hold exactly" if is_double else name, avro_type)
        if shape.decimal is not None and not any(holds(branch, shape.decimal) for branch in branches):
            self._refuse(path, kinds(Shape(decimal=shape.decimal))[0], avro_type)
        if shape.items is not None:
            arrays = [branch for branch in branches if isinstance(branch, ArrayType)]
            if arrays:
                self.cover(arrays[0].items, shape.items, f"{path}/items")
            else:
                self._refuse(path, "array", avro_type)
        if shape.members is not None:
            self._cover_object(avro_type, branches, shape.members, path)

    def _cover_object(
        self, avro_type: AvroType, branches: Sequence[AvroType], members: Mapping[str, Shape], path: str
    ) -> None:
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
            self._choose(avro_type, records, members, path)
        else:
            self._refuse(path, "record", avro_type)

    def _choose(self, avro_type: AvroType, records: Sequence[RecordType], members: Mapping[str, Shape], path: str) -> None:
        """Require that one of several records in a union has room already: nothing tells which one to extend."""
        for record in records:
            trial = replace(self, names=dict(self.names), added=None)
            try:
                trial._cover_record(record.name, members, path)
            except CannotDerive:
                continue
            if not trial.added:
                return
        self._refuse(path, "a record that none of these records has room for", avro_type)

    def _cover_record(self, name: str, members: Mapping[str, Shape], path: str) -> None:
        record = self._record(name)
        fields = {field.name: field for field in record.fields}
        for key in sorted(members):
            where = f"{path}/{key}"
            if key in fields:
                self.cover(fields[key].type, members[key], where)
            elif members[key].has_type:
                self._add(name, key, self._type(members[key], where, name, _checked(key, path)))

    def _add(self, name: str, key: str, avro_type: AvroType) -> None:
        record = self._record(name)
        new = AvroField(name=key, type=UnionType(branches=(_NULL, avro_type)), has_default=True, default=None)
        self._put(name, (*record.fields, new))

    def _put(self, name: str, fields: tuple[AvroField, ...]) -> None:
        record = self._record(name)
        self.added = self.added or {}
        self.added[name] = self.added.get(name, 0) + len(fields) - len(record.fields)
        self.names[name] = replace(record, fields=fields)
        counts = {
            record_name: len(avro_type.fields)
            for record_name, avro_type in self.names.items()
            if isinstance(avro_type, RecordType)
        }
        if sum(counts.values()) > self.rules.max_fields:
            largest = max(counts, key=lambda record_name: counts[record_name])
            raise TooManyFields(
                f"the schema would have more than {self.rules.max_fields} fields, {counts[largest]} of them in record "
                f"{largest}.",
                path="",
                remedy="If keys are data, register a schema with a map for them: derived schemas extend it.",
            )

    def _type(self, shape: Shape, path: str, parent: str, key: str) -> AvroType:
        """Return the type of a new field, or of a new array's items."""
        shape_kinds = kinds(shape)
        scalar = simple(shape, self.rules) if shape.members is None and shape.items is None else None
        if scalar is not None:
            return scalar
        if len(shape_kinds) > 1 or shape.scalars or shape.decimal is not None:
            raise TypeConflict(contradiction(shape, shape_kinds), path=path, remedy=_BY_HAND)
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
        record_type = self.names[name]
        assert isinstance(record_type, RecordType)
        return record_type

    def _branches(self, avro_type: AvroType) -> list[AvroType]:
        branches = avro_type.branches if isinstance(avro_type, UnionType) else (avro_type,)
        return [self.names[branch.name] if isinstance(branch, Reference) else branch for branch in branches]

    def _refuse(self, path: str, contents: str, avro_type: AvroType) -> None:
        if self.lenient:
            return
        registered = self.names[avro_type.name] if isinstance(avro_type, Reference) else avro_type
        raise TypeConflict(
            f"the data has {contents}, and the registered schema has {describe_type(registered)}.",
            path=path,
            remedy="A registered type cannot change, or its readers fail. Correct the data, or use a new field"
            + ("; whole_numbers='double' leaves room for fractions in new fields." if contents == "double" else "."),
        )

    def unite(self, other: "_Draft") -> None:
        """Add the fields and types of ``other`` that this draft lacks, matched by name."""
        for name, theirs in other.names.items():
            ours = self.names.get(name)
            if ours is None:
                self.names[name] = theirs
                self.added = {**(self.added or {}), name: len(theirs.fields) if isinstance(theirs, RecordType) else 0}
                continue
            if not (isinstance(ours, RecordType) and isinstance(theirs, RecordType)):
                continue
            fields = {field.name: field for field in ours.fields}
            for field in theirs.fields:
                if field.name in fields and fields[field.name].type != field.type:
                    raise TypeConflict(
                        f"one producer's schema has {describe_type(fields[field.name].type)}, "
                        f"another's {describe_type(field.type)}.",
                        path=f"/{unqualified(name)}/{field.name}",
                        remedy=_BY_HAND,
                    )
            missing = tuple(field for field in theirs.fields if field.name not in fields)
            if missing:
                self._put(name, (*ours.fields, *missing))

    def sort_added(self) -> None:
        """Sort the added fields alphabetically, after the existing ones."""
        for name, count in (self.added or {}).items():
            record = self.names[name]
            if not isinstance(record, RecordType):
                continue
            first = len(record.fields) - count
            new = sorted(record.fields[first:], key=lambda item: item.name)
            self.names[name] = replace(record, fields=(*record.fields[:first], *new))


def _is(avro_type: AvroType, name: str) -> bool:
    return isinstance(avro_type, PrimitiveType) and avro_type.name == name


def _checked(key: str, path: str) -> str:
    if _NAME.fullmatch(key) is None:
        raise UnknownKind(
            f"the key '{key[:80]}' is not a valid name of an Avro field.",
            path=path,
            remedy="Names are letters, digits and _, no digit first. Rename it, or register a schema with a map here.",
        )
    return key
