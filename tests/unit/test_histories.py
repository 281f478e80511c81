"""The checker of histories finds each kind of fault, and no fault where there is none."""

import math

import pytest

from tests.servers.histories import Read, Registration, violations

FINAL = {1: ("id1", "a"), 2: ("id2", "b")}


def a(**changes: float) -> Registration:
    return Registration(**{"definition": "a", "began": 0, "ended": 1, "number": 1, "version_id": "id1"} | changes)  # type: ignore[arg-type]


def b(**changes: float) -> Registration:
    return Registration(**{"definition": "b", "began": 2, "ended": 3, "number": 2, "version_id": "id2"} | changes)  # type: ignore[arg-type]


LOST = Registration(definition="b", began=2)


@pytest.mark.parametrize(
    ("registrations", "reads"),
    [
        ([a(), b()], [Read(began=1, ended=2, number=1), Read(began=3, ended=4, number=2)]),
        ([a(began=0, ended=9), b(began=0, ended=1)], []),  # both at once, in either order
        ([a(), LOST], [Read(began=2.5, ended=3, number=1), Read(began=8, ended=9, number=2)]),  # done late, and not answered
        ([a(), b(), b(began=7, ended=8)], []),  # registered again
        ([a(), LOST, b(began=4, ended=5)], [Read(began=3, ended=4, number=2)]),
    ],
)
def test_a_linearizable_history_is_accepted(registrations: list[Registration], reads: list[Read]) -> None:
    assert list(violations(registrations, reads, FINAL)) == []


@pytest.mark.parametrize(
    ("registrations", "reads", "final", "fault"),
    [
        ([a(), b()], [], {1: ("id1", "a")}, "an acknowledged version is lost"),
        ([a(), b(number=1)], [], FINAL, "an acknowledged version is lost"),
        ([a(), b(version_id="other")], [], FINAL, "an acknowledged version is lost"),  # type: ignore[arg-type]
        ([a(), b()], [], {1: ("id1", "a"), 2: ("id1", "b")}, "two versions have one id"),
        ([a(), a(number=2)], [], {1: ("id1", "a"), 2: ("id2", "a")}, "two versions have one definition"),
        ([a(), b()], [], {1: ("id1", "a"), 3: ("id2", "b")}, "gaps"),
        ([a()], [], FINAL, "nobody registered version 2"),
        ([a(began=5, ended=6), b(began=2, ended=3)], [], FINAL, "version 2 has no moment"),  # against the order in time
        ([a(), b()], [Read(began=4, ended=5, number=1)], FINAL, "version 2 has no moment"),  # stale
        (
            [a(), LOST],
            [Read(began=3, ended=4, number=2), Read(began=5, ended=6, number=1)],
            FINAL,
            "version 2 has no moment",
        ),
        (
            [a(), b(began=4, ended=math.inf)],
            [Read(began=1, ended=2, number=2)],
            FINAL,
            "version 2 has no moment",
        ),  # too soon
        ([a(), b()], [Read(began=4, ended=5, number=3)], FINAL, "which does not exist"),
    ],
)
def test_a_fault_is_found(
    registrations: list[Registration], reads: list[Read], final: dict[int, tuple[str, str]], fault: str
) -> None:
    assert fault in " ".join(violations(registrations, reads, final))
