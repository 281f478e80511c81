"""The reasons why a reader schema cannot read a writer's data, by the Avro specification's 'Schema Resolution'.

Types nest through names as deep as a definition is long, so the walk is a set of generators on an explicit stack: a rule
yields the pairs it depends on and receives their findings. A pair that is met again while it is open counts as readable. If
that guess proves wrong, the walk runs again with that knowledge, so that the result does not depend on the walk's order.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.schema import cpu_budget
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
    unqualified,
)
from penstock.schema.errors import TooComplex
from penstock.schema.incompatibility import Incompatibility
from penstock.schema.rules import AvroRules

__all__ = ["incompatibilities", "same_name", "source_field"]

# From the specification's list of promotions: writer -> readers.
_PROMOTIONS = {
    "int": {"long", "float", "double"},
    "long": {"float", "double"},
    "float": {"double"},
    "string": {"bytes"},
    "bytes": {"string"},
}
_MAX_STEPS = 500_000
_MAX_FINDINGS = 1_000

_Findings = tuple[Incompatibility, ...]
_Pair = tuple[AvroType, AvroType, str]
_Rule = Generator[_Pair, _Findings, list[Incompatibility]]
_Resolved = PrimitiveType | ArrayType | MapType | UnionType | NamedType


def incompatibilities(reader: AvroSchema, writer: AvroSchema, rules: AvroRules) -> list[Incompatibility]:
    """Return why ``reader`` cannot read data of ``writer``; empty if it can.

    The wire format has no names, so ``rules`` may allow different names of the outermost records. Raise
    :class:`~penstock.schema.errors.TooComplex` for pairs that would take too long.
    """
    comparison = _Comparison(reader, writer, rules)
    while True:
        findings = comparison.run()
        if not comparison.guessed_wrong:
            return list(dict.fromkeys(findings))[:_MAX_FINDINGS]


@dataclass(slots=True)
class _Comparison:
    """One comparison of two schemas. Its results for pairs of named types are kept from one run to the next."""

    reader: AvroSchema
    writer: AvroSchema
    rules: AvroRules
    broken: dict[tuple[str, str], _Findings] = field(default_factory=dict)
    sound: set[tuple[str, str]] = field(default_factory=set)
    guessed: set[tuple[str, str]] = field(default_factory=set)
    guessed_wrong: bool = False
    indexes: dict[int, dict[str, list[_Resolved]]] = field(default_factory=dict)
    steps: int = 0

    def run(self) -> _Findings:
        """Compare the two schemas once, on an explicit stack."""
        self.sound.clear()
        self.guessed.clear()
        self.guessed_wrong = False
        open_pairs: set[tuple[str, str]] = set()
        stack: list[tuple[_Rule, tuple[str, str] | None]] = []
        answer: _Findings | None = None
        pending: _Pair | None = (self.reader.root, self.writer.root, "")
        while pending is not None or stack:
            if pending is not None:
                self._count()
                reader, writer = self.reader.resolve(pending[0]), self.writer.resolve(pending[1])
                key = _pair_key(reader, writer)
                earlier = self._earlier(key, open_pairs)
                if earlier is None:
                    if key is not None:
                        open_pairs.add(key)
                    stack.append((self._rule(reader, writer, pending[2], top=not stack), key))
                answer, pending = earlier, None
            else:
                rule, key = stack[-1]
                try:
                    pending = rule.send(answer) if answer is not None else next(rule)
                    answer = None
                except StopIteration as done:
                    stack.pop()
                    answer = tuple(done.value[:_MAX_FINDINGS])
                    self._settle(key, answer, open_pairs)
        return answer or ()

    def _count(self) -> None:
        self.steps += 1
        if not self.steps % 100:
            cpu_budget.check()
        if self.steps > _MAX_STEPS:
            raise TooComplex(
                f"The two schemas are too large to compare: more than {_MAX_STEPS} pairs of types.",
                remedy="Split the schema, or make its unions shorter.",
            )

    def _earlier(self, key: tuple[str, str] | None, open_pairs: set[tuple[str, str]]) -> _Findings | None:
        if key is None:
            return None
        if key in self.broken:
            return self.broken[key]
        if key in open_pairs:
            self.guessed.add(key)
            return ()
        return () if key in self.sound else None

    def _settle(self, key: tuple[str, str] | None, findings: _Findings, open_pairs: set[tuple[str, str]]) -> None:
        if key is None:
            return
        open_pairs.discard(key)
        if findings:
            self.broken[key] = findings
            self.guessed_wrong |= key in self.guessed
        else:
            self.sound.add(key)

    def _rule(self, reader: _Resolved, writer: _Resolved, path: str, *, top: bool) -> _Rule:  # noqa: PLR0911
        match reader, writer:
            case _, UnionType():
                return self._every_branch(reader, writer, path)
            case UnionType(), _:
                return self._some_branch(reader, writer, path)
            case RecordType(), RecordType():
                return self._records(reader, writer, path, top=top)
            case EnumType(), EnumType():
                return _leaf(_enums(reader, writer, path))
            case FixedType(), FixedType():
                return _leaf(_fixed(reader, writer, path))
            case ArrayType(), ArrayType():
                return self._inner(reader.items, writer.items, f"{path}/items")
            case MapType(), MapType():
                return self._inner(reader.values, writer.values, f"{path}/values")
            case PrimitiveType(), PrimitiveType() if _promotes(writer.name, reader.name):
                return _leaf(_decimals(reader, writer, path))
            case _:
                return _leaf([_type_mismatch(reader, writer, path)])

    def _inner(self, reader: AvroType, writer: AvroType, path: str) -> _Rule:
        return list((yield reader, writer, path))

    def _every_branch(self, reader: _Resolved, writer: UnionType, path: str) -> _Rule:
        findings: list[Incompatibility] = []
        for branch in writer.branches:
            branch_type = self.writer.resolve(branch)
            if not isinstance(reader, UnionType) and not _comparable(reader, branch_type):
                findings.append(_type_mismatch(reader, branch_type, path))
            else:
                findings.extend((yield reader, branch, path))
        return findings

    def _some_branch(self, reader: UnionType, writer: _Resolved, path: str) -> _Rule:
        nearest: _Findings = ()
        for branch in self._candidates(reader, writer):
            findings = yield branch, writer, path
            if not findings:
                return []
            nearest = nearest or findings
        return list(nearest) or [_missing_branch(reader, writer, path)]

    def _candidates(self, union: UnionType, writer: _Resolved) -> list[_Resolved]:
        """Return the reader's branches that match ``writer`` superficially, found by an index because unions can be wide."""
        index = self.indexes.get(id(union))
        if index is None:
            index = self.indexes[id(union)] = {}
            for branch in map(self.reader.resolve, union.branches):
                for key in _surface_keys(branch):
                    index.setdefault(key, []).append(branch)
        near = index.get(_surface_keys(writer)[0], ())
        aliased = index.get(f"alias {writer.name}", ()) if isinstance(writer, NamedType) else ()
        return [branch for branch in (*near, *aliased) if _comparable(branch, writer)]

    def _records(self, reader: RecordType, writer: RecordType, path: str, *, top: bool) -> _Rule:
        findings: list[Incompatibility] = []
        if (self.rules.top_level_names or not top) and not same_name(reader, writer):
            findings.append(_name_mismatch(reader, writer, path))
        written = {expected.name: expected for expected in writer.fields}
        for expected in reader.fields:
            source = source_field(expected, written)
            if source is not None and _reads_itself(expected.type, source.type):
                continue
            if source is not None:
                findings.extend((yield expected.type, source.type, f"{path}/{expected.name}"))
            elif not expected.has_default:
                findings.append(_missing_default(reader, writer, expected, path))
        return findings


def _reads_itself(reader: AvroType, writer: AvroType) -> bool:
    """Return whether two types are equal and have no names: true for most fields of most versions, without a walk."""
    if isinstance(reader, UnionType):
        return reader == writer and all(isinstance(branch, PrimitiveType) for branch in reader.branches)
    return isinstance(reader, PrimitiveType) and reader == writer


def _leaf(findings: list[Incompatibility]) -> _Rule:
    yield from ()  # makes this a generator, as every rule must be
    return findings


def _pair_key(reader: _Resolved, writer: _Resolved) -> tuple[str, str] | None:
    if isinstance(reader, RecordType) and isinstance(writer, RecordType):
        return reader.name, writer.name
    return None


def source_field(field: AvroField, written: dict[str, AvroField]) -> AvroField | None:
    """Return the writer's field for a reader's field: the one with its name, else the first with one of its aliases."""
    for name in (field.name, *field.aliases):
        if name in written:
            return written[name]
    return None


def same_name(reader: NamedType, writer: NamedType) -> bool:
    """Return whether the names match: without their namespaces, or the writer's full name as an alias of the reader's."""
    return unqualified(reader.name) == unqualified(writer.name) or writer.name in reader.aliases


def _promotes(writer: str, reader: str) -> bool:
    return writer == reader or reader in _PROMOTIONS.get(writer, ())


def _comparable(reader: _Resolved, writer: _Resolved) -> bool:
    """Return whether two types match superficially, which selects a union's branch."""
    match reader, writer:
        case (PrimitiveType(), PrimitiveType()):
            return _promotes(writer.name, reader.name)
        case (RecordType() | EnumType() | FixedType(), RecordType() | EnumType() | FixedType()):
            return type(reader) is type(writer) and same_name(reader, writer)
        case _:
            return type(reader) is type(writer)


def _surface_keys(avro_type: _Resolved) -> list[str]:
    """Return the keys by which a union's branch is found. A writer's type is looked up by its first key."""
    if isinstance(avro_type, NamedType):
        return [f"named {unqualified(avro_type.name)}", *(f"alias {alias}" for alias in avro_type.aliases)]
    return [type(avro_type).__name__]


def _finding(path: str, rule: str, reader: AvroType, writer: AvroType, message: str) -> Incompatibility:
    return Incompatibility(path=path or "/", rule=rule, reader=describe(reader), writer=describe(writer), message=message)


def _type_mismatch(reader: AvroType, writer: AvroType, path: str) -> Incompatibility:
    expected, written = describe(reader), describe(writer)
    message = f"the reader expects {expected} and the writer wrote {written}, which Avro does not convert. "
    if isinstance(writer, PrimitiveType) and writer.name == "null":
        message += f"Make the reader's type a union of null and {expected}, or keep the writer from writing null."
    else:
        readers = _PROMOTIONS.get(writer.name, ()) if isinstance(writer, PrimitiveType) else ()
        allowed = " or ".join(
            [written, *(name for name in ("long", "float", "double", "string", "bytes") if name in readers)]
        )
        message += f"Such data can be read as {allowed}; for another type, add a field under a new name with a default."
    return _finding(path, "TYPE_MISMATCH", reader, writer, message)


def _missing_branch(reader: UnionType, writer: AvroType, path: str) -> Incompatibility:
    written = describe(writer)
    return _finding(
        path,
        "MISSING_UNION_BRANCH",
        reader,
        writer,
        f"the writer can write {written} and the reader's union has no branch for it. Add {written} to the union.",
    )


def _missing_default(reader: RecordType, writer: RecordType, field: AvroField, path: str) -> Incompatibility:
    described = describe(field.type)
    return Incompatibility(
        path=f"{path}/{field.name}",
        rule="READER_FIELD_MISSING_DEFAULT_VALUE",
        reader=f"field {field.name} of {describe(reader)}: {described}, no default",
        writer=f"{describe(writer)} without {field.name}",
        message=(
            f"the reader needs field '{field.name}' ({described}), which the writer does not write, and it has no default. "
            f"Give it a default (an optional field is a union whose first branch is null, with default null)"
            f", or name the writer's field among its aliases."
        ),
    )


def _name_mismatch(reader: NamedType, writer: NamedType, path: str) -> Incompatibility:
    return _finding(
        path,
        "NAME_MISMATCH",
        reader,
        writer,
        f"the types are named {reader.name} and {writer.name}. "
        f"Keep the name, or add '{writer.name}' to the aliases of {reader.name}.",
    )


def _enums(reader: EnumType, writer: EnumType, path: str) -> list[Incompatibility]:
    if not same_name(reader, writer):
        return [_name_mismatch(reader, writer, path)]
    symbols = frozenset(reader.symbols)
    missing = [symbol for symbol in writer.symbols if symbol not in symbols]
    if not missing or reader.default is not None:
        return []
    shown = ", ".join(missing[:20]) + (", ..." if len(missing) > 20 else "")
    message = f"the reader does not know the symbols {shown}. Add them, or give the reader's enum a default symbol."
    return [_finding(path, "MISSING_ENUM_SYMBOLS", reader, writer, message)]


def _fixed(reader: FixedType, writer: FixedType, path: str) -> list[Incompatibility]:
    if not same_name(reader, writer):
        return [_name_mismatch(reader, writer, path)]
    if reader.size != writer.size:
        message = f"the reader expects {reader.size} bytes and the writer wrote {writer.size}. Keep the size, or use bytes."
        return [_finding(path, "FIXED_SIZE_MISMATCH", reader, writer, message)]
    return _decimals(reader, writer, path)


def _decimals(reader: PrimitiveType | FixedType, writer: PrimitiveType | FixedType, path: str) -> list[Incompatibility]:
    """Return a finding unless the scale is the same, else every value changes, and the precision at least the writer's."""
    if not (_is_decimal(reader.props) and _is_decimal(writer.props)):
        return []
    ours, theirs = _decimal(reader.props), _decimal(writer.props)
    if ours[1] == theirs[1] and ours[0] >= theirs[0]:
        return []
    message = (
        f"the reader expects decimal({ours[0]},{ours[1]}) and the writer wrote decimal({theirs[0]},{theirs[1]}). "
        "Keep the scale, and a precision that is not below the writer's."
    )
    return [_finding(path, "TYPE_MISMATCH", reader, writer, message)]


def _is_decimal(props: Any) -> bool:
    return props.get("logicalType") == "decimal" and all(isinstance(part, int) for part in _decimal(props))


def _decimal(props: Any) -> Sequence[Any]:
    return props.get("precision"), props.get("scale", 0)
