"""The options of formats: ``format_options`` of reads and writes.

Source: "Data format options for inputs and outputs in AWS Glue for Spark" and the page of each format,
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-format.html. AWS has one list for both directions: an
option of the reader says nothing to the writer, there as here.
"""

from collections.abc import Mapping, Sequence

from penstock.glue.library.option_rows import OptionRow, no_effect, refused, served

__all__ = ["ATTACHED", "FORMATS", "MERGED", "READ_ONLY"]

ATTACHED = served("attachFilename attachTimestamp")
"""Options of every format."""

_SCHEMA = "Leave it out: the files give the columns, and ApplyMapping their types."
_OPTIMIZED = no_effect("optimizePerformance", "There is one reader.", harmless=("false",))
MERGED = no_effect("mergeSchema", "The columns of all files are read in any case.", harmless=("true",))
"""Spark's own option, of Parquet and ORC."""

_PARQUET = [*served("compression blockSize pageSize useGlueParquetWriter"), *_OPTIMIZED, *MERGED]

FORMATS: Mapping[str, Sequence[OptionRow]] = {
    "csv": [
        *served("separator quoteChar escaper multiLine multiline withHeader writeHeader skipFirst encoding"),
        *_OPTIMIZED,
        *no_effect("strictCheckForQuoting", "Values are in quotes where they need them.", harmless=("true",)),
        *refused("withSchema", _SCHEMA),
    ],
    "json": [*served("jsonPath multiLine multiline"), *_OPTIMIZED, *refused("withSchema", _SCHEMA)],
    "parquet": _PARQUET,
    "glueparquet": _PARQUET,
    "orc": [*served("compression"), *MERGED],
    "avro": no_effect("version", "Logical types are read and written as 1.8 does.", harmless=("1.8",)),
    "groklog": [
        *served("logFormat customPatterns MISSING"),
        *refused("LineCount", "A record is a line: read the files with spark.read.text.", harmless=("1",)),
        *refused("StrictMode", "Leave it out, and give fields no types: they are texts then.", harmless=("false",)),
    ],
    "xml": [
        *served("rowTag encoding excludeAttribute treatEmptyValuesAsNulls attributePrefix valueTag ignoreSurroundingSpaces"),
        *refused("withSchema", _SCHEMA),
    ],
}
"""By format, without those of :data:`ATTACHED`."""

READ_ONLY = ("groklog", "xml")
"""The formats that are not written, as on AWS."""
