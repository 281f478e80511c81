"""The data catalog's client: tables, and partitions, which may be added repeatedly.

Tables have Glue's own shapes (``Table``, ``TableInput``), as botocore's model describes them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.client.connection import open_client, translated_errors
from penstock.errors import AlreadyExists, ConcurrentModification, InvalidInput, PenstockError

if TYPE_CHECKING:
    from boto3.session import Session
    from types_boto3_glue import GlueClient
    from types_boto3_glue.type_defs import (
        PartitionInputTypeDef,
        PartitionTypeDef,
        StorageDescriptorOutputTypeDef,
        TableInputTypeDef,
        TableTypeDef,
    )

__all__ = ["CatalogClient", "table_input"]

# BatchCreatePartition's limit: https://docs.aws.amazon.com/glue/latest/webapi/API_BatchCreatePartition.html
_BATCH = 100

# BatchDeletePartition's limit: https://docs.aws.amazon.com/glue/latest/webapi/API_BatchDeletePartition.html
_DELETED = 25

_TABLE_INPUT = frozenset(
    {
        "Name",
        "Description",
        "Owner",
        "LastAccessTime",
        "LastAnalyzedTime",
        "Retention",
        "StorageDescriptor",
        "PartitionKeys",
        "ViewOriginalText",
        "ViewExpandedText",
        "TableType",
        "Parameters",
        "TargetTable",
    }
)


def table_input(table: "TableTypeDef") -> "TableInputTypeDef":
    """Return the members of a table that an update may have: without times, ids and owners, which the service sets."""
    return {key: value for key, value in table.items() if key in _TABLE_INPUT}  # type: ignore[return-value]


class CatalogClient:
    """Databases, tables and partitions of one catalog; safe for threads. Same options as :class:`RegistryClient`."""

    def __init__(
        self,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        session: "Session | None" = None,
        catalog_id: str | None = None,
        attempts: int = 5,
    ) -> None:
        self._glue: GlueClient = open_client(
            "glue", region=region, endpoint_url=endpoint_url, session=session, attempts=attempts
        )
        self._catalog: dict[str, Any] = {"CatalogId": catalog_id} if catalog_id else {}

    def ensure_database(self, name: str, *, description: str | None = None, location: str | None = None) -> None:
        """Create a database unless it exists."""
        database: dict[str, Any] = {"Name": name, "Description": description, "LocationUri": location}
        body = {key: value for key, value in database.items() if value is not None}
        try:
            with translated_errors(self._glue, f"creation of database {name}"):
                self._glue.create_database(DatabaseInput=body, **self._catalog)  # type: ignore[arg-type]
        except AlreadyExists:
            return

    def table(self, database: str, name: str) -> "TableTypeDef":
        """Return the table's current version; :class:`~penstock.errors.NotFound` if the table does not exist."""
        with translated_errors(self._glue, f"table {database}.{name}"):
            return self._glue.get_table(DatabaseName=database, Name=name, **self._catalog)["Table"]

    def create_table(self, database: str, table: "TableInputTypeDef") -> None:
        """Create a table; :class:`~penstock.errors.AlreadyExists` if the name is taken."""
        with translated_errors(self._glue, f"creation of table {database}.{table['Name']}"):
            self._glue.create_table(DatabaseName=database, TableInput=table, **self._catalog)

    def update_table(
        self, database: str, table: "TableInputTypeDef", *, version_id: str | None = None, skip_archive: bool = False
    ) -> None:
        """Replace a table's definition.

        ``version_id`` is the version that the change is based on. Raises
        :class:`~penstock.errors.ConcurrentModification` if the table has a later one.
        """
        guard: dict[str, Any] = {"VersionId": version_id} if version_id is not None else {}
        with translated_errors(self._glue, f"update of table {database}.{table['Name']}"):
            self._glue.update_table(
                DatabaseName=database, TableInput=table, SkipArchive=skip_archive, **guard, **self._catalog
            )

    def partitions(self, database: str, table: str, *, expression: str | None = None) -> "Iterator[PartitionTypeDef]":
        """Yield all partitions, or those that a Glue partition expression (``ingest_year = '2026'``) selects."""
        query: dict[str, Any] = {"Expression": expression} if expression else {}
        with translated_errors(self._glue, f"the partitions of table {database}.{table}"):
            pages = self._glue.get_paginator("get_partitions").paginate(
                DatabaseName=database, TableName=table, ExcludeColumnSchema=True, **query, **self._catalog
            )
            for page in pages:
                yield from page["Partitions"]

    def move_partition(self, database: str, table: str, values: Sequence[str], *, source: str, target: str) -> None:
        """Change a partition's location from ``source`` to ``target``, if it is there; at ``target`` it stays.

        Glue's UpdatePartition has no precondition, so the location is compared just before: callers exclude each other (see
        :mod:`penstock.spark.maintenance.lease`). Raises :class:`~penstock.errors.NotFound` for a partition that does not
        exist, :class:`~penstock.errors.ConcurrentModification` for one at another location.
        """
        what = f"partition {list(values)} of table {database}.{table}"
        with translated_errors(self._glue, what):
            partition = self._glue.get_partition(
                DatabaseName=database, TableName=table, PartitionValues=list(values), **self._catalog
            )["Partition"]
            storage = partition.get("StorageDescriptor", {})
            at = storage.get("Location", "").rstrip("/")
            if at == target.rstrip("/"):
                return
            if at != source.rstrip("/"):
                raise ConcurrentModification(
                    f"The {what} is at {at}, not at {source}: it was moved.", remedy="Run the compaction again."
                )
            changed: Any = {"Values": list(values), "StorageDescriptor": {**storage, "Location": f"{target.rstrip('/')}/"}}
            if "Parameters" in partition:
                changed["Parameters"] = partition["Parameters"]
            self._glue.update_partition(
                DatabaseName=database,
                TableName=table,
                PartitionValueList=list(values),
                PartitionInput=changed,
                **self._catalog,
            )

    def add_partitions(self, database: str, table: str, locations: Mapping[Sequence[str], str]) -> int:
        """Add the partitions that do not exist yet and return how many were new.

        ``locations`` maps each partition's values, in the order of the table's keys, to its ``s3://`` location. The
        storage descriptor is the table's with that location, as with crawlers and Spark. A partition that exists is not
        an error and stays unchanged. Raises :class:`InvalidInput` if a partition is refused.
        """
        if not locations:
            return 0
        current = self.table(database, table)
        keys = [key["Name"] for key in current.get("PartitionKeys", [])]
        mismatched = next((values for values in locations if len(values) != len(keys)), None)
        if mismatched is not None:
            raise InvalidInput(f"Partition {list(mismatched)} of table {database}.{table} does not fit its keys {keys}.")
        storage = current.get("StorageDescriptor", {})
        inputs = [_partition(values, location, storage) for values, location in locations.items()]
        return sum(
            self._add_batch(database, table, inputs[start : start + _BATCH]) for start in range(0, len(inputs), _BATCH)
        )

    def drop_partitions(self, database: str, table: str, values: Sequence[Sequence[str]]) -> None:
        """Remove partitions from the catalog, not their files; those that do not exist are passed over."""
        for start in range(0, len(values), _DELETED):
            batch = [{"Values": list(partition)} for partition in values[start : start + _DELETED]]
            with translated_errors(self._glue, f"removal of {len(batch)} partitions of table {database}.{table}"):
                self._glue.batch_delete_partition(
                    DatabaseName=database,
                    TableName=table,
                    PartitionsToDelete=batch,  # type: ignore[arg-type]
                    **self._catalog,
                )

    def _add_batch(self, database: str, table: str, batch: "list[PartitionInputTypeDef]") -> int:
        with translated_errors(self._glue, f"creation of {len(batch)} partitions of table {database}.{table}"):
            answer = self._glue.batch_create_partition(
                DatabaseName=database, TableName=table, PartitionInputList=batch, **self._catalog
            )
        existing = 0
        for error in answer.get("Errors", []):
            detail = error.get("ErrorDetail", {})
            if detail.get("ErrorCode") != "AlreadyExistsException":
                raise _refused(
                    database,
                    table,
                    error.get("PartitionValues", []),
                    detail.get("ErrorCode", ""),
                    detail.get("ErrorMessage", ""),
                )
            existing += 1
        return len(batch) - existing


def _partition(values: Sequence[str], location: str, storage: "StorageDescriptorOutputTypeDef") -> "PartitionInputTypeDef":
    return {"Values": list(values), "StorageDescriptor": {**storage, "Location": location}}


def _refused(database: str, table: str, values: Sequence[str], code: str, text: str) -> PenstockError:
    return InvalidInput(f"Partition {list(values)} of table {database}.{table} was refused: {code}: {text}")
