"""Lookups of stored names for decisions: a version's schema is cached for five seconds, if the version exists."""

from dataclasses import dataclass
from typing import Any

from penstock.api.aws.authorization.stored_names import StoredNames
from penstock.registry.model import SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.store.sql.sealing import Sealer
from penstock.testing.sqlite import new_database

ACCOUNT = "111122223333"


@dataclass(frozen=True)
class Account:
    account: str
    schemas: RegistryService


def test_the_schema_of_a_version_is_cached() -> None:
    now = 0.0
    service = RegistryService(SqlRegistryStore(new_database()), region="us-east-1", account=ACCOUNT)
    service.registries.create("r")
    version = service.schemas.create(NewSchema(registry="r", name="s", data_format="AVRO", definition='"int"'))[1]
    account: Any = Account(ACCOUNT, service)
    names = StoredNames(ACCOUNT, account, SqlAccessStore(new_database(), Sealer(bytes(32))), clock=lambda: now)
    assert version is not None
    assert names.schema_of_version("b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63") is None
    assert names.schema_of_version(version.id) == SchemaKey("r", "s")
    service.schemas.delete(SchemaKey("r", "s"))
    now = 4.9
    assert names.schema_of_version(version.id) == SchemaKey("r", "s")
    now = 5.0
    assert names.schema_of_version(version.id) is None
