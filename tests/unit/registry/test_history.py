"""One definition against a history, within a budget. The clock is the test's own: nothing here depends on the machine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.registry.model import AVAILABLE, SchemaKey, Version
from penstock.registry.versions import history as module
from penstock.registry.versions.history import check
from penstock.schema import cpu_budget
from penstock.schema.compatibility import CompatibilityMode
from penstock.schema.errors import TooComplex
from penstock.schema.format import ParsedSchema
from penstock.schema.formats import format_of
from penstock.schema.rules import GLUE_RULES

AVRO = format_of("AVRO")
NEW = AVRO.parse('{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}')
OTHER = AVRO.parse('{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}')


@dataclass
class Clock:
    """The processor's time, which passes where something is read."""

    now: float = 0.0
    reads: int = 0

    def reading(self, parsed: ParsedSchema, seconds: float) -> Callable[..., Any]:
        def read(version: Version) -> ParsedSchema:
            self.now += seconds
            self.reads += 1
            return parsed

        return read


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(cpu_budget, "used", lambda: clock.now)
    return clock


def history(count: int, definition: str = "") -> Iterator[Version]:
    """The versions, the latest first, each made when it is asked for."""
    for number in range(count, 0, -1):
        yield Version(
            id=str(number),
            key=SchemaKey("r", "s"),
            number=number,
            status=AVAILABLE,
            data_format="AVRO",
            created=datetime(2026, 1, 1, tzinfo=UTC),
            schema_id=number,
            definition=definition,
            fingerprint="",
        )


def compared(count: Any, read: Any, mode: Any = CompatibilityMode.BACKWARD_ALL, *, characters: Any = 0) -> Any:
    return check(mode, NEW, range(1, count + 1), history(count, " " * characters), read=read, rules=GLUE_RULES)


def test_ten_thousand_ordinary_versions_are_compared(clock: Clock) -> None:
    assert compared(10_000, clock.reading(NEW, 0.003)).checked == tuple(range(1, 10_001))
    assert clock.reads == 10_000


def test_long_ordinary_versions_are_compared_within_a_limit(clock: Clock) -> None:
    assert len(compared(230, clock.reading(NEW, 0.19), characters=100_000).checked) == 230
    assert clock.now == pytest.approx(43.7)
    clock.now = 0.0
    with pytest.raises(TooComplex, match="up to 45 seconds"):
        compared(250, clock.reading(NEW, 0.19), characters=100_000)
    assert clock.now < 45.2


def test_versions_made_to_hurt_are_refused_within_a_second(clock: Clock) -> None:
    with pytest.raises(TooComplex) as refused:
        compared(63, clock.reading(NEW, 0.12))
    assert clock.now < 1.0
    words = str(refused.value)
    assert "all 63 versions" in words
    assert "for 4 of them, version 59 being the next" in words
    assert "the limit is 0.5 seconds of the processor, 5 milliseconds a version and 3 a thousand characters" in words
    assert "move the checkpoint" in words


def test_a_single_version_that_takes_too_long_is_named(clock: Clock) -> None:
    with pytest.raises(TooComplex, match=r"compare with version 1: 0\.60 seconds"):
        compared(1, clock.reading(NEW, 0.6), CompatibilityMode.BACKWARD)


def test_a_comparison_under_way_is_stopped(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1
        clock.now += 0.05
        if clock.now > 0.5:
            raise cpu_budget.Exceeded

    monkeypatch.setattr(cpu_budget, "check", step)
    schema = format_of("JSON").parse('{"properties":{' + ",".join(f'"p{n}":{{"type":"string"}}' for n in range(50)) + "}}")
    writer = format_of("JSON").parse('{"properties":{' + ",".join(f'"p{n}":{{"type":"integer"}}' for n in range(50)) + "}}")
    with pytest.raises(TooComplex, match="compare with version 1"):
        check(
            CompatibilityMode.BACKWARD,
            schema,
            [1],
            history(1),
            read=lambda version: writer,
            rules=GLUE_RULES,
        )
    assert 5 < steps < 30


def test_no_more_is_read_than_conflicts_are_shown(clock: Clock) -> None:
    verdict = compared(1_000, clock.reading(OTHER, 0.0))
    assert len(verdict.conflicts) == module.MAX_CONFLICTS == clock.reads
    assert verdict.conflicts[0].version == 1_000


def test_nothing_is_read_where_nothing_is_compared(clock: Clock) -> None:
    assert compared(9, clock.reading(OTHER, 9.0), CompatibilityMode.NONE).checked == ()
    assert clock.reads == 0


def test_budgets_nest_and_end() -> None:
    with cpu_budget.limit(100.0):
        with pytest.raises(cpu_budget.Exceeded), cpu_budget.limit(-1.0):
            cpu_budget.check()
        cpu_budget.check()
        with pytest.raises(cpu_budget.Exceeded), cpu_budget.limit(-1.0), cpu_budget.limit(100.0):
            cpu_budget.check()
    cpu_budget.check()


def test_what_others_did_counts() -> None:
    before = cpu_budget.used()
    cpu_budget.charge(50.0)
    assert cpu_budget.used() - before >= 50.0
