"""Folds over a schema: one method for each class of type, which receives the results of the types inside.

A conversion of schemas (into fastavro's form, into a function that checks a value, ...) is a subclass of :class:`Fold`. The
walk itself is only here: it follows references, converts each named type once, keeps the results by full name, and ends at
a record inside itself.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, NoReturn, ParamSpec, TypeVar

from penstock.schema.avro.model import (
    ArrayType,
    AvroSchema,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    NamedType,
    PrimitiveType,
    RecordType,
    Reference,
    UnionType,
)

__all__ = ["Fold", "FunctionFold", "types_within"]

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")


class Fold(ABC, Generic[T]):
    """Converts each type of ``schema`` into a ``T``, from the inside out and in the order of the text.

    Types may nest up to ``max_depth`` levels, including those of other texts; :meth:`too_deep` is called for deeper ones.
    """

    max_depth = 300

    def __init__(self, schema: AvroSchema) -> None:
        self.schema = schema
        self._made: dict[str, T] = {}
        self._open: dict[str, None] = {}  # records whose fields are being visited, the innermost last
        self._steps: list[str] = []

    @abstractmethod
    def primitive(self, kind: PrimitiveType) -> T:
        """Convert a primitive type."""

    @abstractmethod
    def enum(self, kind: EnumType) -> T:
        """Convert an enum."""

    @abstractmethod
    def fixed(self, kind: FixedType) -> T:
        """Convert a fixed."""

    @abstractmethod
    def array(self, kind: ArrayType, items: T) -> T:
        """Convert an array of ``items``."""

    @abstractmethod
    def map(self, kind: MapType, values: T) -> T:
        """Convert a map of ``values``."""

    @abstractmethod
    def union(self, kind: UnionType, branches: Sequence[T]) -> T:
        """Convert a union; ``branches`` are in its order."""

    @abstractmethod
    def record(self, kind: RecordType, fields: Sequence[T]) -> T:
        """Convert a record; ``fields`` are the converted types of its fields, in its order."""

    @abstractmethod
    def recursive(self, kind: RecordType) -> T:
        """Convert a use of a record inside itself. :meth:`made` returns the record's result once the fold has ended."""

    def again(self, kind: NamedType, made: T) -> T:  # noqa: ARG002 - subclasses use it
        """Convert a later use of a named type; ``made`` is the result of its first use."""
        return made

    def too_deep(self) -> NoReturn:
        """Refuse a type below ``max_depth``."""
        raise RecursionError(f"{self.path}: types nest more than {self.max_depth} levels.")

    def root(self) -> T:
        """Convert the outermost type."""
        return self.of(self.schema.root)

    def of(self, kind: AvroType) -> T:
        """Convert ``kind``, a type of the schema."""
        match kind:
            case PrimitiveType():
                return self.primitive(kind)
            case UnionType():
                return self.union(kind, self._inside([("", branch) for branch in kind.branches]))
            case Reference():
                return self._named(self.schema.names[kind.name])
            case ArrayType():
                return self.array(kind, self._inside([("items", kind.items)])[0])
            case MapType():
                return self.map(kind, self._inside([("values", kind.values)])[0])
            case RecordType() | EnumType() | FixedType():
                return self._named(kind)

    def made(self, name: str) -> T:
        """Return the result of the named type ``name``, a full name."""
        return self._made[name]

    @property
    def enclosing(self) -> str | None:
        """The full name of the innermost record around the type that is being visited."""
        return next(reversed(self._open), None)

    @property
    def path(self) -> str:
        """The path of the type that is being visited, as in ``/position/items/x``; empty for the outermost."""
        return "".join(f"/{step}" for step in self._steps if step)

    def _inside(self, kinds: Sequence[tuple[str, AvroType]]) -> list[T]:
        """Convert the types inside one; each comes with the step of the path that leads to it."""
        steps, results = self._steps, []
        if kinds and len(steps) >= self.max_depth:
            self.too_deep()
        for step, kind in kinds:
            steps.append(step)
            results.append(self.of(kind))
            steps.pop()
        return results

    def _named(self, kind: NamedType) -> T:
        if kind.name in self._made:
            return self.again(kind, self._made[kind.name])
        match kind:
            case EnumType():
                result = self.enum(kind)
            case FixedType():
                result = self.fixed(kind)
            case RecordType():
                if kind.name in self._open:
                    return self.recursive(kind)
                self._open[kind.name] = None
                fields = self._inside([(item.name, item.type) for item in kind.fields])
                del self._open[kind.name]
                result = self.record(kind, fields)
        self._made[kind.name] = result
        return result


class FunctionFold(Fold[Callable[P, R]], Generic[P, R]):
    """A fold that makes a function for each type; a recursive use of a record calls the record's function by name."""

    def recursive(self, kind: RecordType) -> Callable[P, R]:
        """Return a function that calls the record's own, which exists when the fold has ended."""
        made, name = self._made, kind.name

        def call(*args: P.args, **options: P.kwargs) -> R:
            return made[name](*args, **options)

        return call


def types_within(schema: AvroSchema, kind: AvroType) -> Iterator[AvroType]:
    """Yield ``kind`` and all types inside it. References are followed; each named type comes once, in no fixed order."""
    seen: set[str] = set()
    todo: list[AvroType] = [kind]
    while todo:
        target = schema.resolve(todo.pop())
        match target:
            case RecordType() | EnumType() | FixedType():
                if target.name in seen:
                    continue
                seen.add(target.name)
                if isinstance(target, RecordType):
                    todo.extend(item.type for item in target.fields)
            case ArrayType():
                todo.append(target.items)
            case MapType():
                todo.append(target.values)
            case UnionType():
                todo.extend(target.branches)
            case PrimitiveType():
                pass
        yield target
