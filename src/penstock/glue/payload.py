"""From a record's bytes to columns, by the options ``classification``, ``schema``, ``inferSchema`` and ``delimiter``.

Source: "Kafka connection option reference" and "Kinesis connection option reference" of Glue's developer guide. JSON without
a schema stays text, in the column with Glue's name ``$json$data_infer_schema$_temporary$``.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the common name
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import StructType

from penstock.errors import InvalidInput
from penstock.glue.options import Options
from penstock.glue.schemas.json_records import JsonFrame, json_frame

__all__ = [
    "OWN_NUMBERS",
    "TEXT_COLUMN",
    "TEXT_COLUMNS",
    "Payload",
    "check_avro",
    "inferred",
    "is_of_files",
    "payload_of",
    "with_inferred_columns",
]

TEXT_COLUMN = "$json$data_infer_schema$_temporary$"
"""Glue's column of JSON text without a schema."""

TEXT_COLUMNS = (TEXT_COLUMN, "$json$data_infer_schema$_1")
"""A second name of the same column in published programs, if no schema is inferred."""

OWN_NUMBERS: Mapping[str, Any] = {"penstock.glue.numbers": "own"}
"""Metadata of a column of JSON text each of whose numbers has a type by its own size."""

_FORMATS = ("json", "csv", "avro")
_RECORD = "__penstock_record"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """How records are read. ``classification`` is None if the script has none; ``schema`` is DDL, or an Avro schema."""

    classification: str | None
    schema: str | None
    infer: bool
    delimiter: str = ","

    def frame(self, records: DataFrame, value: str, *, extra: Mapping[str, str], raw: Sequence[str]) -> DataFrame:
        """Return the columns of ``records``, whose bytes are in the column ``value``.

        ``extra`` maps further columns of ``records`` to their names in the result; ``raw`` are the columns beside the text
        if the script does not name a classification.
        """
        further = [F.col(source).alias(name) for source, name in extra.items()]
        if self.schema is None:
            names = TEXT_COLUMNS[:1] if self.infer else TEXT_COLUMNS
            text = [F.col(value).cast("string").alias(name) for name in names]
            beside = [F.col(name) for name in raw] if self.classification is None else []
            return records.select(*beside, *text, *further)
        decoded = records.select(self._decoded(F.col(value)).alias(_RECORD), *further)
        return decoded.select(f"{_RECORD}.*", *extra.values())

    def _decoded(self, value: Column) -> Column:
        assert self.schema is not None
        if self.classification == "avro":
            return from_avro(value, self.schema)
        if self.classification == "csv":
            return F.from_csv(value.cast("string"), self.schema, {"sep": self.delimiter})
        return F.from_json(value.cast("string"), self.schema)


def payload_of(options: Options, source: str) -> Payload:
    """Return the payload's options, taken from ``options``. Raises :class:`InvalidInput` for contradictory ones."""
    classification = options.text("classification")
    payload_format = classification.strip().lower() if classification else None
    schema = options.text("schema") or options.text("avroSchema")
    infer = options.flag("inferSchema")
    delimiter = options.text("delimiter")
    if payload_format is not None and payload_format not in _FORMATS:
        raise InvalidInput(
            f"Records of classification {classification} cannot be read from {source}.", remedy=f"Use one of {_formats()}."
        )
    if delimiter is not None and payload_format != "csv":
        raise InvalidInput(
            f"Option delimiter is for csv, and the records of {source} are {payload_format or 'without a classification'}.",
            remedy="Leave it out, or set classification to csv.",
        )
    if payload_format in {"csv", "avro"} and schema is None:
        raise InvalidInput(
            f"Records of classification {payload_format} from {source} need the option schema.", remedy=_SCHEMA
        )
    if infer and schema is not None:
        raise InvalidInput("Options schema and inferSchema exclude each other.", remedy="Leave one of them out.")
    return Payload(
        classification=payload_format,
        schema=None if schema is None else _checked(schema, payload_format),
        infer=infer,
        delimiter=delimiter or ",",
    )


_SCHEMA = "It is DDL, such as id INT, name STRING; for avro an Avro schema."


def _formats() -> str:
    return f"{', '.join(_FORMATS[:-1])} and {_FORMATS[-1]}"


def _checked(schema: str, payload_format: str | None) -> str:
    if payload_format == "avro":
        return check_avro(schema)
    # AWS's own example writes names in single quotes, which Spark's DDL does not allow.
    ddl = re.sub(r"(^|,)\s*'([^']+)'", r"\1 `\2`", schema)
    try:
        StructType.fromDDL(ddl)
    except ParseException as error:
        raise InvalidInput(f"Option schema cannot be read: {str(error).splitlines()[0]}", remedy=_SCHEMA) from None
    return ddl


def check_avro(schema: str, option: str = "schema") -> str:
    """Return an Avro schema, the value of ``option``, as it is. Raises :class:`InvalidInput` for a text that is not JSON."""
    try:
        json.loads(schema)
    except ValueError as error:
        raise InvalidInput(f"Option {option} is not an Avro schema: {error}.", remedy=_SCHEMA) from None
    return schema


def with_inferred_columns(frame: DataFrame) -> DataFrame:
    """Return ``frame`` with the JSON of its text column as columns of a schema inferred from the batch's own records.

    A frame without that column is returned unchanged. Text that is not JSON becomes a row of nulls. Values of a field that
    disagree are a choice. Of a stream, integers are longs, whatever their size, so that the columns of all its batches have
    one type; a column with the metadata :data:`OWN_NUMBERS`, which those of files have, keeps AWS's ints and longs.
    """
    if TEXT_COLUMN not in frame.columns:
        return frame
    return inferred(frame).frame


def inferred(frame: DataFrame, *, nulls: bool = True) -> JsonFrame:
    """Return :func:`with_inferred_columns`, and the text that is not JSON; ``nulls`` False leaves out its row."""
    wide = not is_of_files(frame)
    return json_frame(frame.drop(*TEXT_COLUMNS[1:]), TEXT_COLUMN, wide=wide, nulls=nulls)


def is_of_files(frame: DataFrame) -> bool:
    """Return whether the column of JSON text is that of files, and not of a stream."""
    return OWN_NUMBERS.items() <= frame.schema[TEXT_COLUMN].metadata.items()
