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
        self._results: dict[str, T] = {}
        self._open: dict[str, None] = {}  # records whose fields are being visited, the innermost last
        self._steps: list[str] = []

    @abstractmethod
    def primitive(self, avro_type: PrimitiveType) -> T:
        """Convert a primitive type."""

    @abstractmethod
    def enum(self, avro_type: EnumType) -> T:
        """Convert an enum."""

    @abstractmethod
    def fixed(self, avro_type: FixedType) -> T:
        """Convert a fixed."""

    @abstractmethod
    def array(self, avro_type: ArrayType, items: T) -> T:
        """Convert an array of ``items``."""

    @abstractmethod
    def map(self, avro_type: MapType, values: T) -> T:
        """Convert a map of ``values``."""

    @abstractmethod
    def union(self, avro_type: UnionType, branches: Sequence[T]) -> T:
        """Convert a union; ``branches`` are in its order."""

    @abstractmethod
    def record(self, avro_type: RecordType, fields: Sequence[T]) -> T:
        """Convert a record; ``fields`` are the converted types of its fields, in its order."""

    @abstractmethod
    def recursive(self, avro_type: RecordType) -> T:
        """Convert a use of a record inside itself. :meth:`result_of` returns the record's result once the fold has ended."""

    def again(self, avro_type: NamedType, result: T) -> T:  # noqa: ARG002 - subclasses use it
        """Convert a later use of a named type; ``result`` is the result of its first use."""
        return result

    def too_deep(self) -> NoReturn:
        """Refuse a type below ``max_depth``."""
        raise RecursionError(f"{self.path}: types nest more than {self.max_depth} levels.")

    def root(self) -> T:
        """Convert the outermost type."""
        return self.of(self.schema.root)

    def of(self, avro_type: AvroType) -> T:
        """Convert ``avro_type``, a type of the schema."""
        match avro_type:
            case PrimitiveType():
                return self.primitive(avro_type)
            case UnionType():
                return self.union(avro_type, self._inside([("", branch) for branch in avro_type.branches]))
            case Reference():
                return self._named_type(self.schema.names[avro_type.name])
            case ArrayType():
                return self.array(avro_type, self._inside([("items", avro_type.items)])[0])
            case MapType():
                return self.map(avro_type, self._inside([("values", avro_type.values)])[0])
            case RecordType() | EnumType() | FixedType():
                return self._named_type(avro_type)

    def result_of(self, name: str) -> T:
        """Return the result of the named type ``name``, a full name."""
        return self._results[name]

    @property
    def enclosing(self) -> str | None:
        """The full name of the innermost record around the type that is being visited."""
        return next(reversed(self._open), None)

    @property
    def path(self) -> str:
        """The path of the type that is being visited, as in ``/position/items/x``; empty for the outermost."""
        return "".join(f"/{step}" for step in self._steps if step)

    def _inside(self, types: Sequence[tuple[str, AvroType]]) -> list[T]:
        """Convert the types inside one; each comes with the step of the path that leads to it."""
        steps, results = self._steps, []
        if types and len(steps) >= self.max_depth:
            self.too_deep()
        for step, avro_type in types:
            steps.append(step)
            results.append(self.of(avro_type))
            steps.pop()
        return results

    def _named_type(self, avro_type: NamedType) -> T:
        if avro_type.name in self._results:
            return self.again(avro_type, self._results[avro_type.name])
        match avro_type:
            case EnumType():
                result = self.enum(avro_type)
            case FixedType():
                result = self.fixed(avro_type)
            case RecordType():
                if avro_type.name in self._open:
                    return self.recursive(avro_type)
                self._open[avro_type.name] = None
                fields = self._inside([(field.name, field.type) for field in avro_type.fields])
                del self._open[avro_type.name]
                result = self.record(avro_type, fields)
        self._results[avro_type.name] = result
        return result


class FunctionFold(Fold[Callable[P, R]], Generic[P, R]):
    """A fold that makes a function for each type; a recursive use of a record calls the record's function by name."""

    def recursive(self, avro_type: RecordType) -> Callable[P, R]:
        """Return a function that calls the record's own, which exists when the fold has ended."""
        functions, name = self._results, avro_type.name

        def call(*args: P.args, **options: P.kwargs) -> R:
            return functions[name](*args, **options)

        return call


def types_within(schema: AvroSchema, avro_type: AvroType) -> Iterator[AvroType]:
    """Yield ``avro_type`` and all types inside it, following references. Each named type comes once, in any order."""
    names: set[str] = set()
    todo: list[AvroType] = [avro_type]
    while todo:
        target = schema.resolve(todo.pop())
        match target:
            case RecordType() | EnumType() | FixedType():
                if target.name in names:
                    continue
                names.add(target.name)
                if isinstance(target, RecordType):
                    todo.extend(field.type for field in target.fields)
            case ArrayType():
                todo.append(target.items)
            case MapType():
                todo.append(target.values)
            case UnionType():
                todo.extend(target.branches)
            case PrimitiveType():
                pass
        yield target
