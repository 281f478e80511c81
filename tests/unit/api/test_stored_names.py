"""Lookups of stored names for decisions: a version's schema is cached for five seconds, if the version exists."""

from dataclasses import dataclass
from typing import Any

from penstock.api.aws.authorization.stored_names import StoredNames
from penstock.registry.model import SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.store.memory.access import MemoryAccessStore
from penstock.store.memory.registry import MemoryRegistryStore

ACCOUNT = "111122223333"


@dataclass(frozen=True)
class Account:
    account: str
    schemas: RegistryService


def test_the_schema_of_a_version_is_cached() -> None:
    now = 0.0
    service = RegistryService(MemoryRegistryStore(), region="us-east-1", account=ACCOUNT)
    service.registries.create("r")
    version = service.schemas.create(NewSchema(registry="r", name="s", data_format="AVRO", definition='"int"'))[1]
    account: Any = Account(ACCOUNT, service)
    names = StoredNames(ACCOUNT, account, MemoryAccessStore(), clock=lambda: now)
    assert version is not None
    assert names.schema_of_version("b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63") is None
    assert names.schema_of_version(version.id) == SchemaKey("r", "s")
    service.schemas.delete(SchemaKey("r", "s"))
    now = 4.9
    assert names.schema_of_version(version.id) == SchemaKey("r", "s")
    now = 5.0
    assert names.schema_of_version(version.id) is None
