"""The calls of auto-registration, in the order AWS's serde makes them."""

import pytest

from penstock.errors import InvalidInput, NotFound
from penstock.serdes.errors import UnreadableSchema
from penstock.serdes.registration import Registration, perform
from tests.unit.serdes.fake_registry import FakeRegistry

WANTED = Registration(
    registry="r", schema="s", definition='"int"', tags={"team": "a"}, metadata={"x-amz-meta-transport": "topic"}
)


def run(registry: FakeRegistry, *, auto_register: bool = True) -> list[float]:
    waits: list[float] = []
    perform(WANTED, registry, auto_register=auto_register, sleep=waits.append)
    return waits


def test_known_definition_is_one_call() -> None:
    registry = FakeRegistry()
    registry.add('"int"')
    run(registry, auto_register=False)
    assert registry.calls == ["find"]


def test_unknown_version_of_a_known_schema_is_registered() -> None:
    registry = FakeRegistry()
    registry.add('"long"')
    run(registry)
    assert registry.calls == ["find", "register", "metadata"]
    assert registry.metadata == {"x-amz-meta-transport": "topic"}


def test_unknown_schema_is_created_with_the_settings() -> None:
    registry = FakeRegistry()
    run(registry)
    assert registry.calls == ["find", "create", "metadata"]
    assert registry.created_with == {
        "data_format": "AVRO",
        "compatibility": "BACKWARD",
        "description": None,
        "tags": {"team": "a"},
    }


def test_schema_that_somebody_else_creates_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = FakeRegistry()

    def late(*_: str) -> None:
        registry.calls.append("find")
        registry.add('"long"')
        raise NotFound("Schema is not found.")

    monkeypatch.setattr(registry, "find_version", late)
    run(registry)
    assert registry.calls == ["find", "create", "register", "metadata"]


def test_pending_version_is_waited_for() -> None:
    registry = FakeRegistry(["PENDING", "PENDING", "AVAILABLE"])
    assert run(registry) == [3.0, 3.0]
    assert registry.calls == ["find", "create", "status", "status", "metadata"]


def test_waiting_ends() -> None:
    registry = FakeRegistry(["PENDING"] * 20)
    with pytest.raises(UnreadableSchema, match="PENDING, not AVAILABLE"):
        run(registry)
    assert registry.calls.count("status") == 10


@pytest.mark.parametrize("statuses", [["FAILURE"], ["PENDING", "FAILURE"]])
def test_refused_version_is_an_error(statuses: list[str]) -> None:
    with pytest.raises(UnreadableSchema, match="is FAILURE: it breaks the schema's compatibility mode"):
        run(FakeRegistry(statuses))


def test_without_auto_registration_nothing_is_written() -> None:
    registry = FakeRegistry()
    with pytest.raises(NotFound, match=r"r/s has no version with this definition.*schemaAutoRegistrationEnabled"):
        run(registry, auto_register=False)
    assert registry.calls == ["find"]


def test_other_errors_pass_through(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = FakeRegistry()

    def refuse(*_: str) -> None:
        raise InvalidInput("Schema definition of AVRO data format is invalid")

    monkeypatch.setattr(registry, "find_version", refuse)
    with pytest.raises(InvalidInput, match="is invalid"):
        run(registry)
    assert registry.calls == []
