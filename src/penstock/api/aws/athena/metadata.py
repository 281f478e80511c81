"""Athena's operations on databases and tables: the Glue catalog in Athena's shapes."""

from collections.abc import Mapping
from typing import Any, NoReturn
from uuid import uuid4

from penstock.api.aws.athena.answers import page_arguments, pages, with_token
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.catalog.model import Column, Database, Table
from penstock.catalog.service import CatalogService
from penstock.errors import NotFound
from penstock.query.errors import MetadataProblem
from penstock.statements.data_catalogs import DataCatalogs
from penstock.statements.work_groups import PRIMARY, WorkGroups

__all__ = ["metadata_handlers"]


def metadata_handlers(catalog: CatalogService, names: DataCatalogs, groups: WorkGroups) -> Mapping[str, Handler]:
    """Return the handlers over ``catalog``, by operation: a request has one of its ``names``, and one of ``groups``."""
    metadata = _Metadata(catalog, names, groups)
    return {
        "GetDatabase": metadata.get_database,
        "ListDatabases": metadata.list_databases,
        "GetTableMetadata": metadata.get_table,
        "ListTableMetadata": metadata.list_tables,
    }


class _Metadata:
    def __init__(self, catalog: CatalogService, names: DataCatalogs, groups: WorkGroups) -> None:
        self._catalog = catalog
        self._names = names
        self._groups = groups

    def get_database(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        return {"Database": _database(self._existing(request))}

    def list_databases(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        self._check_catalog(request)
        with pages():
            page = self._catalog.databases_page(**page_arguments(request))
        return with_token({"DatabaseList": [_database(item) for item in page.items]}, page.next_token)

    def get_table(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        self._check_catalog(request)
        try:
            table = self._catalog.table(request["DatabaseName"].lower(), request["TableName"].lower())
        except NotFound as error:
            _not_found(error, f"Table {request['TableName']} not found.")
        return {"TableMetadata": _table(table)}

    def list_tables(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        database = self._existing(request)
        expression = request.get("Expression")  # a regular expression, as in Glue's GetTables
        with pages():
            page = self._catalog.tables_page(database.name, **page_arguments(request), expression=expression)
        return with_token({"TableMetadataList": [_table(item) for item in page.items]}, page.next_token)

    def _check_catalog(self, request: Mapping[str, Any]) -> None:
        self._groups.get(request.get("WorkGroup") or PRIMARY)
        self._names.get(request["CatalogName"])

    def _existing(self, request: Mapping[str, Any]) -> Database:
        self._check_catalog(request)
        name = request["DatabaseName"].lower()
        try:
            return self._catalog.database(name)
        except NotFound as error:
            _not_found(error, f"Database {name} not found.")


def _not_found(error: NotFound, what: str) -> NoReturn:
    """Raise Athena's error around Glue's: clients (PyAthena, dbt) recognize a missing table by how the message ends."""
    glue = f"Service: AmazonDataCatalog; Status Code: 400; Error Code: EntityNotFoundException; Request ID: {uuid4()}"
    raise MetadataProblem(f"{what} ({glue}; Proxy: null)") from error


def _database(database: Database) -> Mapping[str, Any]:
    described = {"Description": database.description} if database.description else {}
    return {"Name": database.name, "Parameters": dict(database.parameters), **described}


def _table(table: Table) -> Mapping[str, Any]:
    parameters = dict(table.parameters)
    storage = table.storage
    for key, value in (
        ("inputformat", storage.input_format),
        ("outputformat", storage.output_format),
        ("location", storage.location),
    ):
        if value:
            parameters[key] = value
    if storage.serde_info is not None:
        library = storage.serde_info.serialization_library
        if library:
            parameters["serde.serialization.lib"] = library
        parameters |= {f"serde.param.{key}": value for key, value in storage.serde_info.parameters.items()}
    return {
        "Name": table.name,
        "CreateTime": table.create_time,
        "TableType": table.table_type or "",
        "Columns": [_column(column) for column in storage.columns],
        "PartitionKeys": [_column(partition_key) for partition_key in table.partition_keys],
        "Parameters": parameters,
    }


def _column(column: Column) -> Mapping[str, Any]:
    described = {"Comment": column.comment} if column.comment else {}
    return {"Name": column.name, "Type": column.type or "string", **described}
