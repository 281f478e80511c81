"""Partition projection: partitions that a table's properties describe instead of the catalog.

A table with ``projection.enabled`` has for each partition key a type: ``enum`` (a list of values), ``integer`` and ``date``
(a range with a step), or ``injected`` (the values that the query names). Its registered partitions are not used.
Source: Athena user guide, "Partition projection with Amazon Athena" and "Supported types for partition projection".
"""

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlglot import exp

from penstock.catalog.model import Column, Partition, Table
from penstock.lake.partitions import partition_path
from penstock.sql.date_patterns import Moment, date_pattern, steps
from penstock.sql.errors import StatementError

__all__ = ["MAX_PARTITIONS", "Projected", "is_projected", "project"]

MAX_PARTITIONS = 100_000
_MAX_INJECTED = 1_000  # Athena's limit
_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_NOW = re.compile(r"NOW\s*(?:([+-])\s*(\d{1,9})\s*([A-Z]+))?", re.ASCII | re.IGNORECASE)

Prune = Callable[[Table, Sequence[Partition]], Sequence[int]]
"""The function that returns the partitions (by index) that a query can need, by conditions on the table's keys alone."""


@dataclass(frozen=True, slots=True)
class Projected:
    """The partitions that the query can need, decided for each key separately, and how many the properties describe."""

    partitions: Sequence[Partition]
    total: int


def is_projected(table: Table) -> bool:
    """Return whether the table's partitions are projected."""
    return bool(table.partition_keys) and table.parameters.get("projection.enabled", "").strip().lower() == "true"


def project(table: Table, conditions: Sequence[exp.Expr], prune: Prune) -> Projected:
    """Return the partitions of ``table`` that a query with ``conditions`` on its keys can need, in order of their values.

    Raises :class:`StatementError` for invalid properties, an injected key that the conditions do not name, and more than
    100,000 partitions.
    """
    now = datetime.now(UTC).replace(tzinfo=None)
    choices: list[Sequence[str]] = []
    total = 1
    for key in table.partition_keys:
        properties = _Properties(table, key)
        values = _injected(properties, conditions) if properties.type == "injected" else _values(properties, now)
        total *= len(values)
        alone = replace(table, partition_keys=[key])
        choices.append([values[index] for index in prune(alone, [_partition(alone, [value], None) for value in values])])
    count = math.prod(len(values) for values in choices)
    if count > MAX_PARTITIONS:
        raise _too_many(table, f"{count:,}")
    locate = _locations(table)
    partitions = [_partition(table, list(values), locate(values)) for values in itertools.product(*choices)]
    return Projected(partitions, total)


class _Properties:
    """The properties ``projection.KEY.*`` of one partition key."""

    def __init__(self, table: Table, key: Column) -> None:
        self.table = table
        self.key = key
        # Glue keeps the names' case, Athena's columns are case-insensitive.
        self._all = {name.lower(): value for name, value in table.parameters.items()}
        self.type = (self.get("type") or "").strip().lower()
        if self.type not in {"enum", "integer", "date", "injected"}:
            raise self.invalid("type", "is not one of enum, integer, date and injected")

    def get(self, name: str) -> str | None:
        return self._all.get(f"projection.{self.key.name.lower()}.{name}")

    def need(self, name: str) -> str:
        value = self.get(name)
        if value is None or not value.strip():
            raise self.invalid(name, "is missing")
        return value

    def whole(self, name: str, default: int) -> int:
        """Return a property that is a positive number."""
        text = (self.get(name) or str(default)).strip()
        if not _INTEGER.fullmatch(text) or int(text) < 1:
            raise self.invalid(name, "is not a positive number")
        return int(text)

    def pair(self) -> tuple[str, str]:
        """Return the two ends of ``range``."""
        ends = [part.strip() for part in self.need("range").split(",")]
        if len(ends) != 2:
            raise self.invalid("range", "is not two values with a comma between them")
        return ends[0], ends[1]

    def invalid(self, name: str, what: str) -> StatementError:
        return _invalid(self.table, f"projection.{self.key.name}.{name} {what}.")


def _invalid(table: Table, what: str) -> StatementError:
    return StatementError(
        "INVALID_TABLE_PROPERTY",
        f"Table '{table.database}.{table.name}' cannot be projected: {what}",
        remedy="Correct the table's parameters, or take projection.enabled from them and register its partitions.",
    )


def _too_many(table: Table, count: str) -> StatementError:
    return StatementError(
        "EXCEEDED_PARTITION_LIMIT",
        f"The query needs {count} projected partitions of '{table.database}.{table.name}'; the limit is {MAX_PARTITIONS:,}.",
        remedy="Restrict the partition keys in WHERE, or narrow the ranges of the projection.",
    )


def _partition(table: Table, values: Sequence[str], location: str | None) -> Partition:
    return Partition(
        database=table.database,
        table=table.name,
        values=values,
        storage=replace(table.storage, location=location),
        create_time=table.create_time,
    )


def _locations(table: Table) -> Callable[[Sequence[str]], str]:
    """Return the function from a partition's values to its location: ``storage.location.template`` or Hive's folders."""
    names = [key.name for key in table.partition_keys]
    template = table.parameters.get("storage.location.template", "").strip()
    if not template:
        root = (table.storage.location or "").rstrip("/")
        return lambda values: f"{root}/{partition_path(names, values)}/"
    parts = re.split(r"\$\{([^}]*)\}", template)
    # Every second part is a name.
    places = [part.lower() for part in parts[1::2]]
    if set(places) != {name.lower() for name in names}:
        raise _invalid(table, "storage.location.template does not name each partition key, as ${KEY}, and nothing else.")
    order = [[name.lower() for name in names].index(place) for place in places]

    def locate(values: Sequence[str]) -> str:
        filled = [*(values[index] for index in order), ""]
        return "".join(text + value for text, value in zip(parts[::2], filled, strict=True))

    return locate


def _values(properties: _Properties, now: datetime) -> Sequence[str]:
    if properties.type == "enum":
        return list(dict.fromkeys(properties.need("values").split(",")))
    projected = _integers(properties) if properties.type == "integer" else _dates(properties, now)
    values = list(itertools.islice(projected, MAX_PARTITIONS + 1))
    if len(values) > MAX_PARTITIONS:
        raise _too_many(properties.table, f"more than {MAX_PARTITIONS:,}")
    return list(dict.fromkeys(values))


def _integers(properties: _Properties) -> Iterator[str]:
    first, last = properties.pair()
    if not _INTEGER.fullmatch(first) or not _INTEGER.fullmatch(last):
        raise properties.invalid("range", "is not two integers")
    digits = properties.whole("digits", 1)
    if digits > 20:
        raise properties.invalid("digits", "is more than 20")
    for value in range(int(first), int(last) + 1, properties.whole("interval", 1)):
        yield f"{'-' if value < 0 else ''}{abs(value):0{digits}}"


def _dates(properties: _Properties, now: datetime) -> Iterator[str]:
    try:
        pattern = date_pattern(properties.need("format"))
    except ValueError as error:
        raise properties.invalid("format", f"cannot be read: {error}") from None
    unit = properties.get("interval.unit")
    if unit is None:
        if pattern.precision not in {"DAYS", "MONTHS"}:
            raise properties.invalid("interval.unit", "is missing, which only days and months allow")
        unit = pattern.precision
    first, last = (_moment(properties, text, pattern.parse, now) for text in properties.pair())
    try:
        for moment in steps(first, last, properties.whole("interval", 1), unit.strip()):
            yield pattern.format(moment)
    except ValueError as error:
        raise properties.invalid("interval.unit", str(error)) from None


def _moment(properties: _Properties, text: str, parse: Callable[[str], datetime], now: datetime) -> Moment:
    relative = _NOW.fullmatch(text)
    try:
        if relative is None:
            return parse(text)
        sign, count, unit = relative.groups()
        if unit is None:
            return now
        far = int(count) * (-1 if sign == "-" else 1)
        moved = next(itertools.islice(steps(now, None, far, unit), 1, None), None)
        if moved is None:
            raise ValueError("there is no such date")
        return moved
    except ValueError as error:
        raise properties.invalid("range", f"has '{text[:50]}', which cannot be read: {error}") from None


def _injected(properties: _Properties, conditions: Sequence[exp.Expr]) -> Sequence[str]:
    """Return the values that a condition lists."""
    name = properties.key.name.lower()
    for condition in conditions:
        values = _named(condition, name)
        if values is not None:
            if len(values) > _MAX_INJECTED:
                raise _too_many(properties.table, f"{len(values):,} injected values, and so many")
            return list(dict.fromkeys(values))
    raise StatementError(
        "CONSTRAINT_VIOLATION",
        f"For the injected projected partition column {properties.key.name}, the WHERE clause must contain only static "
        "equality conditions, and at least one such condition must be present.",
        remedy=f"Add {properties.key.name} = 'VALUE', or {properties.key.name} IN (...).",
    )


def _named(condition: exp.Expr, name: str) -> list[str] | None:
    """Return the constants to which ``condition`` limits the column, None if it is another kind of condition."""
    condition = condition.unnest()
    if isinstance(condition, exp.EQ):
        for column, constant in ((condition.left, condition.right), (condition.right, condition.left)):
            if isinstance(column, exp.Column) and column.name.lower() == name and isinstance(constant, exp.Literal):
                return [constant.name]
        return None
    if isinstance(condition, exp.In) and isinstance(condition.this, exp.Column) and condition.this.name.lower() == name:
        constants = condition.expressions
        return [item.name for item in constants] if all(isinstance(item, exp.Literal) for item in constants) else None
    if isinstance(condition, exp.Or):
        sides = [_named(node, name) for node in (condition.left, condition.right)]
        return None if sides[0] is None or sides[1] is None else [*sides[0], *sides[1]]
    return None
