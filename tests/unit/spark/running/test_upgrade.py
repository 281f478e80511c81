"""The ledger's memory of the declaration, and a checkpoint whose ledger is elsewhere."""

from pathlib import Path

import pytest

from penstock.errors import DataProblem, InvalidInput
from penstock.lake.files import MemoryFiles
from penstock.lake.reading import LakeReader
from penstock.pipelines import Pipeline, parse_pipeline
from penstock.spark.running.assembly import ledger_of
from penstock.spark.running.upgrade import check_upgrade, remember

_QUERY = "0f" * 16


def _pipeline(name: str = "orders", partition: str = "day", topic: str = "orders") -> Pipeline:
    return parse_pipeline(
        f"""
name: {name}
source: {{kafka: {{brokers: "b:9092", topic: {topic}, security_protocol: PLAINTEXT}}}}
decode: {{registry: r, schema: s}}
sink: {{parquet: {{location: s3://l/orders, partition_by: [{partition}]}}}}
dead_letters: {{location: s3://l/dead}}
checkpoint: s3://l/checkpoint
""",
        origin="orders.yaml",
        environment={},
    )


@pytest.fixture
def files() -> MemoryFiles:
    """A lake with a ledger of the pipeline, and its checkpoint after batch 3."""
    made = MemoryFiles()
    ledger = ledger_of(made, _pipeline(), _QUERY)
    ledger.open()
    remember(ledger, _pipeline())
    made.write("s3://l/checkpoint/commits/3", b"v1\n{}")
    return made


def test_all_that_cannot_go_on_is_said_at_once(files: MemoryFiles) -> None:
    assert check_upgrade(files, _pipeline()) == []
    with pytest.raises(InvalidInput) as caught:
        check_upgrade(files, _pipeline(partition="country", topic="other"))
    assert str(caught.value).startswith(
        "orders.yaml: pipeline orders cannot go on where it was. (1) source.kafka topics was"
    )
    assert "(2) partition_by of sink sink was day and is country" in str(caught.value)


def test_a_checkpoint_without_its_ledger_is_refused(files: MemoryFiles) -> None:
    with pytest.raises(DataProblem, match="has batches up to 3, and pipeline renamed has no ledger at s3://l/orders"):
        check_upgrade(files, _pipeline(name="renamed"))


def test_a_ledger_of_an_earlier_release_and_a_new_pipeline_have_nothing_to_compare(files: MemoryFiles) -> None:
    files.delete("s3://l/orders/_penstock/orders/ledger/declared.json")
    assert check_upgrade(files, _pipeline(partition="country")) == []
    assert check_upgrade(MemoryFiles(), _pipeline()) == []


def test_a_dry_run_reads_the_same_from_the_folders_of_a_lake(files: MemoryFiles, tmp_path: Path) -> None:
    for name, content in files.files.items():
        path = tmp_path / name.removeprefix("s3://")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def no_s3() -> None:
        raise AssertionError

    reader = LakeReader(tmp_path, no_s3)
    assert check_upgrade(reader, _pipeline()) == []
    with pytest.raises(InvalidInput, match="cannot go on"):
        check_upgrade(reader, _pipeline(partition="country"))
    with pytest.raises(InvalidInput, match="only read here"):
        reader.write("s3://l/x", b"")
