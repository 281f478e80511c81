"""Types are mapped in penstock.types alone, and in the modules that are listed here with the reason."""

from pathlib import Path

import penstock
from tests.unit.types.strays import strays

SOURCE = Path(penstock.__file__).parent
ROOM = "types/"
ALLOWED = {
    "spark/types.py": "the adapter of Spark: only spark may import pyspark",
    "schema/protobuf/columns.py": "the adapter of Protobuf, which reads the format's own model of descriptors",
    "schema/protobuf/model.py": "texts of Protobuf's own map<K, V>",
    "schema/protobuf/render.py": "texts of Protobuf's own map<K, V>",
    "glue/schemas/choices.py": "Glue's types, with choices: AWS's contract",
    "glue/schemas/inference.py": "Glue's types of Python's values: AWS's contract",
    "sql/trino_types.py": "Trino's types: names that its SQL has for them",
    "sql/functions/build.py": "Trino's types, also those that the lake lacks, in the engine's words",
    "query/engine/failures.py": "names of types in the engine's messages",
    "query/writing/bucketing.py": "Hive's hashes of values, by their type",
    "query/writing/iceberg/data_files.py": "the numbers in which Iceberg counts times",
    "api/aws/protocol/shapes.py": "AWS's shapes of requests",
    "catalog/partitions/values.py": "what values of partitions are compared as",
    "spark/decode/formats/json_checks.py": "a regular expression over Spark's texts of variants",
    "spark/decode/inferred.py": "JSON's types of Spark's variants",
}


def test_no_other_module_maps_types() -> None:
    assert not [stray for stray in strays(SOURCE) if not stray.module.startswith(ROOM) and stray.module not in ALLOWED]


def test_every_module_that_is_listed_maps_types() -> None:
    modules = {stray.module for stray in strays(SOURCE)}
    assert sorted(set(ALLOWED) - modules) == []


def test_tables_and_texts_of_types_are_found(tmp_path: Path) -> None:
    (tmp_path / "strays.py").write_text(
        """
NAMES = {"long": "bigint", "int": "INTEGER", "bytes": "VARBINARY(10)", "text": "varchar"}
CLASSES = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string(), "date": date32()}
VALUES = {IntegerType: Scalar("int"), LongType: Scalar("bigint"), DateType: ("date", 1), g.BooleanType: BOOLEAN}
text = f"struct<{name}:{kind}>"
text = f"STRUCT<a: int, b: {kind}>"
"""
    )
    (tmp_path / "others.py").write_text(
        """
READERS = {"int": _integer, "bigint": _long, "date": _date, "string": _text}
FEW = {"int": "integer", "long": "bigint", "name": "text"}
WIDTHS = {"int": 32, "bigint": 64, "tinyint": 8, "smallint": 16}
text = "struct<a:int>"
text = f"{start}<{end}>"
"""
    )
    assert [(stray.module, stray.line, stray.what) for stray in strays(tmp_path)] == [
        ("strays.py", 2, "table"),
        ("strays.py", 3, "table"),
        ("strays.py", 4, "table"),
        ("strays.py", 5, "text"),
        ("strays.py", 6, "text"),
    ]
