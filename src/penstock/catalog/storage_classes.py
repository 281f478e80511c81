"""The classes that Hive's STORED AS stands for. Source: Apache Hive language manual, "DDL", "Storage Formats"."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["LAZY_SIMPLE", "STORAGE_CLASSES", "StorageClasses"]

LAZY_SIMPLE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_IO = "org.apache.hadoop.hive.ql.io"


@dataclass(frozen=True, slots=True)
class StorageClasses:
    """The names of a format's input and output classes and of its SerDe."""

    input_format: str
    output_format: str
    serde: str


STORAGE_CLASSES: Mapping[str, StorageClasses] = {
    "TEXTFILE": StorageClasses(
        "org.apache.hadoop.mapred.TextInputFormat", f"{_IO}.HiveIgnoreKeyTextOutputFormat", LAZY_SIMPLE
    ),
    "SEQUENCEFILE": StorageClasses(
        "org.apache.hadoop.mapred.SequenceFileInputFormat", f"{_IO}.HiveSequenceFileOutputFormat", LAZY_SIMPLE
    ),
    "RCFILE": StorageClasses(
        f"{_IO}.RCFileInputFormat",
        f"{_IO}.RCFileOutputFormat",
        "org.apache.hadoop.hive.serde2.columnar.LazyBinaryColumnarSerDe",
    ),
    "ORC": StorageClasses(f"{_IO}.orc.OrcInputFormat", f"{_IO}.orc.OrcOutputFormat", f"{_IO}.orc.OrcSerde"),
    "PARQUET": StorageClasses(
        f"{_IO}.parquet.MapredParquetInputFormat",
        f"{_IO}.parquet.MapredParquetOutputFormat",
        f"{_IO}.parquet.serde.ParquetHiveSerDe",
    ),
    "AVRO": StorageClasses(
        f"{_IO}.avro.AvroContainerInputFormat",
        f"{_IO}.avro.AvroContainerOutputFormat",
        "org.apache.hadoop.hive.serde2.avro.AvroSerDe",
    ),
    "ION": StorageClasses(
        "com.amazon.ionhiveserde.formats.IonInputFormat",
        "com.amazon.ionhiveserde.formats.IonOutputFormat",
        "com.amazon.ionhiveserde.IonHiveSerDe",
    ),
}
"""By the word behind STORED AS."""
