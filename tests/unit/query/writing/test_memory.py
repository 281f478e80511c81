"""What many partitions at once take of a process's memory."""

import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa

from penstock.sql.hive_types import parse_hive_type
from penstock.query.settings import QuerySettings
from penstock.query.writing.options import WriteOptions
from penstock.query.writing.partitioned import PartitionedWriter

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 >> 20

settings = QuerySettings(output_location="s3://lake/")
context = SimpleNamespace(task=SimpleNamespace(folder=Path(sys.argv[1]), id="one", settings=settings))
columns = [("id", parse_hive_type("bigint")), ("note", parse_hive_type("string"))]
options = WriteOptions(format="PARQUET", compression="SNAPPY")
writer = PartitionedWriter(context, columns, [("p", parse_hive_type("int"))], options)

def batches():
    for start in range(0, 400_000, 16_384):
        ids = range(start, start + 16_384)
        notes = [f"note {number * 7919} about something longer than a word or two" for number in ids]
        yield pa.record_batch([ids, notes, pa.array([number % 100 for number in ids], pa.int32())], ["id", "note", "p"])

before = resident()
writer.write_all(batches())
after = resident()
assert len(writer.finish(empty=False)) == 100
print(after - before)
"""


def test_a_hundred_partitions_at_once_take_little_more_than_their_buffer(tmp_path: Path) -> None:
    environment = {"ARROW_DEFAULT_MEMORY_POOL": "system"}  # as a statement's process has it
    program = [sys.executable, "-c", _PROGRAM, str(tmp_path)]
    grown = subprocess.run(program, env=environment, capture_output=True, text=True, check=True).stdout
    assert int(grown) < 200  # MB
