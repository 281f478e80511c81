"""The actions of ALTER TABLE, a class for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from penstock.sql.statements.names import ColumnDefinition, PartitionCondition, TableName

__all__ = [
    "AddColumns",
    "AddPartitions",
    "AlterAction",
    "ChangeColumn",
    "DropColumn",
    "DropPartitions",
    "RenamePartition",
    "RenameTable",
    "ReplaceColumns",
    "SetLocation",
    "SetProperties",
    "UnsetProperties",
]

PartitionSpec = Sequence[PartitionCondition]


class AlterAction:
    """Any action."""

    __slots__ = ()
    substatement: ClassVar[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitions(AlterAction):
    """``ADD [IF NOT EXISTS] PARTITION (...) LOCATION '...'``, one or more; None is the location by the partition's name."""

    substatement: ClassVar[str] = "ALTER_TABLE_ADD_PARTITION"
    partitions: Sequence[tuple[PartitionSpec, str | None]]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPartitions(AlterAction):
    """``DROP [IF EXISTS] PARTITION (...)``, one or more."""

    substatement: ClassVar[str] = "ALTER_TABLE_DROP_PARTITION"
    partitions: Sequence[PartitionSpec]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenamePartition(AlterAction):
    """``PARTITION (...) RENAME TO PARTITION (...)``."""

    substatement: ClassVar[str] = "ALTER_TABLE_RENAME_PARTITION"
    old: PartitionSpec
    new: PartitionSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLocation(AlterAction):
    """``[PARTITION (...)] SET LOCATION '...'``."""

    substatement: ClassVar[str] = "ALTER_TABLE_SET_LOCATION"
    location: str
    partition: PartitionSpec = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumns(AlterAction):
    """``ADD COLUMNS (...)``."""

    substatement: ClassVar[str] = "ALTER_TABLE_ADD_COLUMNS"
    columns: Sequence[ColumnDefinition]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceColumns(AlterAction):
    """``REPLACE COLUMNS (...)``."""

    substatement: ClassVar[str] = "ALTER_TABLE_REPLACE_COLUMNS"
    columns: Sequence[ColumnDefinition]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeColumn(AlterAction):
    """``CHANGE COLUMN old new type``; ``place`` is FIRST, or AFTER the column ``after``."""

    substatement: ClassVar[str] = "ALTER_TABLE_CHANGE_COLUMN"
    old: str
    new: ColumnDefinition
    place: Literal["FIRST", "AFTER"] | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumn(AlterAction):
    """``DROP COLUMN``, of an Iceberg table."""

    substatement: ClassVar[str] = "ALTER_TABLE_DROP_COLUMN"
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProperties(AlterAction):
    """``SET TBLPROPERTIES (...)``."""

    substatement: ClassVar[str] = "ALTER_TABLE_SET_TBLPROPERTIES"
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetProperties(AlterAction):
    """``UNSET TBLPROPERTIES [IF EXISTS] (...)``."""

    substatement: ClassVar[str] = "ALTER_TABLE_UNSET_TBLPROPERTIES"
    names: Sequence[str]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTable(AlterAction):
    """``RENAME TO``, of an Iceberg table."""

    substatement: ClassVar[str] = "ALTER_TABLE_RENAME"
    new: TableName
