"""What runs in Spark's Python workers carries its code with it: a worker needs no Penstock."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyspark.cloudpickle
import pytest

from penstock.schema.version import SchemaText
from penstock.serdes.protobuf.decoder import ProtobufSchema
from penstock.spark.decode.formats import protobuf  # noqa: F401 - registers its worker's module
from penstock.spark.decode.formats.protobuf_worker import MessageTask, WriterRule, message_function
from penstock.spark.decode.inflate import inflater

DEFINITION = 'syntax = "proto3"; message M { int32 a = 1; }'
WORKER = """
import pickle, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "penstock":
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import pyarrow as pa
with open(sys.argv[1], "rb") as file:
    function, arguments = pickle.load(file)
print(function(*arguments).to_pylist())
"""


def message_task() -> MessageTask:
    compiled = ProtobufSchema(SchemaText(definition=DEFINITION, data_format="PROTOBUF"))
    result = pa.struct([("body", pa.struct([("a", pa.int32())])), ("tail", pa.float64())])
    return MessageTask(
        files=(compiled.descriptor("M").file.serialized_pb,),
        message="M",
        rules={1: WriterRule(indexes=((b"\0",), (), (b"",)), strict=True)},
        result=result,
        good=1.0,
        has_required=False,
    )


@pytest.mark.parametrize(
    ("function", "arguments", "shown"),
    [
        (inflater(), (pa.array([b"damaged"]),), "[None]"),
        (
            message_function(message_task()),
            (pa.array([b"\x00\x08\x05", b"\x01"]), pa.array([1, 1]), pa.array([0, 0])),
            "[{'body': {'a': 5}, 'tail': 1.0}, {'body': None, 'tail': None}]",
        ),
    ],
)
def test_a_worker_without_penstock_runs_it(tmp_path: Path, function: object, arguments: object, shown: str) -> None:
    file = tmp_path / "function"
    file.write_bytes(pyspark.cloudpickle.dumps((function, arguments)))  # type: ignore[no-untyped-call]
    ended = subprocess.run([sys.executable, "-c", WORKER, str(file)], capture_output=True, text=True, check=False)
    assert (ended.stdout.strip(), ended.stderr) == (shown, "")
