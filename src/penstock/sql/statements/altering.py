"""ALTER TABLE: what follows the table's name."""

from collections.abc import Callable, Mapping, Sequence

from penstock.sql.statements.alter import (
    AddColumns,
    AddPartitions,
    AlterAction,
    ChangeColumn,
    DropColumn,
    DropPartitions,
    RenamePartition,
    RenameTable,
    ReplaceColumns,
    SetLocation,
    SetProperties,
    UnsetProperties,
)
from penstock.sql.statements.columns import column, columns, partition_conditions, partition_spec, properties
from penstock.sql.statements.cursor import Cursor
from penstock.sql.statements.names import PartitionCondition

__all__ = ["alter_action"]

_MAX_PARTITIONS = 10_000


def alter_action(cursor: Cursor) -> AlterAction:
    """Read the action of an ALTER TABLE."""
    if cursor.at("PARTITION"):
        return _of_partition(cursor)
    for word, read in _ACTIONS.items():
        if cursor.accept(word):
            return read(cursor)
    raise cursor.unsupported(f"ALTER TABLE ... {cursor.peek().value[:50]}")


def _of_partition(cursor: Cursor) -> AlterAction:
    spec = partition_spec(cursor)
    if cursor.accept("RENAME", "TO"):
        return RenamePartition(old=spec, new=partition_spec(cursor))
    if cursor.accept("SET", "LOCATION"):
        return SetLocation(location=cursor.string(), partition=spec)
    raise cursor.unsupported(f"{cursor.peek().value[:50]} for a partition", "Change the table's columns.")


def _add(cursor: Cursor) -> AlterAction:
    if cursor.accept("COLUMNS"):
        return _with_columns(cursor, lambda new: AddColumns(columns=new))
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    if not cursor.at("PARTITION"):
        raise cursor.refused("COLUMNS or PARTITION")
    partitions: list[tuple[Sequence[PartitionCondition], str | None]] = []
    while cursor.at("PARTITION"):
        spec = partition_spec(cursor)
        partitions.append((spec, cursor.string() if cursor.accept("LOCATION") else None))
        if len(partitions) > _MAX_PARTITIONS:
            raise cursor.refused(f"at most {_MAX_PARTITIONS} partitions")
    return AddPartitions(partitions=partitions, if_not_exists=if_not_exists)


def _drop(cursor: Cursor) -> AlterAction:
    if_exists = cursor.accept("IF", "EXISTS")
    if not cursor.at("PARTITION") and not if_exists:
        cursor.accept("COLUMN")
        return DropColumn(column=cursor.name())
    conditions = [partition_conditions(cursor)]
    while cursor.accept(","):
        conditions.append(partition_conditions(cursor))
    if cursor.at("PURGE"):
        raise cursor.unsupported("PURGE")
    return DropPartitions(partitions=conditions, if_exists=if_exists)


def _replace(cursor: Cursor) -> AlterAction:
    cursor.expect("COLUMNS")
    return _with_columns(cursor, lambda new: ReplaceColumns(columns=new))


def _with_columns(cursor: Cursor, make: Callable[..., AlterAction]) -> AlterAction:
    definitions = columns(cursor)
    if cursor.at("CASCADE") or cursor.at("RESTRICT"):
        raise cursor.unsupported(cursor.peek().word)
    return make(definitions)


def _change(cursor: Cursor) -> AlterAction:
    cursor.accept("COLUMN")
    old, new = cursor.name(), column(cursor)
    if cursor.accept("FIRST"):
        return ChangeColumn(old=old, new=new, place="FIRST")
    if cursor.accept("AFTER"):
        return ChangeColumn(old=old, new=new, place="AFTER", after=cursor.name())
    return ChangeColumn(old=old, new=new)


def _set(cursor: Cursor) -> AlterAction:
    if cursor.accept("LOCATION"):
        return SetLocation(location=cursor.string())
    if cursor.accept("TBLPROPERTIES"):
        return SetProperties(properties=properties(cursor))
    raise cursor.unsupported(f"ALTER TABLE ... SET {cursor.peek().value[:50]}", "LOCATION and TBLPROPERTIES can be set.")


def _unset(cursor: Cursor) -> AlterAction:
    cursor.expect("TBLPROPERTIES")
    if_exists = cursor.accept("IF", "EXISTS")
    return UnsetProperties(names=cursor.listed(cursor.string), if_exists=if_exists)


def _rename(cursor: Cursor) -> AlterAction:
    cursor.expect("TO")
    return RenameTable(new=cursor.table())


_ACTIONS: Mapping[str, Callable[[Cursor], AlterAction]] = {
    "ADD": _add,
    "DROP": _drop,
    "REPLACE": _replace,
    "CHANGE": _change,
    "SET": _set,
    "UNSET": _unset,
    "RENAME": _rename,
}
