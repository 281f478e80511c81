"""Columns of JSON text: the types of all values are found first, then the text is read by them, in the JVM.

Where values disagree, the text is read as a variant, whose value is then the member of its own type.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as s

from penstock.glue.schemas import gluetypes as g
from penstock.glue.schemas.choices import SPARSE, WIDE, choice_column, spark_type
from penstock.glue.schemas.inference import check_names, sorted_fields, type_of_texts, widened
from penstock.spark.types import ddl

__all__ = ["JsonFrame", "json_frame", "reading_type", "texts_type", "with_choices"]

_NULLS = (g.NullType, g.UnknownType)
_RECORDS, _RECORD, _TEXT = "__penstock_records", "__penstock_record", "__penstock_text"


@dataclass(frozen=True, slots=True)
class JsonFrame:
    """``frame`` has the records' fields; ``bad`` are the rows whose text is not JSON of objects, ``count`` of them."""

    frame: DataFrame
    bad: DataFrame
    count: int


def json_frame(frame: DataFrame, column: str, *, wide: bool = False, nulls: bool = True) -> JsonFrame:
    """Return the fields of the JSON records in the text ``column``, beside the other columns of ``frame``.

    A text that is an array has a row for each of its objects. Text that is not JSON is a row of nulls, or with ``nulls``
    False no row. Values of one field that have different types make it a choice
    (:mod:`penstock.glue.schemas.choices`). Without rows of nulls, a null is a field that the record lacks, if no
    record has it as null. With ``wide``, all integers are longs, and numbers some of which have a
    fraction are doubles, and fields are in the order of their names.
    """
    text = F.col(f"`{column}`").cast("string")
    schema, count, null = texts_type(frame.select(text))
    if frame.sparkSession.conf.get("spark.sql.caseSensitive") != "true":
        check_names(schema)
    # Of a stream, Spark infers the columns on AWS, and sorts them.
    data_type = sorted_fields(widened(schema)) if wide else schema
    assert isinstance(data_type, g.StructType)
    others = [F.col(f"`{name}`") for name in frame.columns if name != column]
    reading = s.ArrayType(
        reading_type(data_type) if data_type.fields else s.StructType([s.StructField("_", s.StringType())])
    )
    parsed = F.from_json(text, reading, {"allowSingleQuotes": "false"})
    read = frame.select(parsed.alias(_RECORDS), text.alias(_TEXT), *others)
    unread = F.col(_RECORDS).isNull() & F.col(_TEXT).isNotNull()
    size = F.size(_RECORDS)
    rows = read.where(F.col(_RECORDS).isNull() | (size > 0) if nulls else size > 0)
    exploded = rows.select((F.explode_outer if nulls else F.explode)(_RECORDS).alias(_RECORD), *others)
    record = F.col(_RECORD)
    fields = [
        with_choices(record[field.name], field.dataType).alias(
            field.name, metadata={**(WIDE if wide else {}), **({} if nulls or field.name in null else SPARSE)}
        )
        for field in data_type
    ]
    return JsonFrame(exploded.select(*fields, *others), read.where(unread).select(F.col(_TEXT).alias(column)), count)


def texts_type(texts: DataFrame) -> tuple[g.StructType, int, frozenset[str]]:
    """Return the one type of all records in the only column of ``texts``, how many are not records, and the fields that are
    null in some.
    """
    parts = texts.rdd.map(lambda row: row[0]).mapPartitions(type_of_texts).collect()
    whole: g.DataType = g.StructType()
    for data_type, _, _ in parts:
        whole = g.mergeDataTypes(whole, data_type)
    assert isinstance(whole, g.StructType)
    return whole, sum(bad for _, bad, _ in parts), frozenset().union(*(null for _, _, null in parts))


def reading_type(data_type: g.DataType, *, within: bool = False) -> s.DataType:
    """Return the type as which Spark reads the text: choices are variants; so are nulls ``within`` one."""
    if isinstance(data_type, g.ChoiceType) or (within and isinstance(data_type, _NULLS)):
        return s.VariantType()
    if isinstance(data_type, g.StructType):
        return s.StructType([s.StructField(field.name, reading_type(field.dataType, within=within)) for field in data_type])
    if isinstance(data_type, g.ArrayType):
        return s.ArrayType(reading_type(data_type.elementType, within=within))
    return spark_type(data_type)


def with_choices(column: Column, data_type: g.DataType, *, within: bool = False) -> Column:
    """Return the column with choices in the place of variants; ``within`` a variant, nulls are variants, too."""
    if not _has_variant(data_type, within=within):
        return column
    if isinstance(data_type, g.ArrayType):
        element = data_type.elementType
        return F.transform(column, lambda item: with_choices(item, element, within=within))
    if isinstance(data_type, g.StructType):
        fields = [with_choices(column[field.name], field.dataType, within=within).alias(field.name) for field in data_type]
        return F.when(column.isNotNull(), F.struct(*fields))
    if not isinstance(data_type, g.ChoiceType):
        return F.lit(None)
    variant_type = F.schema_of_variant(column)
    members: dict[str, Column] = {}
    for name, member in data_type.choices.items():
        value = F.try_variant_get(column, "$", ddl(reading_type(member, within=True)))
        test = _TESTS[name](variant_type)
        if name == "long" and "int" in data_type.choices:
            test = test & F.try_variant_get(column, "$", "int").isNull()
        if name == "double" and not {"int", "long", "decimal"} & data_type.choices.keys():
            test = (variant_type == "BIGINT") | (variant_type == "DOUBLE") | variant_type.startswith("DECIMAL")
        members[name] = F.when(test, with_choices(value, member, within=True))
    return choice_column(members)


def _has_variant(data_type: g.DataType, *, within: bool) -> bool:
    if isinstance(data_type, g.StructType):
        return any(_has_variant(field.dataType, within=within) for field in data_type)
    if isinstance(data_type, g.ArrayType):
        return _has_variant(data_type.elementType, within=within)
    return isinstance(data_type, g.ChoiceType) or (within and isinstance(data_type, _NULLS))


def _whole(variant_type: Column) -> Column:
    """An integer beyond 64 bits; a fraction is a decimal of a variant, too, with digits behind the point."""
    return variant_type.rlike(r"^DECIMAL\((19|[23]\d),0\)$")


_TESTS: Mapping[str, Callable[[Column], Column]] = {
    "int": lambda variant_type: variant_type == "BIGINT",
    "long": lambda variant_type: variant_type == "BIGINT",
    "decimal": _whole,
    "double": lambda variant_type: (variant_type == "DOUBLE") | (variant_type.startswith("DECIMAL") & ~_whole(variant_type)),
    "string": lambda variant_type: variant_type == "STRING",
    "boolean": lambda variant_type: variant_type == "BOOLEAN",
    "struct": lambda variant_type: variant_type.startswith("OBJECT"),
    "array": lambda variant_type: variant_type.startswith("ARRAY"),
}
