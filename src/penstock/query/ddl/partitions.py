"""Partitions: ALTER TABLE's actions on them, and MSCK REPAIR TABLE."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.catalog.model import Partition, Table
from penstock.catalog.partitions.values import family, reader
from penstock.errors import InvalidInput
from penstock.lake.partitions import HIVE_DEFAULT_PARTITION, partition_path
from penstock.query.ddl.errors import check_location, execution_error, hive_errors, semantic_error
from penstock.query.ddl.requests import chunks, partition_request, storage_request
from penstock.query.engine.context import ExecutionContext
from penstock.sql.errors import StatementError
from penstock.sql.statements.alter import AddPartitions, DropPartitions, RenamePartition
from penstock.sql.statements.names import PartitionCondition
from penstock.types import hive

__all__ = [
    "add_partitions",
    "check_values",
    "create_partitions",
    "drop_partitions",
    "full_values",
    "one_partition",
    "rename_partition",
]

_CREATED_AT_ONCE, _DELETED_AT_ONCE = 100, 25  # Glue's limits of BatchCreatePartition and BatchDeletePartition
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_NUMBERS = frozenset({*_BITS, "float", "double", "decimal"})


def add_partitions(context: ExecutionContext, table: Table, action: AddPartitions) -> None:
    """Add partitions, all or none. Raises :class:`StatementError` if one exists, without IF NOT EXISTS."""
    keys = _keys(table)
    requests: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for spec, own_location in action.partitions:
        values = full_values(table, spec)
        check_values(table, values)
        if own_location is None and not table.storage.location:
            raise semantic_error(f"Table {table.name} has no location, so a partition needs its own.")
        location = own_location or f"{(table.storage.location or '').rstrip('/')}/{partition_path(keys, values)}"
        check_location(location)
        if values in requests and not action.if_not_exists:
            raise semantic_error(f"Partition {partition_path(keys, values)} is repeated.")
        requests.setdefault(
            values, {"Values": list(values), "StorageDescriptor": storage_request(table.storage, location=location)}
        )
    existing = create_partitions(context, table, list(requests.values()))
    if existing and not action.if_not_exists:
        added = [list(values) for values in requests if list(values) not in existing]
        _delete(context, table, added)
        raise execution_error(
            "AlreadyExistsException",
            f"Partition already exists: {partition_path(keys, existing[0])}",
            remedy="Add IF NOT EXISTS.",
        )


def create_partitions(context: ExecutionContext, table: Table, requests: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Add partitions by their PartitionInputs; return the values of those that existed. Raises :class:`StatementError`."""
    existing: list[list[str]] = []
    for part in chunks(requests, _CREATED_AT_ONCE):
        request = {"DatabaseName": table.database, "TableName": table.name, "PartitionInputList": list(part)}
        with hive_errors():
            answer = context.host.change("BatchCreatePartition", request)
        for error in answer.get("Errors", ()):
            detail = error["ErrorDetail"]
            if detail["ErrorCode"] != "AlreadyExistsException":
                raise execution_error("MetaException", detail["ErrorMessage"])
            existing.append(list(error["PartitionValues"]))
    return existing


def drop_partitions(context: ExecutionContext, table: Table, action: DropPartitions) -> None:
    """Remove the partitions that meet any of the specifications; all of them are looked up before one is removed."""
    dropped: dict[tuple[str, ...], None] = {}
    for spec in action.partitions:
        matching = _matching(context, table, spec)
        if not matching and not action.if_exists:
            shown = ", ".join(f"{condition.column} {condition.operator} '{condition.value}'" for condition in spec)
            raise semantic_error(f"Partition not found ({shown})", number=10006)
        dropped.update(dict.fromkeys(tuple(partition.values) for partition in matching))
    _delete(context, table, [list(entry) for entry in dropped])


def rename_partition(context: ExecutionContext, table: Table, action: RenamePartition) -> None:
    """Give a partition other values; its location stays. Glue has no such operation, so it is made anew first."""
    partition = one_partition(context, table, action.old)
    values = full_values(table, action.new)
    check_values(table, values)
    if create_partitions(context, table, [partition_request(partition, Values=list(values))]):
        raise execution_error("AlreadyExistsException", f"Partition already exists: {partition_path(_keys(table), values)}")
    try:
        _delete(context, table, [list(partition.values)])
    except StatementError:
        _delete(context, table, [list(values)])
        raise


def update_partition(context: ExecutionContext, partition: Partition, partition_input: Mapping[str, Any]) -> None:
    """Replace a partition."""
    request = {
        "DatabaseName": partition.database,
        "TableName": partition.table,
        "PartitionValueList": list(partition.values),
        "PartitionInput": partition_input,
    }
    with hive_errors():
        context.host.change("UpdatePartition", request)


def one_partition(context: ExecutionContext, table: Table, spec: Sequence[PartitionCondition]) -> Partition:
    """Return the partition that ``spec`` names in full. Raises :class:`StatementError`."""
    values = full_values(table, spec)
    for partition in _matching(context, table, spec):
        if tuple(partition.values) == values:
            return partition
    raise semantic_error(f"Partition not found {partition_path(_keys(table), values)}", number=10006)


def full_values(table: Table, spec: Sequence[PartitionCondition]) -> tuple[str, ...]:
    """Return the values of a specification in the order of the table's keys, each of which it names once."""
    values = {condition.column: condition.value for condition in _checked(table, spec)}
    missing = [key for key in _keys(table) if key not in values]
    if missing or len(values) != len(spec):
        raise semantic_error(
            f"Partition spec of {table.database}.{table.name} names {', '.join(values) or 'no key'}",
            remedy=f"Name each of {', '.join(_keys(table))} once.",
        )
    return tuple(values[key] or HIVE_DEFAULT_PARTITION for key in _keys(table))


def _checked(table: Table, spec: Sequence[PartitionCondition]) -> Sequence[PartitionCondition]:
    keys = _keys(table)
    if not keys:
        raise semantic_error(f"Table is not partitioned: {table.database}.{table.name}")
    for condition in spec:
        if condition.column not in keys:
            raise semantic_error(f"Partition spec contains non-partition columns: {condition.column}")
    return spec


def _matching(context: ExecutionContext, table: Table, spec: Sequence[PartitionCondition]) -> Sequence[Partition]:
    types = {key.name: key.type or "string" for key in table.partition_keys}
    checked = _checked(table, spec)
    odd = [condition for condition in checked if not _fits(types[condition.column], _value(condition))]
    for condition in odd:
        if condition.operator != "=":
            raise semantic_error(
                f"'{_value(condition)[:100]}' is not a value of key {condition.column} of type {types[condition.column]}"
            )
    # No expression has a value that is not of its key's type; partitions that were stored with one are found by its text.
    values = {_keys(table).index(partition_condition.column): _value(partition_condition) for partition_condition in odd}
    terms = [
        _term(partition_condition, types[partition_condition.column])
        for partition_condition in checked
        if partition_condition not in odd
    ]
    with hive_errors():
        partitions = context.host.partitions(table.database, table.name, " AND ".join(terms) or None)
    return [partition for partition in partitions if all(partition.values[at] == value for at, value in values.items())]


def check_values(table: Table, values: Sequence[str]) -> None:
    """Raise Hive's error for a value of a new partition that is not of its key's type."""
    for key, value in zip(table.partition_keys, values, strict=True):
        type_ = key.type or "string"
        if not _fits(type_, value):
            message = f"Cannot add partition column {key.name} of type string as it cannot be converted to type {type_}"
            raise semantic_error(f"{message}: '{value[:100]}'", number=10248)


def _fits(type_: str, value: str) -> bool:
    """Whether the text of a partition's value is one of a key's type."""
    base = hive.name_of(type_)
    if value == HIVE_DEFAULT_PARTITION:
        return True
    try:
        if base in _BITS:
            return -(1 << (_BITS[base] - 1)) <= int(value) < 1 << (_BITS[base] - 1)
        if base in {"float", "double"}:
            return float(value) is not None
        if base == "boolean":
            return value.lower() in {"true", "false"}
        return reader("", family("", type_))(value) is not None
    except (ValueError, InvalidInput):
        return False


def _value(condition: PartitionCondition) -> str:
    return condition.value if condition.value is not None else HIVE_DEFAULT_PARTITION


def _term(condition: PartitionCondition, type_: str) -> str:
    value = _value(condition)
    if hive.name_of(type_) in _NUMBERS:
        return f"{condition.column} {condition.operator} {value}"
    return f"{condition.column} {condition.operator} '{value.replace(chr(39), chr(39) * 2)}'"


def _delete(context: ExecutionContext, table: Table, values: Sequence[list[str]]) -> None:
    for part in chunks(values, _DELETED_AT_ONCE):
        request = {
            "DatabaseName": table.database,
            "TableName": table.name,
            "PartitionsToDelete": [{"Values": item} for item in part],
        }
        with hive_errors():
            answer = context.host.change("BatchDeletePartition", request)
        errors = [
            error for error in answer.get("Errors", ()) if error["ErrorDetail"]["ErrorCode"] != "EntityNotFoundException"
        ]
        if errors:
            raise execution_error("MetaException", errors[0]["ErrorDetail"]["ErrorMessage"])


def _keys(table: Table) -> list[str]:
    return [key.name for key in table.partition_keys]
