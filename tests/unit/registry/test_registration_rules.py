"""Registration: one version a definition, refusals, checkpoints, long histories."""

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from penstock.registry.errors import (
    SchemaNotFound,
    TooMuchContention,
    VersioningDisabled,
    VersionNotFound,
)
from penstock.registry.model import SchemaKey, Version
from penstock.registry.service import RegistryService
from penstock.registry.store import RegistryStore
from penstock.registry.versions import history
from penstock.schema.compatibility import CompatibilityMode
from penstock.schema.errors import InvalidSchema, TooComplex
from tests.unit.registry.definitions import KEY, create, numbers, record
from tests.unit.registry.registrations import check_compatibility, register


def test_a_definition_is_one_version_in_every_spelling(service: RegistryService) -> None:
    _, first = create(service, definition='{"namespace":"n","type":"record","name":"R","fields":[]}')
    same = '{"type": "record", "name": "n.R", "fields": []}'
    assert register(service, KEY, same) == first
    assert service.versions.find(KEY, same).definition == first.definition
    assert numbers(service) == [(1, "AVAILABLE")]


def test_thirty_two_callers_register_one_version(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    barrier, seen, wrong = threading.Barrier(32), [], []

    def work(index: Any) -> None:
        spaced = record(a="int", b=("int", 0)).replace(",", "," + " " * index)
        barrier.wait()
        try:
            seen.append(register(service, KEY, spaced))
        except Exception as error:  # noqa: BLE001 - the assertion below shows it
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len({version.id for version in seen}) == 1
    assert len(seen) == 32
    assert numbers(service) == [(1, "AVAILABLE"), (2, "AVAILABLE")]


def test_two_services_on_one_store_number_without_gaps(store: RegistryStore) -> None:
    """Two services share no lock, as two processes do not: they meet at the schema's revision."""
    services = [RegistryService(store) for _ in range(2)]
    services[0].registries.create("r")
    create(services[0], "NONE", record())
    barrier, wrong = threading.Barrier(16), []

    def work(index: Any) -> None:
        barrier.wait()
        try:
            register(services[index % 2], KEY, record(**{f"f{index % 8}": "int"}))
        except Exception as error:  # noqa: BLE001 - the assertion below shows it
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert [number for number, _ in numbers(services[0])] == list(range(1, 10))


def test_an_incompatible_definition_becomes_a_refused_version(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    refused = register(service, KEY, record(a="string", b="int"))
    assert (refused.number, refused.status) == (2, "FAILURE")
    assert refused.verdict is not None
    assert [(item.direction, item.version, item.incompatibility.path) for item in refused.verdict.conflicts] == [
        ("BACKWARD", 1, "/a"),
        ("BACKWARD", 1, "/b"),
    ]
    assert register(service, KEY, record(a="string", b="int")) == refused
    assert service.versions.find(KEY, record(a="string", b="int")).status == "FAILURE"
    assert service.versions.get(refused.id).verdict == refused.verdict
    schema = service.schemas.get(KEY)
    assert (schema.latest, schema.next_number) == (1, 3)
    assert service.versions.get_numbered(KEY, None).number == 1


def test_refused_versions_count_for_no_check(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    register(service, KEY, record(a="string"))
    assert register(service, KEY, record(a="long")).status == "AVAILABLE"
    assert numbers(service) == [(1, "AVAILABLE"), (2, "FAILURE"), (3, "AVAILABLE")]


def test_a_refused_definition_gets_a_new_number_once_the_policy_lets_it(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    refused = register(service, KEY, record(a="string"))
    service.schemas.update(KEY, compatibility=CompatibilityMode.NONE, latest=True)
    accepted = register(service, KEY, record(a="string"))
    assert (accepted.number, accepted.status) == (3, "AVAILABLE")
    with pytest.raises(VersionNotFound):
        service.versions.get(refused.id)
    assert numbers(service) == [(1, "AVAILABLE"), (3, "AVAILABLE")]


def test_a_refusal_is_logged(service: RegistryService, caplog: pytest.LogCaptureFixture) -> None:
    create(service, definition=record(a="int"))
    with caplog.at_level("WARNING", logger="penstock.registry"):
        register(service, KEY, record(a="string"))
    assert "version 2 refused" in caplog.text
    assert "TYPE_MISMATCH at /a" in caplog.text


def test_checking_compatibility_writes_nothing(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    assert not check_compatibility(service, KEY, record(a="string")).compatible
    assert check_compatibility(service, KEY, record(a="long")).checked == (1,)
    assert numbers(service) == [(1, "AVAILABLE")]


def test_all_reaches_back_to_the_checkpoint_and_no_further(service: RegistryService) -> None:
    create(service, "NONE", record(a="int"))
    register(service, KEY, record(a="string"))
    register(service, KEY, record(a="string", b=("int", 0)))
    service.schemas.update(KEY, compatibility=CompatibilityMode.BACKWARD_ALL, checkpoint=2)
    assert check_compatibility(service, KEY, record(a="string")).checked == (2, 3)
    assert register(service, KEY, record(a="string", c=("int", 0))).status == "AVAILABLE"
    service.schemas.update(KEY, checkpoint=1)
    assert not check_compatibility(service, KEY, record(a="string", d=("int", 0))).compatible
    assert service.schemas.get(KEY).checkpoint == 1


def test_a_history_that_takes_too_long_to_compare_with_is_refused(
    service: RegistryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(service, "FULL_ALL", record(a="int"))
    register(service, KEY, record(a="int", b=("int", 0)))
    monkeypatch.setattr(history, "_SECONDS", -1.0)
    with pytest.raises(TooComplex, match=r"all 2 versions: .* for 0 of them, version 2 being the next"):
        register(service, KEY, record(a="int", c=("int", 0)))
    assert numbers(service) == [(1, "AVAILABLE"), (2, "AVAILABLE")]


def test_a_long_history_is_read_a_few_versions_at_a_time(service: RegistryService, monkeypatch: pytest.MonkeyPatch) -> None:
    create(service, "NONE", record(a="int"))
    for number in range(6):
        register(service, KEY, record(a="int", **{f"f{number}": ("int", 0)}))
    service.deletion.delete(KEY, range(4, 5))
    service.schemas.update(KEY, compatibility=CompatibilityMode.BACKWARD_ALL, checkpoint=2)
    read: list[list[int]] = []
    scan = service.versions._store.scan

    def noted(*asked: Any, **named: Any) -> Sequence[Version]:
        versions = scan(*asked, **named)
        read.append([version.number for version in versions])
        return versions

    monkeypatch.setattr(history, "_TEXTS", 2)
    monkeypatch.setattr(service.versions._store, "scan", noted)
    assert check_compatibility(service, KEY, record(a="int", z=("int", 0))).checked == (2, 3, 5, 6, 7)
    assert read == [[6, 7], [3, 5], [2]]
    versions = check_compatibility(service, KEY, record(a="string"))
    assert [conflict.version for conflict in versions.conflicts] == [7, 6, 5, 3, 2]


def test_disabled_takes_no_new_versions(service: RegistryService) -> None:
    _, first = create(service, "DISABLED", record(a="int"))
    assert register(service, KEY, record(a="int")) == first
    with pytest.raises(VersioningDisabled, match="DISABLED"):
        register(service, KEY, record(a="long"))


def test_a_schema_without_a_definition_takes_its_first_by_registration(service: RegistryService) -> None:
    schema, version = create(service, "DISABLED")
    assert (schema.latest, version) == (None, None)
    with pytest.raises(VersionNotFound):
        service.versions.get_numbered(KEY, None)
    assert register(service, KEY, record(a="int")).number == 1


def test_invalid_definitions_are_refused_outright(service: RegistryService) -> None:
    create(service, definition=record(a="int"))
    for call in (partial(register, service), service.versions.find, partial(check_compatibility, service)):
        with pytest.raises(InvalidSchema, match="not JSON"):
            call(KEY, "{")
    with pytest.raises(InvalidSchema):
        create(service, name="t", definition="{")
    with pytest.raises(SchemaNotFound):
        service.schemas.get(SchemaKey("r", "t"))
    assert "not JSON" in str(service.versions.check("AVRO", "{"))
    assert service.versions.check("AVRO", '"int"') is None


def test_endless_contention_ends_with_an_error(
    service: RegistryService, store: RegistryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(service, "NONE", record())
    monkeypatch.setattr(type(store.versions), "add", lambda _self, new: [None] * len(new))
    with pytest.raises(TooMuchContention):
        register(service, KEY, record(a="int"))
