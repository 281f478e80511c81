"""The classes of Hive that a table gets for its files' format, as Glue's crawlers write them."""

from penstock.catalog.storage_classes import STORAGE_CLASSES, StorageClasses
from penstock.crawl.model import FileFormat

__all__ = ["classes_of"]

_NONE = StorageClasses("", "", "")
_TEXT = STORAGE_CLASSES["TEXTFILE"]
_JSON = StorageClasses(_TEXT.input_format, _TEXT.output_format, "org.openx.data.jsonserde.JsonSerDe")
_GROK = StorageClasses(_TEXT.input_format, _TEXT.output_format, "com.amazonaws.glue.serde.GrokSerDe")
_QUOTED = StorageClasses(_TEXT.input_format, _TEXT.output_format, "org.apache.hadoop.hive.serde2.OpenCSVSerde")


def classes_of(file_format: FileFormat) -> StorageClasses:
    """Return the input and output class and the SerDe of a format; empty where Hive has none, as for XML."""
    if "input.format" in dict(file_format.serde):
        return _GROK
    if file_format.classification == "json":
        return _JSON
    if file_format.classification == "csv":
        return _QUOTED if "quoteChar" in dict(file_format.serde) else _TEXT
    return STORAGE_CLASSES.get(file_format.classification.upper(), _NONE)
