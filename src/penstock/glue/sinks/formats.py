"""The formats that files are written in: Spark's writers under Glue's options, and what a table says of such files.

Source: "Data format options for inputs and outputs in AWS Glue for Spark",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-format.html
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import NullType, StringType

from penstock.catalog.storage_classes import STORAGE_CLASSES
from penstock.errors import InvalidInput
from penstock.glue.options import Options
from penstock.spark.quoting import quoted
from penstock.spark.tables.catalog import PARQUET, TableFormat

__all__ = ["FORMATS", "Output", "output"]

_SIZE = re.compile(r"(\d+)\s*([kKmMgG]?)[bB]?")
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_TEXT = STORAGE_CLASSES["TEXTFILE"]
_ABSENT = {"xml": "Write json, csv or parquet.", "ion": "Write json, csv or parquet.", "groklog": "Write json or csv."}


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """How files are written: Spark's format and options; ``table`` describes them to the catalog, None if Glue does not.

    ``prepare`` changes the frame first.
    """

    form: str
    options: Mapping[str, str] = field(default_factory=dict)
    table: TableFormat | None = None
    prepare: Callable[[DataFrame], DataFrame] = lambda frame: frame


def output(form: str | None, format_options: Mapping[str, Any], *, compression: str | None) -> Output:
    """Return how to write ``form`` by its options.

    Raises :class:`InvalidInput` for a format that cannot be written, and for options that are unknown or wrong.
    """
    name = (form or "").strip().lower()
    if name not in FORMATS:
        formats = f"Use one of {', '.join(FORMATS)}."
        remedy = next((text for absent, text in _ABSENT.items() if absent.lower() == name), formats)
        raise InvalidInput(f"Format {form!r} is not supported for writing.", remedy=remedy)
    details = FORMATS[name](Options(f"the format {name}", format_options))
    if compression is None or compression.lower() in {"", "none", "uncompressed"}:
        return details
    return replace(details, options={**details.options, "compression": compression.lower()})


def _parquet(details: Options) -> Output:
    options = {}
    for name, spark_name in (("blockSize", "parquet.block.size"), ("pageSize", "parquet.page.size")):
        value = details.text(name)
        if value is not None:
            options[spark_name] = str(_bytes(name, value))
    compression = details.text("compression")
    if compression:
        options["compression"] = compression
    glue_writer = details.flag("useGlueParquetWriter")
    return Output(form="parquet", options=options, table=PARQUET, prepare=_without_nulls if glue_writer else _same)


def _glue_parquet(details: Options) -> Output:
    return replace(_parquet(details), prepare=_without_nulls)


def _same(frame: DataFrame) -> DataFrame:
    return frame


def _without_nulls(frame: DataFrame) -> DataFrame:
    """Leave out columns that never have a value, as Glue's own writer of Parquet does."""
    return frame.drop(*(field.name for field in frame.schema if isinstance(field.dataType, NullType)))


def _bytes(name: str, text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f"{name} is {text!r}.", remedy="Write a number of bytes, or a size such as 128MB.")
    return int(match[1]) * _UNITS[match[2].lower()]


def _json(_: Options) -> Output:
    table = TableFormat(
        classification="json",
        input_format=_TEXT.input_format,
        output_format=_TEXT.output_format,
        serde="org.openx.data.jsonserde.JsonSerDe",
    )
    return Output(form="json", table=table)


def _csv(details: Options) -> Output:
    separator, quote = details.text("separator") or ",", details.text("quoteChar", '"') or "-1"
    escaper, header = details.text("escaper", "none") or "none", details.flag("writeHeader", default=True)
    off = quote == "-1"
    serde = {
        "sep": separator,
        "header": str(header).lower(),
        "quote": "" if off else quote,
        # Without an escaper, a quote in quotes is doubled.
        "escape": escaper if escaper.lower() != "none" else ("" if off else quote),
        **({"emptyValue": ""} if off else {}),
    }
    table = TableFormat(
        classification="csv",
        input_format=_TEXT.input_format,
        output_format=_TEXT.output_format,
        serde="org.apache.hadoop.hive.serde2.OpenCSVSerde",
        parameters={"skip.header.line.count": "1"} if header else {},
        serde_parameters={"separatorChar": separator, **({} if off else {"quoteChar": quote})},
    )
    return Output(form="csv", options=serde, table=table, prepare=_plain(separator) if off else _same)


def _plain(separator: str) -> Callable[[DataFrame], DataFrame]:
    """Return a check that no text needs quotes, for files that have none."""

    def prepare(frame: DataFrame) -> DataFrame:
        texts = [F.col(quoted(field.name)) for field in frame.schema if isinstance(field.dataType, StringType)]
        if not texts:
            return frame
        marks = [F.contains(text, F.lit(mark)) for text in texts for mark in (separator, "\n", "\r")]
        message = f"A text has the separator {separator!r} or an end of line, and quoteChar -1 writes no quotes."
        unwritable = F.when(reduce(or_, marks), F.raise_error(F.lit(message)).cast("boolean"))
        return frame.where(F.coalesce(unwritable, F.lit(True)))

    return prepare


def _avro(_: Options) -> Output:
    classes = STORAGE_CLASSES["AVRO"]
    table = TableFormat(
        classification="avro",
        input_format=classes.input_format,
        output_format=classes.output_format,
        serde=classes.serde,
    )
    return Output(form="avro", table=table)


def _orc(details: Options) -> Output:
    compression = details.text("compression")
    return Output(form="orc", options={"compression": compression} if compression else {})


FORMATS: Mapping[str, Callable[[Options], Output]] = {
    "parquet": _parquet,
    "glueparquet": _glue_parquet,
    "json": _json,
    "csv": _csv,
    "avro": _avro,
    "orc": _orc,
}
"""By Glue's name: how to write by the format_options."""
