"""Definitions between Glue's shapes (botocore's dictionaries) and the structures of Hive's metastore.

Hive's clients need texts and maps where Glue's members may be absent, so these get Hive's own defaults. What Glue has and
Hive has not (such as a table's version id) is kept by the callers.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from hive_metastore import ttypes

from penstock.types import hive

__all__ = [
    "database_input",
    "hive_database",
    "hive_partition",
    "hive_table",
    "partition_input",
    "table_input",
]

_TABLE_TYPE = "EXTERNAL_TABLE"


def hive_database(database: Mapping[str, Any]) -> Any:
    """Return Glue's Database as Hive's."""
    return ttypes.Database(
        name=database["Name"],
        description=database.get("Description", ""),
        locationUri=database.get("LocationUri", ""),
        parameters=dict(database.get("Parameters", {})),
        ownerType=ttypes.PrincipalType.USER,
    )


def database_input(database: Any) -> dict[str, Any]:
    """Return Hive's Database as Glue's DatabaseInput."""
    return _present(
        Name=database.name,
        Description=database.description or None,
        LocationUri=database.locationUri or None,
        Parameters=database.parameters or None,
    )


def hive_table(table: Mapping[str, Any]) -> Any:
    """Return Glue's Table as Hive's."""
    return ttypes.Table(
        tableName=table["Name"],
        dbName=table["DatabaseName"],
        owner=table.get("Owner", ""),
        createTime=_seconds(table.get("CreateTime")),
        lastAccessTime=_seconds(table.get("LastAccessTime")),
        retention=table.get("Retention", 0),
        sd=_hive_storage(table.get("StorageDescriptor", {})),
        partitionKeys=_hive_columns(table.get("PartitionKeys", ())),
        parameters=dict(table.get("Parameters", {})),
        viewOriginalText=table.get("ViewOriginalText"),
        viewExpandedText=table.get("ViewExpandedText"),
        tableType=table.get("TableType") or _TABLE_TYPE,
    )


def table_input(table: Any) -> dict[str, Any]:
    """Return Hive's Table as Glue's TableInput."""
    return _present(
        Name=table.tableName,
        Owner=table.owner or None,
        Retention=table.retention or None,
        StorageDescriptor=_glue_storage(table.sd) if table.sd is not None else None,
        PartitionKeys=_glue_columns(table.partitionKeys or ()),
        Parameters=table.parameters or None,
        ViewOriginalText=table.viewOriginalText or None,
        ViewExpandedText=table.viewExpandedText or None,
        TableType=table.tableType or _TABLE_TYPE,
    )


def hive_partition(partition: Mapping[str, Any], database: str, table: str) -> Any:
    """Return Glue's Partition as Hive's."""
    return ttypes.Partition(
        values=list(partition["Values"]),
        dbName=database,
        tableName=table,
        createTime=_seconds(partition.get("CreationTime")),
        lastAccessTime=_seconds(partition.get("LastAccessTime")),
        sd=_hive_storage(partition.get("StorageDescriptor", {})),
        parameters=dict(partition.get("Parameters", {})),
    )


def partition_input(partition: Any) -> dict[str, Any]:
    """Return Hive's Partition as Glue's PartitionInput."""
    return _present(
        Values=list(partition.values),
        StorageDescriptor=_glue_storage(partition.sd) if partition.sd is not None else None,
        Parameters=partition.parameters or None,
    )


def _hive_storage(storage: Mapping[str, Any]) -> Any:
    serde = storage.get("SerdeInfo", {})
    return ttypes.StorageDescriptor(
        cols=_hive_columns(storage.get("Columns", ())),
        location=storage.get("Location"),
        inputFormat=storage.get("InputFormat"),
        outputFormat=storage.get("OutputFormat"),
        compressed=storage.get("Compressed", False),
        numBuckets=storage.get("NumberOfBuckets", -1),
        serdeInfo=ttypes.SerDeInfo(
            name=serde.get("Name"),
            serializationLib=serde.get("SerializationLibrary"),
            parameters=dict(serde.get("Parameters", {})),
        ),
        bucketCols=list(storage.get("BucketColumns", ())),
        sortCols=[
            ttypes.Order(col=sort_column["Column"], order=sort_column["SortOrder"])
            for sort_column in storage.get("SortColumns", ())
        ],
        parameters=dict(storage.get("Parameters", {})),
        skewedInfo=ttypes.SkewedInfo(skewedColNames=[], skewedColValues=[], skewedColValueLocationMaps={}),
        storedAsSubDirectories=storage.get("StoredAsSubDirectories", False),
    )


def _glue_storage(storage: Any) -> dict[str, Any]:
    serde = storage.serdeInfo
    return _present(
        Columns=_glue_columns(storage.cols or ()),
        Location=storage.location or None,
        InputFormat=storage.inputFormat or None,
        OutputFormat=storage.outputFormat or None,
        Compressed=bool(storage.compressed),
        NumberOfBuckets=storage.numBuckets,
        SerdeInfo=_present(
            Name=serde.name or None,
            SerializationLibrary=serde.serializationLib or None,
            Parameters=serde.parameters or None,
        )
        if serde is not None
        else None,
        BucketColumns=storage.bucketCols or None,
        SortColumns=[{"Column": sort_col.col, "SortOrder": sort_col.order} for sort_col in storage.sortCols or ()] or None,
        Parameters=storage.parameters or None,
        StoredAsSubDirectories=bool(storage.storedAsSubDirectories),
    )


def _hive_columns(columns: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [
        ttypes.FieldSchema(
            name=column["Name"], type=hive.canonical(column.get("Type", "string")), comment=column.get("Comment")
        )
        for column in columns
    ]


def _glue_columns(columns: Sequence[Any]) -> list[dict[str, Any]]:
    return [_present(Name=column.name, Type=column.type, Comment=column.comment or None) for column in columns]


def _seconds(time: datetime | None) -> int:
    return int(time.timestamp()) if time is not None else 0


def _present(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
