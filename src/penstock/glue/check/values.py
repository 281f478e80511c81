"""What a value of a script can be, as far as its uses of Glue's library depend on it.

A value is a set of these; an empty set is one of which nothing is known. Source of what the methods return: "AWS Glue
PySpark extensions reference", https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-python-extensions.html
"""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.glue.library.table import ROWS

__all__ = [
    "CLASSES",
    "FRAME",
    "RETURNS",
    "Entries",
    "Function",
    "Instance",
    "Method",
    "Module",
    "Name",
    "Text",
    "Value",
    "Values",
]


@dataclass(frozen=True, slots=True)
class Module:
    """A module of Glue's library, or boto3."""

    name: str


@dataclass(frozen=True, slots=True)
class Name:
    """A name of a module: a class, a transform or a function."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class of Glue's or of Spark's."""

    owner: str


@dataclass(frozen=True, slots=True)
class Method:
    """A method of an object of a class of Glue's or Spark's."""

    owner: str
    name: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the script, by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class Text:
    """A literal text."""

    text: str


@dataclass(frozen=True, slots=True)
class Entries:
    """A literal dictionary: its keys that are texts, each with its value as text (None: it is computed) and its line.

    It is ``fixed`` where it is written; under a name it may have been changed since.
    """

    items: tuple[tuple[str, str | None, int], ...]
    fixed: bool = True


Value = Module | Name | Instance | Method | Function | Text | Entries
Values = frozenset[Value]

CLASSES: Mapping[str, str] = {
    "GlueContext": "awsglue.context",
    "DynamicFrame": "awsglue.dynamicframe",
    "DynamicFrameCollection": "awsglue.dynamicframe",
    "DynamicFrameReader": "awsglue.dynamicframe",
    "DynamicFrameWriter": "awsglue.dynamicframe",
    "Job": "awsglue.job",
    "DataSink": "awsglue.data_sink",
    "DataSource": "awsglue.data_source",
}
"""The modules of the classes whose objects are told apart."""

FRAME = Instance("DynamicFrame")
_COLLECTION, _DATA = Instance("DynamicFrameCollection"), Instance("DataFrame")

RETURNS: Mapping[tuple[str, str], Instance] = {
    **{("GlueContext", name): FRAME for name in ("create_dynamic_frame_from_rdd", "create_dynamic_frame_from_options")},
    ("GlueContext", "create_dynamic_frame_from_catalog"): FRAME,
    ("GlueContext", "create_sample_dynamic_frame_from_catalog"): FRAME,
    ("GlueContext", "create_sample_dynamic_frame_from_options"): FRAME,
    ("GlueContext", "add_ingestion_time_columns"): _DATA,
    ("GlueContext", "create_data_frame_from_options"): _DATA,
    ("GlueContext", "create_data_frame_from_catalog"): _DATA,
    ("GlueContext", "getSource"): Instance("DataSource"),
    ("GlueContext", "getStreamingSource"): Instance("DataSource"),
    ("GlueContext", "getSink"): Instance("DataSink"),
    ("GlueContext", "sql"): _DATA,
    ("GlueContext", "table"): _DATA,
    ("DataSource", "getFrame"): FRAME,
    ("DataSource", "getDataFrame"): _DATA,
    ("DynamicFrame", "fromDF"): FRAME,
    ("DynamicFrame", "toDF"): _DATA,
    **{
        ("DynamicFrame", name): FRAME
        for name in (
            *("apply_mapping", "applyMapping", "select_fields", "drop_fields", "rename_field", "filter", "map", "join"),
            *("unbox", "unnest", "resolveChoice", "mergeDynamicFrame", "repartition", "coalesce", "union"),
            *("mapPartitions", "mapPartitionsWithIndex", "errorsAsDynamicFrame", "with_frame_schema"),
            *("unnest_ddb_json", "simplify_ddb_json"),
        )
    },
    **{("DynamicFrame", row.module): FRAME for row in ROWS if row.module.startswith("gs_")},
    **{("DynamicFrame", name): _COLLECTION for name in ("relationalize", "split_fields", "split_rows")},
    ("DynamicFrameCollection", "select"): FRAME,
    ("SparkSession", "sql"): _DATA,
    ("SparkSession", "table"): _DATA,
    ("SparkSession", "createDataFrame"): _DATA,
    **{("Transform", name): FRAME for name in ("apply", "__call__", "detect", "process_rows")},
}
"""What methods return, by class and name; ``Transform`` stands for the classes of ``awsglue.transforms``."""
