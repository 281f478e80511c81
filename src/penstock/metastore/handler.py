"""Hive's metastore calls, carried out on Glue's catalog through boto3: Penstock's server or AWS.

Served is what Spark's and Trino's clients call on databases, tables and partitions. Any other call is refused by name.
Source: hive_metastore.thrift of Apache Hive.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from botocore.exceptions import BotoCoreError, ClientError
from hive_metastore import ttypes

from penstock.errors import InvalidInput, PenstockError
from penstock.lake.partitions import parse_partition_path, partition_path
from penstock.metastore.filters import glue_expression
from penstock.metastore.folders import Folders
from penstock.metastore.shapes import (
    database_input,
    hive_database,
    hive_partition,
    hive_table,
    partition_input,
    table_input,
)
from penstock.wildcards import expression

__all__ = ["MetastoreHandler"]

_BATCH = 100  # partitions in one call of Glue: BatchCreatePartition's limit
_READ = 1_000  # BatchGetPartition's
_MANAGED = "MANAGED_TABLE"


class MetastoreHandler:
    """One catalog, through ``glue``, a boto3 client. Safe for threads. Methods have the names of Hive's interface.

    As Hive's own metastore does, it makes the folders of managed tables and databases, and removes those of dropped ones.
    """

    def __init__(self, glue: Any, folders: Folders, *, catalog_id: str | None = None) -> None:
        self._glue = glue
        self._folders = folders
        self._catalog: dict[str, Any] = {"CatalogId": catalog_id} if catalog_id else {}

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name.startswith("_"):
            raise AttributeError(name)

        def refused(*_arguments: object) -> NoReturn:
            raise ttypes.MetaException(message=f"Penstock's metastore does not serve {name}.")

        return refused

    # fb303 and the session
    def getName(self) -> str:  # noqa: N802 - Hive's name, as those below
        return "penstock"

    def getVersion(self) -> str:  # noqa: N802
        return "3.0"

    def shutdown(self) -> None:
        """Ignore a client's wish to end the server."""

    def set_ugi(self, user_name: str, group_names: Sequence[str]) -> Sequence[str]:
        return group_names or [user_name]

    def getMetaConf(self, _key: str) -> str:  # noqa: N802
        return ""

    def get_config_value(self, _name: str, default: str) -> str:
        return default

    def get_all_functions(self) -> Any:
        return ttypes.GetAllFunctionsResponse(functions=[])

    def get_functions(self, _database: str, _pattern: str) -> Sequence[str]:
        return []

    # databases
    def get_all_databases(self) -> Sequence[str]:
        return [page["Name"] for page in self._pages("get_databases", "DatabaseList")]

    def get_databases(self, pattern: str) -> Sequence[str]:
        return _matching(self.get_all_databases(), pattern)

    def get_database(self, name: str) -> Any:
        with _translated(name):
            return hive_database(self._glue.get_database(Name=name, **self._catalog)["Database"])

    def create_database(self, database: Any) -> None:
        with _translated(database.name):
            if database.locationUri:
                self._folders.make(_s3(database.locationUri))
            self._glue.create_database(DatabaseInput=database_input(database), **self._catalog)

    def alter_database(self, name: str, database: Any) -> None:
        with _translated(name):
            self._glue.update_database(Name=name, DatabaseInput=database_input(database), **self._catalog)

    def drop_database(self, name: str, _delete_data: bool, cascade: bool) -> None:
        if not cascade and self.get_all_tables(name):
            raise ttypes.InvalidOperationException(message=f"Database {name} is not empty.")
        with _translated(name):
            self._glue.delete_database(Name=name, **self._catalog)

    # tables
    def get_all_tables(self, database: str) -> Sequence[str]:
        return [table["Name"] for table in self._tables(database)]

    def get_tables(self, database: str, pattern: str) -> Sequence[str]:
        return _matching(self.get_all_tables(database), pattern)

    def get_tables_by_type(self, database: str, pattern: str, kind: str) -> Sequence[str]:
        tables = [table["Name"] for table in self._tables(database) if table.get("TableType", "EXTERNAL_TABLE") == kind]
        return _matching(tables, pattern)

    def get_table(self, database: str, name: str) -> Any:
        return hive_table(self._table(database, name))

    def get_table_req(self, request: Any) -> Any:
        return ttypes.GetTableResult(table=self.get_table(request.dbName, request.tblName))

    def get_table_objects_by_name(self, database: str, names: Sequence[str]) -> Sequence[Any]:
        table_objects = []
        for name in names:
            try:
                table_objects.append(self.get_table(database, name))
            except ttypes.NoSuchObjectException:
                continue
        return table_objects

    def get_table_objects_by_name_req(self, request: Any) -> Any:
        return ttypes.GetTablesResult(tables=self.get_table_objects_by_name(request.dbName, request.tblNames or ()))

    def create_table(self, table: Any) -> None:
        with _translated(f"{table.dbName}.{table.tableName}"):
            if table.sd is not None and table.tableType == _MANAGED:
                table.sd.location = table.sd.location or self._default_location(table)
                self._folders.make(_s3(table.sd.location))
            self._glue.create_table(DatabaseName=table.dbName, TableInput=table_input(table), **self._catalog)

    def create_table_with_environment_context(self, table: Any, _context: Any) -> None:
        self.create_table(table)

    def alter_table(self, database: str, name: str, table: Any) -> None:
        if (table.dbName.lower(), table.tableName.lower()) != (database.lower(), name.lower()):
            raise ttypes.InvalidOperationException(
                message=f"Glue cannot rename {database}.{name}. Make a table of the new name and drop this one."
            )
        current = self._table(database, name)
        changed = table_input(table)
        # Hive has no place for these.
        changed |= {key: current[key] for key in ("Description", "TargetTable") if key in current}
        with _translated(f"{database}.{name}"):
            self._glue.update_table(
                DatabaseName=database, TableInput=changed, VersionId=current.get("VersionId"), **self._catalog
            )

    def alter_table_with_environment_context(self, database: str, name: str, table: Any, _context: Any) -> None:
        self.alter_table(database, name, table)

    def alter_table_with_cascade(self, database: str, name: str, table: Any, _cascade: bool) -> None:
        self.alter_table(database, name, table)

    def drop_table(self, database: str, name: str, delete_data: bool) -> None:
        table = self._table(database, name)
        location = table.get("StorageDescriptor", {}).get("Location")
        with _translated(f"{database}.{name}"):
            self._glue.delete_table(DatabaseName=database, Name=name, **self._catalog)
            if delete_data and location and table.get("TableType") == _MANAGED:
                self._folders.remove(_s3(location))

    def drop_table_with_environment_context(self, database: str, name: str, delete_data: bool, _context: Any) -> None:
        self.drop_table(database, name, delete_data)

    # partitions
    def get_partitions(self, database: str, table: str, limit: int) -> Sequence[Any]:
        return self._partitions(database, table, None, limit)

    def get_partitions_with_auth(self, database: str, table: str, limit: int, _user: str, _groups: object) -> Sequence[Any]:
        return self.get_partitions(database, table, limit)

    def get_partitions_by_filter(self, database: str, table: str, condition: str, limit: int) -> Sequence[Any]:
        try:
            expression = glue_expression(condition) if condition else None
        except InvalidInput as error:
            raise ttypes.MetaException(message=error.message) from error
        return self._partitions(database, table, expression, limit)

    def get_partitions_ps(self, database: str, table: str, values: Sequence[str], limit: int) -> Sequence[Any]:
        every = self._partitions(database, table, None, -1)
        results = (
            partition
            for partition in every
            if all(not value or value == own for value, own in zip(values, partition.values, strict=False))
        )
        return list(results if limit < 0 else itertools.islice(results, limit))

    def get_partitions_ps_with_auth(
        self, database: str, table: str, values: Sequence[str], limit: int, _user: str, _groups: object
    ) -> Sequence[Any]:
        return self.get_partitions_ps(database, table, values, limit)

    def get_partition_names(self, database: str, table: str, limit: int) -> Sequence[str]:
        keys = [partition_key["Name"] for partition_key in self._table(database, table).get("PartitionKeys", ())]
        return [partition_path(keys, partition.values) for partition in self.get_partitions(database, table, limit)]

    def get_partition_names_ps(self, database: str, table: str, values: Sequence[str], limit: int) -> Sequence[str]:
        keys = [partition_key["Name"] for partition_key in self._table(database, table).get("PartitionKeys", ())]
        return [
            partition_path(keys, partition.values) for partition in self.get_partitions_ps(database, table, values, limit)
        ]

    def get_partition(self, database: str, table: str, values: Sequence[str]) -> Any:
        with _translated(f"partition {list(values)} of {database}.{table}"):
            answer = self._glue.get_partition(
                DatabaseName=database, TableName=table, PartitionValues=list(values), **self._catalog
            )
        return hive_partition(answer["Partition"], database, table)

    def get_partition_with_auth(self, database: str, table: str, values: Sequence[str], _user: str, _groups: object) -> Any:
        return self.get_partition(database, table, values)

    def get_partition_by_name(self, database: str, table: str, name: str) -> Any:
        return self.get_partition(database, table, _values(name))

    def get_partitions_by_names(self, database: str, table: str, names: Sequence[str]) -> Sequence[Any]:
        partitions: list[Any] = []
        for some in _batches(names, _READ):
            values = [{"Values": _values(name)} for name in some]
            while values:
                with _translated(f"{database}.{table}"):
                    answer = self._glue.batch_get_partition(
                        DatabaseName=database, TableName=table, PartitionsToGet=values, **self._catalog
                    )
                partitions += [hive_partition(partition, database, table) for partition in answer.get("Partitions", ())]
                values = answer.get("UnprocessedKeys", [])
        return partitions

    def add_partition(self, partition: Any) -> Any:
        self._add(partition.dbName, partition.tableName, [partition], if_not_exists=False)
        return partition

    def add_partitions(self, partitions: Sequence[Any]) -> int:
        if partitions:
            self._add(partitions[0].dbName, partitions[0].tableName, partitions, if_not_exists=False)
        return len(partitions)

    def add_partitions_req(self, request: Any) -> Any:
        self._add(request.dbName, request.tblName, request.parts, if_not_exists=request.ifNotExists)
        return ttypes.AddPartitionsResult(partitions=request.parts if request.needResult else None)

    def alter_partition(self, database: str, table: str, partition: Any) -> None:
        self._update(database, table, partition.values, partition)

    def alter_partition_with_environment_context(self, database: str, table: str, partition: Any, _context: Any) -> None:
        self.alter_partition(database, table, partition)

    def alter_partitions(self, database: str, table: str, partitions: Sequence[Any]) -> None:
        for partition in partitions:
            self.alter_partition(database, table, partition)

    def alter_partitions_with_environment_context(
        self, database: str, table: str, partitions: Sequence[Any], _context: Any
    ) -> None:
        self.alter_partitions(database, table, partitions)

    def rename_partition(self, database: str, table: str, values: Sequence[str], partition: Any) -> None:
        self._update(database, table, values, partition)

    def drop_partition(self, database: str, table: str, values: Sequence[str], _delete_data: bool) -> bool:
        with _translated(f"partition {list(values)} of {database}.{table}"):
            self._glue.delete_partition(
                DatabaseName=database, TableName=table, PartitionValues=list(values), **self._catalog
            )
        return True

    def drop_partition_with_environment_context(
        self, database: str, table: str, values: Sequence[str], delete_data: bool, _context: Any
    ) -> bool:
        return self.drop_partition(database, table, values, delete_data)

    def drop_partition_by_name(self, database: str, table: str, name: str, delete_data: bool) -> bool:
        return self.drop_partition(database, table, _values(name), delete_data)

    def partition_name_has_valid_characters(self, _values: Sequence[str], _throw: bool) -> bool:
        return True

    def _default_location(self, table: Any) -> str:
        location = self._glue.get_database(Name=table.dbName, **self._catalog)["Database"].get("LocationUri")
        if not location:
            raise InvalidInput(
                f"Database {table.dbName} has no location, so that of table {table.tableName} is not known.",
                remedy="Give the table or the database a location.",
            )
        return f"{location.rstrip('/')}/{table.tableName.lower()}"

    def _tables(self, database: str) -> Iterator[Mapping[str, Any]]:
        return self._pages("get_tables", "TableList", DatabaseName=database)

    def _table(self, database: str, name: str) -> Mapping[str, Any]:
        with _translated(f"{database}.{name}"):
            return self._glue.get_table(DatabaseName=database, Name=name, **self._catalog)["Table"]  # type: ignore[no-any-return]

    def _partitions(self, database: str, table: str, condition: str | None, limit: int) -> Sequence[Any]:
        query = {"Expression": condition} if condition else {}
        pages = self._pages("get_partitions", "Partitions", DatabaseName=database, TableName=table, **query)
        partitions = (hive_partition(page, database, table) for page in pages)
        return list(partitions if limit < 0 else itertools.islice(partitions, limit))

    def _pages(self, operation: str, member: str, **request: Any) -> Iterator[Mapping[str, Any]]:
        with _translated(".".join(request[key] for key in ("DatabaseName", "TableName") if key in request) or "the catalog"):
            for page in self._glue.get_paginator(operation).paginate(**request, **self._catalog):
                yield from page[member]

    def _add(self, database: str, table: str, partitions: Sequence[Any], *, if_not_exists: bool) -> None:
        storage = self.get_table(database, table).sd
        for partition in partitions:
            if partition.sd is None:
                partition.sd = storage
        for some in _batches(partitions, _BATCH):
            with _translated(f"{database}.{table}"):
                answer = self._glue.batch_create_partition(
                    DatabaseName=database,
                    TableName=table,
                    PartitionInputList=[partition_input(item) for item in some],
                    **self._catalog,
                )
            for error in answer.get("Errors", ()):
                what, values = error["ErrorDetail"], error["PartitionValues"]
                if what["ErrorCode"] != "AlreadyExistsException":
                    raise ttypes.MetaException(message=f"Partition {values}: {what.get('ErrorMessage')}")
                if not if_not_exists:
                    raise ttypes.AlreadyExistsException(message=f"Partition {values} of {database}.{table} exists.")

    def _update(self, database: str, table: str, values: Sequence[str], partition: Any) -> None:
        with _translated(f"partition {list(values)} of {database}.{table}"):
            self._glue.update_partition(
                DatabaseName=database,
                TableName=table,
                PartitionValueList=list(values),
                PartitionInput=partition_input(partition),
                **self._catalog,
            )


class _translated:  # noqa: N801 - used as a function
    """Turns AWS's errors about ``what`` into Hive's."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, ClientError):
            details = error.response["Error"]
            message = f"{self._what}: {details.get('Message', '')}"
            raise _ERRORS.get(details.get("Code", ""), ttypes.MetaException)(message=message) from error
        if isinstance(error, BotoCoreError | PenstockError | OSError):
            raise ttypes.MetaException(message=f"{self._what}: {error}") from error


_ERRORS: Mapping[str, Callable[..., Exception]] = {
    "EntityNotFoundException": ttypes.NoSuchObjectException,
    "AlreadyExistsException": ttypes.AlreadyExistsException,
    "InvalidInputException": ttypes.InvalidObjectException,
}


def _matching(names: Sequence[str], pattern: str) -> Sequence[str]:
    choices = [expression([re.escape(part) for part in name.split("*")]) for name in pattern.split("|")]
    wanted = re.compile("|".join(choices), re.IGNORECASE)
    return [name for name in names if wanted.fullmatch(name)]


def _s3(location: str) -> str:
    """Return the location under the scheme that the lake has; Spark's S3A names the same objects."""
    return re.sub(r"^s3[an]://", "s3://", location)


def _values(name: str) -> list[str]:
    return [value or "" for _, value in parse_partition_path(name)]


def _batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))
