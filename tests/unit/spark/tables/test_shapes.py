"""Columns after changes: merged, and under the table's names."""

from pyspark.sql.types import ArrayType, DataType, DoubleType, IntegerType, LongType, MapType, StringType, StructType

from penstock.spark.tables.changes import RenameColumn, changes
from penstock.spark.tables.shapes import merged, with_table_names

INT, BIG, TEXT = IntegerType(), LongType(), StringType()


def struct(**fields: DataType) -> StructType:
    made = StructType()
    for name, kind in fields.items():
        made = made.add(name, kind)
    return made


def test_merged_columns_hold_both_and_keep_the_tables_order_and_names() -> None:
    table = struct(Id=INT, s=struct(x=INT), a=ArrayType(INT), m=MapType(INT, struct(y=INT)), t=TEXT)
    batch = struct(new=TEXT, m=MapType(BIG, struct(z=INT)), a=ArrayType(DoubleType()), s=struct(x=BIG), id=BIG, t=INT)
    both = merged(table, batch)
    assert both == struct(
        Id=BIG, s=struct(x=BIG), a=ArrayType(DoubleType()), m=MapType(BIG, struct(y=INT, z=INT)), t=TEXT, new=TEXT
    )
    assert changes(both, struct(**{field.name: field.dataType for field in batch.fields if field.name != "t"}), {}) == []


def test_renamed_fields_get_the_tables_names_at_every_depth() -> None:
    batch = struct(new=struct(inner=INT), a=ArrayType(struct(p=INT)), m=MapType(struct(k=INT), struct(v=INT)))
    renames = [
        RenameColumn(old=("old",), new=("new",)),
        RenameColumn(old=("new", "was"), new=("new", "inner")),
        RenameColumn(old=("a", "element", "q"), new=("a", "element", "p")),
        RenameColumn(old=("m", "key", "l"), new=("m", "key", "k")),
        RenameColumn(old=("m", "value", "w"), new=("m", "value", "v")),
    ]
    assert with_table_names(batch, renames) == struct(
        old=struct(was=INT), a=ArrayType(struct(q=INT)), m=MapType(struct(l=INT), struct(w=INT))
    )
    assert with_table_names(batch, []) == batch
