"""The versions that a pipeline decodes with: readers, Confluent's ids, formats that do not fit."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest

from penstock.errors import DataProblem, NotFound
from penstock.pipelines.decode import ConfluentRegistry, Decode
from penstock.schema.version import SchemaVersion
from penstock.spark.decode.versions import FOREIGN, SchemaVersions

AVRO = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'


def version(number: int, definition: str = AVRO, data_format: str = "AVRO") -> SchemaVersion:
    return SchemaVersion(
        id=UUID(int=number),
        schema_arn="",
        registry_name="r",
        schema_name="s",
        number=number,
        definition=definition,
        data_format=data_format,
    )


class Listed:
    def __init__(self, *listed: SchemaVersion) -> None:
        self.listed = listed

    def versions(self, registry: str, schema: str, *, available_only: bool = True) -> Sequence[SchemaVersion]:
        return self.listed

    def version(self, version_id: UUID | str) -> SchemaVersion:
        raise NotFound("No such version.")


class Subject:
    """The answers of Confluent's API for one subject of two versions, with ids 11 and 12."""

    def __init__(self, name: str, guids: Sequence[UUID]) -> None:
        self.path, self.guids, self.asked = f"/subjects/{name}/versions", guids, 0

    def request(self, method: str, path: str, body: bytes | None = None) -> Any:
        self.asked += 1
        if path == self.path:
            return [1, 2]
        if not path.startswith(self.path):
            raise NotFound(path)
        number = int(path.rsplit("/", 1)[1])
        return {"id": 10 + number, "guid": str(self.guids[number - 1]), "schema": AVRO, "version": number}


def test_ids_of_penstocks_own_registry_name_the_versions_of_glue() -> None:
    subject = Subject("%3A.r%3As", [UUID(int=1), UUID(int=2)])
    known = SchemaVersions(Listed(version(1), version(2)), Decode(registry="r", schema="s"), connect=lambda _: subject)
    known.refresh()
    assert (known.plan().plain, known.plan().confluent, subject.asked) == (True, (), 0)
    known.learn(None)  # type: ignore[arg-type]
    plan = known.plan()
    assert (plan.plain, plan.confluent) == (False, ((11, UUID(int=1)), (12, UUID(int=2))))
    assert plan.prefixes[b"\x00\x00\x00\x00\x0b"] == plan.prefixes[b"\x03" + UUID(int=1).bytes] == 1
    known.refresh()
    assert known.plan().mixed


def test_versions_of_another_registry_have_numbers_of_their_own() -> None:
    subject = Subject("theirs", [uuid4(), uuid4()])
    declared = ConfluentRegistry(url="http://registry", subject="theirs")
    known = SchemaVersions(
        Listed(version(1)),
        Decode(registry="r", schema="s", frames="confluent", confluent=declared),
        connect=lambda _: subject,
    )
    known.refresh()
    plan = known.plan()
    assert [writer.number for writer in plan.writers] == [FOREIGN + 2, FOREIGN + 1, 1]
    assert plan.reader.number == 1
    alone = SchemaVersions(Listed(), Decode(confluent=declared), connect=lambda _: subject)
    alone.refresh()
    assert [writer.number for writer in alone.plan().writers] == [2, 1]


def test_what_looked_like_confluents_frame_is_forgotten_if_there_is_no_such_registry() -> None:
    known = SchemaVersions(Listed(version(1)), Decode(registry="r", schema="s"))
    known.refresh()
    known.learn(None)  # type: ignore[arg-type]
    assert known.plan().mixed
    known.refresh()
    assert known.plan().plain


def test_records_without_a_frame_are_of_the_declared_version() -> None:
    known = SchemaVersions(Listed(version(1), version(2)), Decode(registry="r", schema="s", frames="none", version=1))
    known.refresh()
    assert (known.plan().unframed, known.plan().reader.number) == (1, 2)


def test_a_declared_format_that_the_schema_does_not_have_is_refused() -> None:
    known = SchemaVersions(Listed(version(1)), Decode(registry="r", schema="s", format="json"))
    known.refresh()
    with pytest.raises(DataProblem, match="is AVRO, and decode"):
        known.plan()


def test_a_version_of_another_format_than_the_reader_is_no_writer() -> None:
    document = json.dumps({"type": "object", "properties": {"a": {"type": "integer"}}})
    known = SchemaVersions(Listed(version(1), version(2, document, "JSON")), Decode(registry="r", schema="s"))
    known.refresh()
    assert [writer.number for writer in known.plan().writers] == [2]
