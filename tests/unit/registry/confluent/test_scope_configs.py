"""Configurations of scopes: inherited, refused, recorded."""

from typing import Any

import pytest

from penstock.errors import InvalidInput
from penstock.registry.errors import (
    IncompatibleSchema,
    VersioningDisabled,
    VersionNotFound,
)
from penstock.registry.model import GLOBAL_SCOPE, ScopeConfig
from penstock.registry.service import RegistryService
from penstock.schema.compatibility import CompatibilityMode
from penstock.schema.rules import CONFLUENT_RULES
from tests.unit.registry.confluent.definitions import KEY, create, record
from tests.unit.registry.registrations import check_compatibility, register


class TestPolicies:
    def test_the_nearest_that_says_something_holds(self, service: RegistryService) -> None:
        create(service, "s", record(a="int"))

        def effective() -> str:
            return service.schemas.effective(service.schemas.get(KEY)).value

        assert effective() == "BACKWARD"
        service.configs.put(ScopeConfig(scope=GLOBAL_SCOPE, compatibility=CompatibilityMode.NONE))
        assert effective() == "NONE"
        service.configs.put(ScopeConfig(scope="registry/r", mode="READWRITE"))
        assert effective() == "NONE"
        service.configs.put(ScopeConfig(scope="registry/r", compatibility=CompatibilityMode.FULL))
        assert effective() == "FULL"
        service.configs.put(ScopeConfig(scope="schema/r/s", compatibility=CompatibilityMode.FORWARD))
        assert effective() == "FORWARD"
        assert [config.scope for config in service.configs.chain(KEY)] == ["schema/r/s", "registry/r", ""]
        service.schemas.set_compatibility(KEY, CompatibilityMode.DISABLED)
        assert effective() == "DISABLED"
        with pytest.raises(VersioningDisabled):
            register(service, KEY, record(b="int"))
        service.schemas.set_compatibility(KEY, None)
        service.configs.delete("schema/r/s")
        service.configs.delete("registry/r")
        assert register(service, KEY, record(b="string")).status == "AVAILABLE"


class TestRefusals:
    def test_a_refusal_can_write_nothing(self, service: RegistryService) -> None:
        create(service, "s", record(a="int"))
        with pytest.raises(IncompatibleSchema, match="TYPE_MISMATCH") as refused:
            register(service, KEY, record(a="string"), keep_refused=False)
        assert [conflict.version for conflict in refused.value.verdict.conflicts] == [1]
        assert service.schemas.get(KEY).next_number == 2
        kept = register(service, KEY, record(a="string"))
        assert kept.status == "FAILURE"
        with pytest.raises(IncompatibleSchema):
            register(service, KEY, record(a="string"), keep_refused=False)
        assert service.versions.heads(KEY) == service.versions.heads(KEY, deleted=True)
        assert [head.number for head in service.versions.heads(KEY)] == [1]
        with pytest.raises(VersionNotFound):
            service.versions.with_schema_id("r", kept.schema_id)

    def test_the_called_api_brings_its_rules(self, service: RegistryService) -> None:
        create(service, "s", '{"type":"record","name":"R","fields":[]}')
        renamed = '{"type":"record","name":"S","fields":[]}'
        assert check_compatibility(service, KEY, renamed).compatible
        assert not check_compatibility(service, KEY, renamed, rules=CONFLUENT_RULES).compatible

    def test_checking_against_chosen_versions(self, service: RegistryService) -> None:
        create(service, "s", record(a="int"), "NONE")
        register(service, KEY, record(a="string"))
        register(service, KEY, record(b=("int", 0)))

        def compared(against: Any, mode: Any = "BACKWARD") -> Any:
            return check_compatibility(service, KEY, record(a="int"), mode=CompatibilityMode(mode), against=against)

        assert compared([1]).checked == (1,)
        assert compared([1]).compatible
        assert [conflict.version for conflict in compared([1, 2, 3]).conflicts] == [3, 2]
        assert compared([1, 2, 3]).checked == (1, 2, 3)
        assert compared([2], "NONE").compatible
        with pytest.raises(VersionNotFound):
            compared([9])


def test_the_record_tells_policies_in_words(service: RegistryService) -> None:
    service.configs.put(ScopeConfig(scope="", compatibility=CompatibilityMode.FULL_ALL, mode="READONLY"))
    service.configs.put(ScopeConfig(scope="schema/r/s", normalize=True, alias="other"))
    service.configs.put(ScopeConfig(scope="schema/r/s"))
    told = [(entry.operation, entry.resource, entry.outcome) for entry in service.audit.list(size=3).items]
    assert told == [
        ("DeletePolicy", "schema/r/s", "empty"),
        ("PutPolicy", "schema/r/s", "normalize true, alias other"),
        ("PutPolicy", "", "compatibility FULL_ALL, mode READONLY"),
    ]


def test_the_record_of_changes_is_paged(service: RegistryService) -> None:
    create(service, "s", record(a="int"))
    first = service.audit.list(size=2)
    assert [entry.operation for entry in first.items] == ["RegisterVersion", "CreateSchema"]
    assert [entry.operation for entry in service.audit.list(size=2, token=first.next_token).items] == ["CreateRegistry"]
    assert [entry.resource for entry in service.audit.list(resource="schema/r/s").items] == ["schema/r/s"] * 2
    with pytest.raises(InvalidInput):
        service.audit.list(token="x")
