"""A schema with more versions than one pass plans for: which are expected, and how seldom they are listed."""

import json
from uuid import UUID

from penstock.pipelines.decode import Decode
from penstock.schema.version import SchemaVersion
from penstock.spark.decode.versions import SchemaVersions


class Registry:
    """A schema of ``count`` versions; it counts how often they are listed."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.lists = 0

    def versions(self, registry: str, schema: str, *, available_only: bool = True) -> list[SchemaVersion]:
        self.lists += 1
        return [self._version(number) for number in range(1, self.count + 1)]

    def version(self, version_id: UUID | str) -> SchemaVersion:
        raise NotImplementedError

    def latest_number(self, registry: str, schema: str) -> int:
        return self.count

    @staticmethod
    def _version(number: int) -> SchemaVersion:
        fields = [{"name": "id", "type": "long"}]
        return SchemaVersion(
            id=UUID(int=number),
            schema_arn="",
            registry_name="r",
            schema_name="s",
            number=number,
            definition=json.dumps({"type": "record", "name": "R", "doc": f"{number}", "fields": fields}),
            data_format="AVRO",
        )


def known(registry: Registry) -> SchemaVersions:
    versions = SchemaVersions(registry, Decode(registry="r", schema="s", max_branches=5))
    versions.refresh()
    return versions


def numbers(versions: SchemaVersions) -> list[int]:
    return [writer.number for writer in versions.plan(versions.likely()).writers]


def test_few_versions_are_all_planned_for() -> None:
    versions = known(Registry(5))
    assert versions.likely() is None
    assert numbers(versions) == [5, 4, 3, 2, 1]


def test_of_many_the_newest_are_expected_and_those_of_the_last_batches() -> None:
    versions = known(Registry(200))
    assert numbers(versions) == [200, 199, 198, 197, 196]
    versions.note([UUID(int=7), UUID(int=9)])
    assert numbers(versions) == [200, 199, 198, 9, 7]
    versions.note([UUID(int=index) for index in range(20, 25)])
    assert numbers(versions) == [200, 24, 23, 22, 21]
    assert versions.known_of([UUID(int=7), UUID(int=201)]) == [UUID(int=7)]


def test_a_plan_is_the_same_object_until_something_changes() -> None:
    registry = Registry(200)
    versions = known(registry)
    first = versions.plan(versions.likely())
    versions.refresh()
    assert versions.plan(versions.likely()) is first
    registry.count = 201
    versions.refresh()
    assert versions.plan(versions.likely()) is not first
    assert numbers(versions)[0] == 201


def test_a_long_list_is_read_again_when_there_is_a_later_version_or_an_unknown_one() -> None:
    registry = Registry(200)
    versions = known(registry)
    for _ in range(3):
        versions.refresh()
    assert registry.lists == 1
    versions.relist()
    assert registry.lists == 2
    registry.count = 201
    versions.refresh()
    assert registry.lists == 3
