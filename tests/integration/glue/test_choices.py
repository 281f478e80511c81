"""Choices over a real Spark: JSON whose records disagree, and frames with choices through Spark's operations."""

import json

import pytest

from awsglue.context import GlueContext
from penstock.spark.glue.schemas import gluetypes as g
from penstock.spark.glue.schemas.choices import glue_type, has_choice, spark_type, without_marks
from penstock.spark.glue.schemas.inference import type_of_texts
from penstock.spark.glue.schemas.json_records import json_frame
from penstock.spark.glue.schemas.tree import schema_tree

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
    frame = json_frame(texts, "text")
    kind = glue_type(frame.schema)
    assert isinstance(kind, g.StructType)
    assert schema_tree(kind) == TREE
    # The marks survive what Spark does with the frame.
    assert glue_type(
        frame.union(frame).where("line < 9").repartition(2).selectExpr("struct(*) as w").schema
    ) == g.StructType([g.Field("w", kind)])
    plain = without_marks(frame)
    assert not has_choice(plain.schema)
    found = [json.loads(text) for text in plain.orderBy("line", "big.double").toJSON().collect()]
    assert found == [
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
    (inferred,) = type_of_texts(TEXTS)
    assert glue_type(spark_type(inferred)) == inferred
