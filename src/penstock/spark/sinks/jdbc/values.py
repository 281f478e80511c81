"""Rows as text for the database, computed by Spark in the JVM: lines of COPY, or tuples of an INSERT."""

from collections.abc import Callable, Iterable, Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import (
    BinaryType,
    CharType,
    DataType,
    DateType,
    NullType,
    StringType,
    StructField,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from penstock.spark.quoting import quoted
from penstock.spark.sinks.jdbc.types import NESTED

__all__ = ["chunks", "copy_lines", "csv_lines", "insert_tuples", "inserts"]

_CHUNK = 256 * 1024  # characters of COPY in one message, and of an INSERT
_TUPLES = 1000
# Microseconds, and the zone: Spark's own JSON has milliseconds.
_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_TEXTS = (StringType, VarcharType, CharType)
# In JSON a NUL is an escape, before which the number of backslashes is even.
_NUL_IN_JSON = r"(?<!\\)((?:\\\\)*)\\u0000"


def copy_lines(rows: DataFrame, *, remove_nul: bool) -> DataFrame:
    """Return a line of COPY's text format for each row (https://www.postgresql.org/docs/current/sql-copy.html).

    The session's time zone has to be UTC.
    """
    fields = [F.coalesce(_copied(field, remove_nul), F.lit("\\N")) for field in rows.schema.fields]
    return rows.select(F.concat_ws("\t", *fields).alias("line"))


def insert_tuples(rows: DataFrame, *, remove_nul: bool, double_backslashes: bool) -> DataFrame:
    """Return a row of VALUES for each row, in Redshift's SQL. The session's time zone has to be UTC."""
    fields = [_literal(field, remove_nul, double_backslashes) for field in rows.schema.fields]
    return rows.select(F.concat(F.lit("("), F.concat_ws(",", *fields), F.lit(")")).alias("line"))


def csv_lines(rows: DataFrame, *, null: str) -> DataFrame:
    """Return a line of CSV for each row, every value in quotes, and ``null`` for a value that is null.

    Binary values are hexadecimal, as Redshift's COPY has them. The session's time zone has to be UTC.
    """
    fields = [F.coalesce(_quoted(field), F.lit(null)) for field in rows.schema.fields]
    return rows.select(F.concat_ws(",", *fields).alias("line"))


def chunks(lines: Iterable[str]) -> Iterator[bytes]:
    """Return COPY's lines as messages of about a quarter of a megabyte."""
    for group in _groups(lines, lambda _, size: size >= _CHUNK):
        yield ("\n".join(group) + "\n").encode()


def inserts(statement: str, tuples: Iterable[str]) -> Iterator[str]:
    """Return INSERT statements, ``statement`` followed by up to 1,000 of ``tuples``."""
    for group in _groups(tuples, lambda count, size: count >= _TUPLES or size >= _CHUNK):
        yield f"{statement} VALUES {','.join(group)}"


def _groups(lines: Iterable[str], full: Callable[[int, int], bool]) -> Iterator[list[str]]:
    group: list[str] = []
    size = 0
    for line in lines:
        group.append(line)
        size += len(line)
        if full(len(group), size):
            yield group
            group, size = [], 0
    if group:
        yield group


def _copied(field: StructField, remove_nul: bool) -> Column:
    data_type = field.dataType
    if isinstance(data_type, BinaryType):
        return F.concat(F.lit("\\\\x"), F.hex(_column(field)))
    text = _text(field, remove_nul)
    if not isinstance(data_type, (*_TEXTS, *NESTED)):
        return text
    for plain, escaped in (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = F.replace(text, F.lit(plain), F.lit(escaped))
    return text


def _quoted(field: StructField) -> Column:
    text = F.hex(_column(field)) if isinstance(field.dataType, BinaryType) else _text(field, remove_nul=False)
    return F.concat(F.lit('"'), F.replace(text, F.lit('"'), F.lit('""')), F.lit('"'))


def _literal(field: StructField, remove_nul: bool, double_backslashes: bool) -> Column:
    data_type = field.dataType
    if isinstance(data_type, BinaryType):
        literal = F.concat(F.lit("FROM_HEX('"), F.hex(_column(field)), F.lit("')"))
        return F.coalesce(literal, F.lit("NULL"))
    text = F.replace(_text(field, remove_nul), F.lit("'"), F.lit("''"))
    if double_backslashes:
        text = F.replace(text, F.lit("\\"), F.lit("\\\\"))
    before, after = ("JSON_PARSE('", "')") if isinstance(data_type, NESTED) else ("'", "'")
    return F.coalesce(F.concat(F.lit(before), text, F.lit(after)), F.lit("NULL"))


def _text(field: StructField, remove_nul: bool) -> Column:
    """Return the value as the database reads it; null for null."""
    data_type, column = field.dataType, _column(field)
    if isinstance(data_type, NullType):
        return F.lit(None).cast("string")
    if isinstance(data_type, NESTED):
        text = F.to_json(column, _JSON)
        return F.regexp_replace(text, _NUL_IN_JSON, "$1") if remove_nul else text
    text = column.cast("string")
    if isinstance(data_type, _TEXTS):
        return F.replace(text, F.lit("\0"), F.lit("")) if remove_nul else text
    return _moment(text, data_type)


def _moment(text: Column, data_type: DataType) -> Column:
    """Return ``text`` with the zone of a timestamp; Spark writes years of more than four digits with a plus."""
    if isinstance(data_type, DateType | TimestampType | TimestampNTZType):
        text = F.regexp_replace(text, r"^\+", "")
    return F.concat(text, F.lit("+00")) if isinstance(data_type, TimestampType) else text


def _column(field: StructField) -> Column:
    return F.col(quoted(field.name))
