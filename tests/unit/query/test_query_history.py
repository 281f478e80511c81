"""The history of statements is forgotten after 45 days, and managed results after 24 hours."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from penstock.lake.locations import LakeFolder
from penstock.query.history import History
from penstock.query.results.sinks import LakeSink
from penstock.statements.model import Statement, StatementId, StatementState, StatementType
from penstock.store.sql.statements import SqlStatementStore
from penstock.testing.sqlite import new_database

NOW = datetime(2026, 11, 22, tzinfo=UTC)


class World:
    """A store and a lake with results."""

    def __init__(self, root: Path) -> None:
        (root / "lake").mkdir()
        self.root = root
        self.now = NOW
        self.store = SqlStatementStore(new_database())
        self.history = History(self.store, LakeSink(LakeFolder(root)), lambda: self.now)

    def done(self, name: str, *, age: timedelta, managed: bool = False, group: str = "primary") -> None:
        for ending in ("csv", "csv.metadata"):
            (self.root / "lake" / f"{name}.{ending}").write_text("")
        self.store.add(
            Statement(
                id=StatementId(name),
                sql="SELECT 1",
                type=StatementType.DML,
                workgroup=group,
                output_location="s3://lake/",
                result_uri=f"s3://lake/{name}.csv",
                managed=managed,
                state=StatementState.SUCCEEDED,
                submitted=NOW - age,
                completed=NOW - age,
                owner="host:1:x",
                heartbeat=NOW - age,
            )
        )

    @property
    def known(self) -> list[str]:
        return [statement.id for statement in self.store.finished(limit=9)]

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in (self.root / "lake").iterdir())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_what_is_old_is_forgotten_and_only_managed_results_are_removed(world: World) -> None:
    world.done("old", age=timedelta(days=46))
    world.done("old-managed", age=timedelta(days=46), managed=True)
    world.done("managed", age=timedelta(hours=25), managed=True)
    world.done("fresh-managed", age=timedelta(hours=23), managed=True)
    world.history.trim()
    assert world.known == ["managed", "fresh-managed"]
    assert world.files == [f"{name}.{end}" for name in ("fresh-managed", "old") for end in ("csv", "csv.metadata")]
    expired = world.store.get(StatementId("managed"))
    assert expired is not None
    assert expired.result_uri == ""


def test_it_is_trimmed_once_an_hour(world: World) -> None:
    world.history.trim_hourly()
    world.done("old", age=timedelta(days=46))
    world.history.trim_hourly()
    assert world.known == ["old"]
    world.now += timedelta(hours=1)
    world.history.trim_hourly()
    assert world.known == []


def test_a_deleted_work_group_is_forgotten_with_its_managed_results(world: World) -> None:
    world.done("one", age=timedelta(), managed=True, group="team")
    world.done("other", age=timedelta())
    assert world.history.is_used("team")
    world.history.forget("team")
    assert not world.history.is_used("team")
    assert (world.known, world.files) == (["other"], ["other.csv", "other.csv.metadata"])
