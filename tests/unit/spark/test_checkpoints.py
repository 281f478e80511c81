"""Checkpoints read as Spark writes them, and held against the ledger."""

import json
from collections.abc import Iterable

import pytest

from penstock.errors import DataProblem
from penstock.lake.files import MemoryFiles
from penstock.lake.ledger import Batch, Ledger, Manifest
from penstock.spark.checkpoints import (
    batch_of,
    check,
    lost_offsets,
    query_id,
    record_count,
    remove_empty_files,
    resume_offsets,
    sync_log,
)

QUERY = "c04200ca-af1f-4b08-aa0f-169cad7bba6a"
OFFSETS = '{"t":{"1":5,"0":4}}'


def spark_checkpoint() -> MemoryFiles:
    files = MemoryFiles()
    files.files["cp/metadata"] = json.dumps({"id": QUERY}).encode()
    files.files["cp/sources/0/0"] = b"\0v1\n" + b'{"t":{"0":0,"1":0}}'
    files.files["cp/offsets/0"] = b'v1\n{"batchWatermarkMs":0}\n' + OFFSETS.encode()
    return files


def committed(files: MemoryFiles) -> Ledger:
    ledger = Ledger(files, table="s3://lake/t", pipeline="p", query=QUERY)
    ledger.open()
    batch = batch_of(files, "cp", 0)
    ledger.run(batch, lambda: Manifest(batch=batch, moves=()))
    return ledger


def start(files: MemoryFiles) -> None:
    """What the runner does before it starts the stream."""
    check(files, "cp", Ledger(files, table="s3://lake/t", pipeline="p", query=query_id(files, "cp") or ""))


def test_a_batch_has_its_offsets_from_the_log() -> None:
    batch = batch_of(spark_checkpoint(), "cp", 0)
    assert json.loads(batch.start) == {"t": {"0": 0, "1": 0}}
    assert json.loads(batch.end) == {"t": {"0": 4, "1": 5}}
    assert record_count(batch) == 9


def test_a_new_pipeline_and_a_whole_one_may_start() -> None:
    empty = MemoryFiles()
    assert query_id(empty, "cp") is None
    check(empty, "cp", Ledger(empty, table="s3://lake/t", pipeline="p", query=""))
    files = spark_checkpoint()
    check(files, "cp", committed(files))


@pytest.mark.parametrize(
    ("path", "data", "message"),
    [
        ("cp/metadata", b"{}", "cp/metadata is damaged: it has no query id"),
        ("cp/offsets/0", b"", "cp/offsets/0 is damaged: it is empty"),
        ("cp/offsets/0", b"v1\n{}\n{", "cp/offsets/0 is damaged: its offsets are not JSON"),
        ("cp/offsets/0", b'v1\n{}\n{"t":{"0":1}}', "cp/offsets/0 says .* the ledger committed batch 0"),
        ("cp/offsets/0", None, "cp/offsets/0 is missing, and the ledger has committed batch 0"),
        ("cp/metadata", None, "cp/metadata is missing, and the ledger has batches up to 0"),
        ("cp/metadata", b'{"id": "another"}', "belongs to query"),
    ],
)
def test_what_does_not_fit_is_refused_and_named(path: str, data: bytes | None, message: str) -> None:
    files = spark_checkpoint()
    committed(files)
    if data is None:
        del files.files[path]
    else:
        files.files[path] = data
    with pytest.raises(DataProblem, match=message) as caught:
        start(files)
    assert "--resume-from-ledger" in str(caught.value)


def test_resuming_starts_where_the_ledger_ends_and_only_in_a_new_checkpoint() -> None:
    files = spark_checkpoint()
    last = committed(files).last()
    assert last is not None
    assert json.loads(resume_offsets(files, "new", last) or "") == {"t": {"0": 4, "1": 5}}
    with pytest.raises(DataProblem, match="cp is not new"):
        resume_offsets(files, "cp", last)


def test_offsets_without_a_record_are_reported() -> None:
    whole = Batch(3, '{"t":{"0":4,"1":5}}', '{"t":{"0":6,"1":9}}')
    assert lost_offsets(whole, 6) == []
    assert [line.partition(":")[0] for line in lost_offsets(whole, 4)] == ["2 offsets have no record"]
    anew = Batch(3, '{"t":{"0":20,"1":5}}', '{"t":{"0":6,"1":9}}')
    (said,) = lost_offsets(anew, 4)
    assert said.startswith("partition 0 of topic t went back from offset 20 to 6")


def test_a_commit_that_is_none_is_named_and_may_go() -> None:
    files = spark_checkpoint()
    committed(files)
    files.files["cp/commits/0"] = b"v1\n{}"
    start(files)
    files.files["cp/commits/0"] = b"{"
    with pytest.raises(DataProblem, match=r"cp/commits/0 is damaged.* Remove it"):
        start(files)
    del files.files["cp/commits/0"]
    start(files)


def test_what_a_power_loss_left_empty_goes_where_the_ledger_does_without() -> None:
    files = spark_checkpoint()
    files.files |= dict.fromkeys(("cp/metadata", "cp/sources/0/0", "cp/offsets/0"), b"")
    remove_empty_files(files, "cp", None)
    assert files.files == {}

    files = spark_checkpoint()
    last = committed(files).last()
    kept = dict(files.files)
    files.files |= {"cp/commits/0": b"", "cp/offsets/1": b""}
    assert remove_empty_files(files, "cp", last) == ["cp/commits/0", "cp/offsets/1"]
    assert files.files == kept
    start(files)

    # What the ledger's last commit rests on was synced before it: gone, it is no power loss.
    files.files["cp/offsets/0"] = b""
    assert remove_empty_files(files, "cp", last) == []
    with pytest.raises(DataProblem, match="cp/offsets/0 is damaged"):
        start(files)


def test_what_spark_writes_once_is_synced_once() -> None:
    synced: list[str] = []

    class Files(MemoryFiles):
        def sync(self, paths: Iterable[str], *, below: str) -> None:
            synced.extend(path.removeprefix(f"{below}/") for path in paths)

    sync_log(Files(), "s3://lake/checkpoint", 7)
    assert {"metadata", "sources/0/0", "offsets/7", "commits/6"} <= set(synced)
    synced.clear()
    sync_log(Files(), "s3://lake/checkpoint", 8, first=False)
    assert {"offsets/8", "commits/7"} <= set(synced)
    assert not {"metadata", "sources/0/0"} & set(synced)
