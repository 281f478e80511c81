"""Columns of JSON text: the types of all values are found first, then the text is read by them, in the JVM.

Where values disagree, the text is read as a variant, whose value is then the member of its own type.
"""

from collections.abc import Callable, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as s

from penstock.spark.glue.schemas import gluetypes as g
from penstock.spark.glue.schemas.choices import choice_column, ddl, spark_type
from penstock.spark.glue.schemas.inference import type_of_texts, widened

__all__ = ["json_frame", "reading_type", "texts_type", "with_choices"]

_RECORDS, _RECORD = "__penstock_records", "__penstock_record"


def json_frame(frame: DataFrame, column: str, *, wide: bool = False) -> DataFrame:
    """Return the fields of the JSON records in the text ``column``, beside the other columns of ``frame``.

    A text that is an array has a row for each of its objects. Text that is not JSON is a row of nulls. Values of one
    field that have different types make it a choice (:mod:`penstock.spark.glue.schemas.choices`); with ``wide``, all
    integers are longs, and numbers some of which have a fraction are doubles.
    """
    text = F.col(f"`{column}`")
    found = texts_type(frame.select(text.cast("string")))
    kind = widened(found) if wide else found
    assert isinstance(kind, g.StructType)
    others = [F.col(f"`{name}`") for name in frame.columns if name != column]
    if not kind.fields:
        return frame.select(*others)
    read = frame.select(F.from_json(text.cast("string"), s.ArrayType(reading_type(kind))).alias(_RECORDS), *others)
    kept = read.where(F.col(_RECORDS).isNull() | (F.size(_RECORDS) > 0))
    rows = kept.select(F.explode_outer(_RECORDS).alias(_RECORD), *others)
    record = F.col(_RECORD)
    fields = [with_choices(record[each.name], each.dataType).alias(each.name) for each in kind]
    return rows.select(*fields, *others)


def texts_type(texts: DataFrame) -> g.StructType:
    """Return the one type of all records in the only column of ``texts``; text that is not JSON has none."""
    found = texts.rdd.map(lambda row: row[0]).mapPartitions(type_of_texts).collect()
    whole: g.DataType = g.StructType()
    for each in found:
        whole = g.mergeDataTypes(whole, each)
    assert isinstance(whole, g.StructType)
    return whole


def reading_type(kind: g.DataType) -> s.DataType:
    """Return the type as which Spark reads the text: choices are variants."""
    if isinstance(kind, g.ChoiceType):
        return s.VariantType()
    if isinstance(kind, g.StructType):
        return s.StructType([s.StructField(each.name, reading_type(each.dataType)) for each in kind])
    if isinstance(kind, g.ArrayType):
        return s.ArrayType(reading_type(kind.elementType))
    return spark_type(kind)


def with_choices(column: Column, kind: g.DataType) -> Column:
    """Return the column with choices in the place of variants."""
    if not _has_variant(kind):
        return column
    if isinstance(kind, g.ArrayType):
        element = kind.elementType
        return F.transform(column, lambda each: with_choices(each, element))
    if isinstance(kind, g.StructType):
        fields = [with_choices(column[each.name], each.dataType).alias(each.name) for each in kind]
        return F.when(column.isNotNull(), F.struct(*fields))
    assert isinstance(kind, g.ChoiceType)
    kinds = F.schema_of_variant(column)
    members: dict[str, Column] = {}
    for name, member in kind.choices.items():
        value = F.try_variant_get(column, "$", ddl(reading_type(member)))
        test = _TESTS[name](kinds)
        if name == "long" and "int" in kind.choices:
            test = test & F.try_variant_get(column, "$", "int").isNull()
        if name == "double" and not {"int", "long", "decimal"} & kind.choices.keys():
            test = (kinds == "BIGINT") | (kinds == "DOUBLE") | kinds.startswith("DECIMAL")
        members[name] = F.when(test, with_choices(value, member))
    return choice_column(members)


def _has_variant(kind: g.DataType) -> bool:
    if isinstance(kind, g.StructType):
        return any(_has_variant(each.dataType) for each in kind)
    if isinstance(kind, g.ArrayType):
        return _has_variant(kind.elementType)
    return isinstance(kind, g.ChoiceType)


def _whole(kinds: Column) -> Column:
    """An integer beyond 64 bits; a fraction is a decimal of a variant, too, with digits behind the point."""
    return kinds.rlike(r"^DECIMAL\((19|[23]\d),0\)$")


_TESTS: Mapping[str, Callable[[Column], Column]] = {
    "int": lambda kinds: kinds == "BIGINT",
    "long": lambda kinds: kinds == "BIGINT",
    "decimal": _whole,
    "double": lambda kinds: (kinds == "DOUBLE") | (kinds.startswith("DECIMAL") & ~_whole(kinds)),
    "string": lambda kinds: kinds == "STRING",
    "boolean": lambda kinds: kinds == "BOOLEAN",
    "struct": lambda kinds: kinds.startswith("OBJECT"),
    "array": lambda kinds: kinds.startswith("ARRAY"),
}
