"""Choices over a real Spark: JSON whose records disagree, and frames with choices through Spark's operations."""

import json
import logging
from pathlib import Path

import pytest

from awsglue.context import GlueContext
from awsglue.dynamicframe import DynamicFrame
from penstock.glue.payload import TEXT_COLUMN
from penstock.glue.schemas import gluetypes as g
from penstock.glue.schemas.choices import glue_type, has_choice, spark_type, without_marks
from penstock.glue.schemas.inference import type_of_texts
from penstock.glue.schemas.json_records import json_frame
from penstock.glue.schemas.tree import schema_tree

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

TEXTS = [
    '{"provider id": 1, "n.m": [1, "x", {"q": 2.5}], "c": {"d": "5"}, "big": 5, "nothing": null}',
    '{"provider id": "s", "n.m": [[1, "y"]], "c": {"d": true}, "big": 123456789012345678901}',
    '[{"provider id": 2, "big": 1.5}, {"provider id": 3000000000, "big": 3}]',
    "[]",
    "{bad",
]
TREE = """\
root
|-- provider id: choice
|    |-- int
|    |-- long
|    |-- string
|-- n.m: array
|    |-- element: choice
|    |    |-- array
|    |    |    |-- element: choice
|    |    |    |    |-- int
|    |    |    |    |-- string
|    |    |-- int
|    |    |-- string
|    |    |-- struct
|    |    |    |-- q: double
|-- c: struct
|    |-- d: choice
|    |    |-- boolean
|    |    |-- string
|-- big: choice
|    |-- decimal
|    |-- double
|    |-- int
|-- nothing: null
|-- line: int"""


def test_json_whose_records_disagree_keeps_every_value_in_its_own_type(glue_context: GlueContext) -> None:
    rows = list(enumerate(TEXTS))
    texts = glue_context.createDataFrame([(text, line) for line, text in rows], "text STRING, line INT")
    frame = json_frame(texts, "text").frame
    kind = glue_type(frame.schema)
    assert isinstance(kind, g.StructType)
    assert schema_tree(kind) == TREE
    # The marks survive what Spark does with the frame.
    assert glue_type(
        frame.union(frame).where("line < 9").repartition(2).selectExpr("struct(*) as w").schema
    ) == g.StructType([g.Field("w", kind)])
    plain = without_marks(frame)
    assert not has_choice(plain.schema)
    results = [json.loads(text) for text in plain.orderBy("line", "big.double").toJSON().collect()]
    assert results == [
        {
            "provider id": {"int": 1},
            "n.m": [{"int": 1}, {"string": "x"}, {"struct": {"q": 2.5}}],
            "c": {"d": {"string": "5"}},
            "big": {"int": 5},
            "line": 0,
        },
        {
            "provider id": {"string": "s"},
            "n.m": [{"array": [{"int": 1}, {"string": "y"}]}],
            "c": {"d": {"boolean": True}},
            "big": {"decimal": 123456789012345678901},
            "line": 1,
        },
        {"provider id": {"long": 3000000000}, "big": {"int": 3}, "line": 2},
        {"provider id": {"int": 2}, "big": {"double": 1.5}, "line": 2},
        {"line": 4},
    ]
    # Spark's type of the tree is the one that it was made of.
    ((inferred, bad, _),) = type_of_texts(TEXTS)
    assert bad == 1
    assert glue_type(spark_type(inferred)) == inferred


def test_json_of_files_that_cannot_be_read_is_set_aside(
    glue_context: GlueContext, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}\n{bad\n3\n[{"a": 2}]\n[{"a": 3}\n')
    frame = glue_context.create_dynamic_frame.from_options("s3", {"paths": [f"file://{tmp_path}"]}, format="json")
    with caplog.at_level(logging.WARNING, "awsglue"):
        assert sorted(row["a"] for row in frame.toDF().collect()) == [1, 2]
    sample = glue_context.create_sample_dynamic_frame_from_options(
        "s3", {"paths": [f"file://{tmp_path}"]}, num=1, format="json", sample_options={"maxSamplePartitions": 1}
    )
    assert sample.count() == 1
    paths = {"paths": [f"file://{tmp_path}"]}
    ones = glue_context.create_sample_dynamic_frame_from_options(
        "s3", paths, 5, {}, "csv", {"withHeader": True}, "", "false"
    )
    assert ones.count() == 0
    assert "3 records are not JSON and are set aside" in caplog.text
    assert (frame.errorsCount(), schema_tree(frame.schema())) == (3, "root\n|-- a: int")
    assert sorted(row[0]["input"] for row in frame.errorsAsDynamicFrame().toDF().collect()) == ["3", '[{"a": 3}', "{bad"]


def test_numbers_of_a_stream_have_one_type_in_every_batch(glue_context: GlueContext) -> None:
    texts = [('{"n": 1, "x": 1, "s": {"m": 2}}',), ('{"n": 3000000000, "x": 2.5, "s": "t"}',), ("{bad",)]
    batch = glue_context.createDataFrame(texts, f"`{TEXT_COLUMN}` STRING")
    frame = DynamicFrame.fromDF(batch, glue_context, "batch")
    columns = [line for line in schema_tree(frame.schema()).splitlines() if line.startswith("|-- ")]
    assert columns == ["|-- n: long", "|-- s: choice", "|-- x: double"]
    # A script that was written for a batch of ints is right for one of longs.
    mapped = frame.map(lambda record: record).apply_mapping([("n", "int", "n", "long"), ("x", "long", "x", "double")])
    assert sorted(tuple(row) for row in mapped.toDF().na.fill(0).collect()) == [(0, 0.0), (1, 1.0), (3_000_000_000, 2.5)]


def test_empty_arrays_and_nulls_within_a_choice_have_no_type(glue_context: GlueContext) -> None:
    texts = [('{"a": {"b": [], "c": null}, "d": [[]]}',), ('{"a": 5, "d": [1], "e": {}}',)]
    frame = json_frame(glue_context.createDataFrame(texts, "text STRING").coalesce(1), "text").frame
    results = [json.loads(row) for row in without_marks(frame).toJSON().collect()]
    assert results == [{"a": {"struct": {"b": []}}, "d": [{"array": []}]}, {"a": {"int": 5}, "d": [{"int": 1}], "e": {}}]
