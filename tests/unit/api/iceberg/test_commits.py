"""What a commit leaves behind when the catalog's store is faster, or fails: the right table, and no stray files."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.access.principals import Caller
from penstock.api.iceberg.call import Call, IcebergSettings
from penstock.api.iceberg.commits import Change, commit
from penstock.api.iceberg.errors import CommitFailed, CommitStateUnknown
from penstock.api.iceberg.lookup import load
from penstock.api.iceberg.tables import routes
from penstock.catalog.errors import StaleTable
from penstock.catalog.model import DatabaseInput, Table
from penstock.catalog.service import CatalogService
from penstock.catalog.store import TableChange
from penstock.lake.iceberg.errors import RequirementFailed
from penstock.lake.iceberg.files import MetadataFiles
from penstock.lake.locations import LakeFolder
from penstock.lakeformation.service import LakeFormation
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.lakeformation import SqlLakeFormationStore
from penstock.testing.sqlite import new_database

SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}
HANDLERS = {route.name: route.handler for route in routes()}


class Store(SqlCatalogStore):
    """A store that calls ``before`` at each change of tables."""

    def __init__(self) -> None:
        super().__init__(new_database())
        self.before: Callable[[], object] = lambda: None

    def change_tables(self, changes: Sequence[TableChange], *, tables: int, versions: int, archive: bool) -> Sequence[Table]:
        self.before()
        return super().change_tables(changes, tables=tables, versions=versions, archive=archive)


class Everything:
    """The rights of a caller who may do all."""

    def check(self, _operation: str, _request: Any, /) -> None: ...

    def allows(self, _operation: str, _request: Any, /) -> bool:
        return True

    def is_visible(self, _operation: str, _item: Any, /) -> bool:
        return True

    def reading(self, _database: str, _table: str, _columns: Any, /) -> None: ...

    def check_writing(self, _database: str, _table: str, _permissions: Any, /) -> None: ...

    def check_files(self, _action: str, _uris: Any, _table: Any = None, /) -> Sequence[str]:
        return ["s3://"]


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def call(store: Store, tmp_path: Path) -> Call:
    (tmp_path / "lake").mkdir()
    made = Call(
        caller=Caller(account="111122223333", principal="arn:aws:iam::111122223333:root"),
        account="111122223333",
        parts={"namespace": "db"},
        query="",
        body={"name": "t", "schema": SCHEMA},
        headers={},
        tables=CatalogService(store),
        files=MetadataFiles(LakeFolder(tmp_path)),
        access=Everything(),
        settings=IcebergSettings(region="us-east-1", warehouse="s3://lake/wh", s3_endpoint_url=None),
        vendor=None,
        lake_formation=LakeFormation(SqlLakeFormationStore(new_database()), account="111122223333"),
    )
    made.tables.create_database(DatabaseInput(name="db"))
    HANDLERS["CreateTable"](made)
    return made


def change(value: str, *requirements: dict[str, Any], name: str = "t") -> Change:
    return Change("db", name, list(requirements), [{"action": "set-properties", "updates": {value: value}}])


def files(tmp_path: Path) -> set[str]:
    return {f"s3://{path.relative_to(tmp_path)}" for path in tmp_path.rglob("*.json")}


def referred(call: Call) -> set[str]:
    _, loaded = load(call, "db", "t")
    return {loaded.location, *(entry["metadata-file"] for entry in loaded.document["metadata-log"])}


def once(store: Store, action: Callable[[], object]) -> None:
    def before() -> None:
        store.before = lambda: None
        action()

    store.before = before


def test_a_commit_that_was_overtaken_is_made_on_the_new_state(call: Call, store: Store, tmp_path: Path) -> None:
    once(store, lambda: commit(call, [change("other")]))
    [loaded] = commit(call, [change("mine")])
    assert loaded.document["properties"] == {"other": "other", "mine": "mine"}
    assert files(tmp_path) == referred(call)


def test_an_overtaken_commit_whose_requirements_fail_changes_nothing(call: Call, store: Store, tmp_path: Path) -> None:
    added = {"action": "add-schema", "schema": {"type": "struct", "fields": [*SCHEMA["fields"], _column()]}}
    other = Change("db", "t", [], [added, {"action": "set-current-schema", "schema-id": -1}])
    once(store, lambda: commit(call, [other]))
    with pytest.raises(RequirementFailed, match="current schema changed"):
        commit(call, [change("mine", {"type": "assert-current-schema-id", "current-schema-id": 0})])
    assert load(call, "db", "t")[1].document["properties"] == {}
    assert files(tmp_path) == referred(call)


def _column() -> dict[str, Any]:
    return {"id": 2, "name": "x", "type": "int", "required": False}


def test_a_commit_that_is_overtaken_each_time_gives_up(call: Call, store: Store, tmp_path: Path) -> None:
    attempts = []

    def stale() -> None:
        attempts.append(1)
        raise StaleTable("db", "t", "0", "1")

    store.before = stale
    with pytest.raises(CommitFailed):
        commit(call, [change("mine")])
    assert len(attempts) == 5
    assert files(tmp_path) == referred(call)


def test_the_files_of_a_commit_with_an_unknown_outcome_stay(call: Call, store: Store, tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError("the connection broke")

    store.before = fail
    with pytest.raises(CommitStateUnknown):
        commit(call, [change("mine")])
    assert len(files(tmp_path) - referred(call)) == 1


def test_a_transaction_that_fails_leaves_no_files(call: Call, tmp_path: Path) -> None:
    failing = change("b", {"type": "assert-table-uuid", "uuid": "x"}, name="t")
    made = Change("db", "new", [{"type": "assert-create"}], _creating())
    with pytest.raises(RequirementFailed):
        commit(call, [made, failing])
    assert files(tmp_path) == referred(call)


def _creating() -> list[dict[str, Any]]:
    return [
        {"action": "add-schema", "schema": SCHEMA},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"fields": []}},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
        {"action": "set-default-sort-order", "sort-order-id": -1},
    ]


def test_a_table_that_another_created_first_is_a_failed_requirement(call: Call, store: Store, tmp_path: Path) -> None:
    made = Change("db", "new", [{"type": "assert-create"}], _creating())
    once(store, lambda: commit(call, [made]))
    with pytest.raises(RequirementFailed, match="already exists"):
        commit(call, [made])
    assert len(files(tmp_path)) == 2


def test_a_commit_that_changes_nothing_writes_nothing(call: Call, tmp_path: Path) -> None:
    commit(call, [change("a")])
    before = files(tmp_path)
    [loaded] = commit(call, [change("a")])
    assert files(tmp_path) == before
    assert loaded.location in before
