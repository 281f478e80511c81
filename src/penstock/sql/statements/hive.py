"""Hive's DDL: databases, CREATE TABLE, DROP TABLE, MSCK REPAIR TABLE.

Source: Athena user guide, "DDL statements"; Apache Hive language manual, "DDL".
"""

from collections.abc import Callable, Mapping, Sequence

from penstock.sql.statements.columns import columns, properties
from penstock.sql.statements.cursor import Cursor
from penstock.sql.statements.model import (
    AlterDatabase,
    CreateDatabase,
    CreateTable,
    DropDatabase,
    DropTable,
    PartitionTransform,
    RepairTable,
    RowFormat,
)
from penstock.sql.statements.names import ColumnDefinition, TableName

__all__ = ["alter_database", "create_database", "create_table", "drop_database", "drop_table", "repair_table"]

_WITHOUT_NUMBER = frozenset({"YEAR", "MONTH", "DAY", "HOUR"})
_WITH_NUMBER = frozenset({"BUCKET", "TRUNCATE"})
# The clauses of ROW FORMAT DELIMITED and the SerDe properties that Hive keeps them in.
_DELIMITERS = (
    (("FIELDS", "TERMINATED", "BY"), "field.delim"),
    (("COLLECTION", "ITEMS", "TERMINATED", "BY"), "collection.delim"),
    (("MAP", "KEYS", "TERMINATED", "BY"), "mapkey.delim"),
    (("LINES", "TERMINATED", "BY"), "line.delim"),
    (("NULL", "DEFINED", "AS"), "serialization.null.format"),
)


def create_database(cursor: Cursor) -> CreateDatabase:
    """Read what follows CREATE DATABASE."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.name()
    comment = cursor.string() if cursor.accept("COMMENT") else None
    location = cursor.string() if cursor.accept("LOCATION") else None
    database_properties: Mapping[str, str] = {}
    if cursor.accept("WITH"):
        cursor.expect("DBPROPERTIES")
        database_properties = properties(cursor)
    return CreateDatabase(
        name=name, if_not_exists=if_not_exists, comment=comment, location=location, properties=database_properties
    )


def drop_database(cursor: Cursor) -> DropDatabase:
    """Read what follows DROP DATABASE."""
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name()
    cascade = cursor.accept("CASCADE")
    if not cascade:
        cursor.accept("RESTRICT")
    return DropDatabase(name=name, if_exists=if_exists, cascade=cascade)


def alter_database(cursor: Cursor) -> AlterDatabase:
    """Read what follows ALTER DATABASE."""
    name = cursor.name()
    cursor.expect("SET", "DBPROPERTIES")
    return AlterDatabase(name=name, properties=properties(cursor))


def drop_table(cursor: Cursor) -> DropTable:
    """Read what follows DROP TABLE."""
    if_exists = cursor.accept("IF", "EXISTS")
    table = cursor.table()
    if cursor.at("PURGE"):
        raise cursor.unsupported("PURGE")
    return DropTable(table=table, if_exists=if_exists)


def repair_table(cursor: Cursor) -> RepairTable:
    """Read what follows MSCK REPAIR TABLE."""
    table = cursor.table()
    if cursor.at("ADD") or cursor.at("DROP") or cursor.at("SYNC"):
        raise cursor.unsupported(f"{cursor.peek().word} PARTITIONS", "MSCK REPAIR TABLE adds partitions.")
    return RepairTable(table=table)


def create_table(cursor: Cursor, table: TableName, *, external: bool, if_not_exists: bool) -> CreateTable:
    """Read what follows the name in CREATE TABLE. Clauses may be in any order, each once."""
    definitions: Sequence[ColumnDefinition] = columns(cursor) if cursor.at("(") else ()
    read: dict[str, object] = {}
    while (clause := _clause(cursor)) is not None:
        name, first = clause, cursor.peek()
        for key, value in _CLAUSES[name](cursor).items():
            if key in read:
                raise cursor.invalid(first, f"{name} is repeated.")
            read[key] = value
    return CreateTable(table=table, columns=definitions, external=external, if_not_exists=if_not_exists, **read)  # type: ignore[arg-type]


def _clause(cursor: Cursor) -> str | None:
    for name in _CLAUSES:
        if cursor.at(*name.split()):
            cursor.expect(*name.split())
            return name
    if cursor.at("SKEWED") or cursor.at("LIKE") or cursor.at("STORED", "BY"):
        raise cursor.unsupported(f"{cursor.peek().word} {cursor.peek(1).word}".strip())
    return None


def _partitioned(cursor: Cursor) -> Mapping[str, object]:
    """Read columns with types, or an Iceberg table's fields: a column's name that no type follows, or a call."""
    if cursor.peek(2).value in {",", ")", "("} and cursor.peek(2).kind == "sign":
        return {"transforms": cursor.listed(lambda: _transform(cursor))}
    return {"partitioned_by": columns(cursor)}


def _transform(cursor: Cursor) -> PartitionTransform:
    word = cursor.peek().word
    if not (cursor.peek(1).kind == "sign" and cursor.peek(1).value == "("):
        return PartitionTransform(cursor.name())
    if word not in _WITHOUT_NUMBER | _WITH_NUMBER:
        raise cursor.refused("year, month, day, hour, bucket or truncate")
    cursor.take()
    cursor.expect("(")
    number = None
    if word in _WITH_NUMBER:
        number = cursor.integer()
        cursor.expect(",")
    column = cursor.name()
    cursor.expect(")")
    return PartitionTransform(column, word.lower(), number)


def _clustered(cursor: Cursor) -> Mapping[str, object]:
    names = cursor.listed(cursor.name)
    sorted_by: Sequence[tuple[str, bool]] = ()
    if cursor.accept("SORTED", "BY"):
        sorted_by = cursor.listed(lambda: _sorted(cursor))
    cursor.expect("INTO")
    buckets = cursor.integer()
    cursor.expect("BUCKETS")
    return {"clustered_by": names, "sorted_by": sorted_by, "buckets": buckets}


def _sorted(cursor: Cursor) -> tuple[str, bool]:
    name = cursor.name()
    ascending = not cursor.accept("DESC")
    if ascending:
        cursor.accept("ASC")
    return name, ascending


def _row_format(cursor: Cursor) -> Mapping[str, object]:
    if cursor.accept("SERDE"):
        serde = cursor.string()
        serde_properties = properties(cursor) if cursor.accept("WITH", "SERDEPROPERTIES") else {}
        return {"row_format": RowFormat(serde=serde, properties=serde_properties)}
    if not cursor.accept("DELIMITED"):
        raise cursor.refused("DELIMITED or SERDE")
    serde_properties = {}
    while (pair := _delimiter(cursor)) is not None:
        serde_properties.update(pair)
    return {"row_format": RowFormat(properties=serde_properties)}


def _delimiter(cursor: Cursor) -> Mapping[str, str] | None:
    for words, key in _DELIMITERS:
        if cursor.accept(*words):
            text = cursor.string()
            # Hive's default SerDe reads the separator of fields from both.
            pair = {key: text, "serialization.format": text} if key == "field.delim" else {key: text}
            return pair | (
                {"escape.delim": cursor.string()} if key == "field.delim" and cursor.accept("ESCAPED", "BY") else {}
            )
    return None


def _stored(cursor: Cursor) -> Mapping[str, object]:
    if cursor.accept("INPUTFORMAT"):
        input_format = cursor.string()
        cursor.expect("OUTPUTFORMAT")
        return {"input_format": input_format, "output_format": cursor.string()}
    if cursor.peek().kind != "word":
        raise cursor.refused("a file format")
    return {"format": cursor.take().word}


_CLAUSES: Mapping[str, Callable[[Cursor], Mapping[str, object]]] = {
    "COMMENT": lambda cursor: {"comment": cursor.string()},
    "PARTITIONED BY": _partitioned,
    "CLUSTERED BY": _clustered,
    "ROW FORMAT": _row_format,
    "STORED AS": _stored,
    "LOCATION": lambda cursor: {"location": cursor.string()},
    "TBLPROPERTIES": lambda cursor: {"properties": properties(cursor)},
}
