"""Athena's operations on databases and tables: the Glue catalog in Athena's shapes."""

from collections.abc import Mapping
from typing import NoReturn
from uuid import uuid4

from penstock.api.aws.athena.answers import page_arguments, pages
from penstock.api.aws.protocol.handlers import paged
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.catalog.model import Column, Database, Table
from penstock.catalog.service import CatalogService
from penstock.errors import NotFound
from penstock.query.errors import MetadataProblem
from penstock.statements.data_catalogs import DataCatalogs
from penstock.statements.work_groups import PRIMARY, WorkGroups

__all__ = ["metadata_handlers"]


def metadata_handlers(catalog: CatalogService, names: DataCatalogs, groups: WorkGroups) -> Mapping[str, Handler]:
    """Return the handlers over ``catalog``, by operation: a request has one of its ``names``, and one of ``groups``."""

    def check_catalog(request: Request) -> None:
        groups.get(request.get("WorkGroup") or PRIMARY)
        names.get(request["CatalogName"])

    def existing(request: Request) -> Database:
        check_catalog(request)
        name = request["DatabaseName"].lower()
        try:
            return catalog.database(name)
        except NotFound as error:
            _not_found(error, f"Database {name} not found.")

    def get_database(request: Request, _context: RequestContext) -> Response:
        return {"Database": _database(existing(request))}

    def list_databases(request: Request, _context: RequestContext) -> Response:
        check_catalog(request)
        with pages():
            page = catalog.databases_page(**page_arguments(request))
        return paged(page, DatabaseList=[_database(database) for database in page.items])

    def get_table(request: Request, _context: RequestContext) -> Response:
        check_catalog(request)
        try:
            table = catalog.table(request["DatabaseName"].lower(), request["TableName"].lower())
        except NotFound as error:
            _not_found(error, f"Table {request['TableName']} not found.")
        return {"TableMetadata": _table(table)}

    def list_tables(request: Request, _context: RequestContext) -> Response:
        database = existing(request)
        expression = request.get("Expression")  # a regular expression, as in Glue's GetTables
        with pages():
            page = catalog.tables_page(database.name, **page_arguments(request), expression=expression)
        return paged(page, TableMetadataList=[_table(table) for table in page.items])

    return {
        "GetDatabase": get_database,
        "ListDatabases": list_databases,
        "GetTableMetadata": get_table,
        "ListTableMetadata": list_tables,
    }


def _not_found(error: NotFound, what: str) -> NoReturn:
    """Raise Athena's error around Glue's: clients (PyAthena, dbt) recognize a missing table by how the message ends."""
    glue = f"Service: AmazonDataCatalog; Status Code: 400; Error Code: EntityNotFoundException; Request ID: {uuid4()}"
    raise MetadataProblem(f"{what} ({glue}; Proxy: null)") from error


def _database(database: Database) -> Response:
    parameters = dict(database.parameters)
    return present(Name=database.name, Parameters=parameters, Description=database.description or None)


def _table(table: Table) -> Response:
    storage, serde = table.storage, table.storage.serde_info
    described = {
        "inputformat": storage.input_format,
        "outputformat": storage.output_format,
        "location": storage.location,
        "serde.serialization.lib": serde.serialization_library if serde is not None else None,
    }
    parameters = {**table.parameters, **{key: value for key, value in described.items() if value}}
    if serde is not None:
        parameters |= {f"serde.param.{key}": value for key, value in serde.parameters.items()}
    return {
        "Name": table.name,
        "CreateTime": table.create_time,
        "TableType": table.table_type or "",
        "Columns": [_column(column) for column in storage.columns],
        "PartitionKeys": [_column(partition_key) for partition_key in table.partition_keys],
        "Parameters": parameters,
    }


def _column(column: Column) -> Response:
    return present(Name=column.name, Type=column.type or "string", Comment=column.comment or None)
