"""Athena's operations on statements, with those of its other modules."""

from collections.abc import Mapping
from typing import Any

from penstock.api.aws.athena.answers import page_arguments, pages, unprocessed, with_token
from penstock.api.aws.athena.data_catalogs import data_catalog_handlers
from penstock.api.aws.athena.metadata import metadata_handlers
from penstock.api.aws.athena.saved import named_query_handlers, prepared_statement_handlers
from penstock.api.aws.athena.tags import tag_handlers
from penstock.api.aws.athena.work_groups import engine_version, options_of, result_options, work_group_handlers
from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.catalog.service import CatalogService
from penstock.query.service import QueryService, StatementRequest
from penstock.statements.model import ResultColumn, Statement

__all__ = ["operations"]

_DEFAULT_AGE = 60  # minutes; Athena's API reference, ResultReuseByAgeConfiguration
_MANIFEST_COLUMNS = (ResultColumn(name="location", type="varchar", precision=2147483647),)


def operations(service: QueryService, catalog: CatalogService) -> OperationSet:
    """Return Athena's operations over ``service``, and over the ``catalog`` that its statements read."""
    statements = _Statements(service)
    return OperationSet(
        service="athena",
        handlers={
            "StartQueryExecution": statements.start,
            "GetQueryExecution": statements.get,
            "BatchGetQueryExecution": statements.batch_get,
            "ListQueryExecutions": statements.list,
            "StopQueryExecution": statements.stop,
            "GetQueryResults": statements.results,
            "GetQueryRuntimeStatistics": statements.runtime_statistics,
            **work_group_handlers(service.work_groups),
            **prepared_statement_handlers(service),
            **named_query_handlers(service),
            **metadata_handlers(catalog, service.data_catalogs, service.work_groups),
            **data_catalog_handlers(service.data_catalogs, service.work_groups),
            **tag_handlers(service.work_groups, service.data_catalogs),
        },
    )


class _Statements:
    """Operations on statements."""

    def __init__(self, service: QueryService) -> None:
        self._service = service

    def start(self, request: Mapping[str, Any], context: RequestContext) -> Mapping[str, Any]:
        wanted = request.get("QueryExecutionContext", {})
        result = request.get("ResultConfiguration", {})
        statement_id = self._service.start(
            StatementRequest(
                sql=request["QueryString"],
                database=wanted.get("Database"),
                catalog=wanted.get("Catalog"),
                workgroup=request.get("WorkGroup"),
                output_location=result.get("OutputLocation"),
                options=options_of(result),
                parameters=tuple(request.get("ExecutionParameters", ())),
                token=request.get("ClientRequestToken"),
                reuse_minutes=_reuse_minutes(request),
                principal=context.principal,
                catalog_access=context.catalog_access,
            )
        )
        return {"QueryExecutionId": statement_id}

    def get(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        return {"QueryExecution": _execution(self._service.poll(request["QueryExecutionId"]))}

    def batch_get(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        ids = list(dict.fromkeys(request["QueryExecutionIds"]))
        statements = self._service.get_many(ids)
        return {
            "QueryExecutions": [_execution(statement) for statement in statements],
            "UnprocessedQueryExecutionIds": unprocessed(
                ids, (statement.id for statement in statements), "QueryExecutionId", "QueryExecution", code="INVALID_INPUT"
            ),
        }

    def list(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        with pages():
            page = self._service.page(workgroup=request.get("WorkGroup"), **page_arguments(request))
        return with_token({"QueryExecutionIds": list(page.ids)}, page.next_token)

    def stop(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        self._service.stop(request["QueryExecutionId"])
        return {}

    def results(self, request: Mapping[str, Any], context: RequestContext) -> Mapping[str, Any]:
        manifest = request.get("QueryResultType") == "DATA_MANIFEST"
        statement, rows = self._service.results(
            request["QueryExecutionId"],
            limit=request.get("MaxResults", 1000),
            token=request.get("NextToken"),
            manifest=manifest,
            access=context.catalog_access,
        )
        columns = _MANIFEST_COLUMNS if manifest else statement.columns
        answer: dict[str, Any] = {
            "UpdateCount": statement.statistics.update_count or 0,
            "ResultSet": {
                "Rows": [{"Data": [_datum(value) for value in row]} for row in rows.rows],
                "ResultSetMetadata": {"ColumnInfo": [_column(column) for column in columns]},
            },
        }
        return with_token(answer, None if rows.next_offset is None else str(rows.next_offset))

    def runtime_statistics(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        statement = self._service.get(request["QueryExecutionId"])
        took = statement.statistics
        rows = {
            "InputBytes": took.scanned_bytes,
            "OutputRows": took.output_rows,
            "OutputBytes": took.output_bytes,
        }
        if took.scanned_rows is not None:
            rows["InputRows"] = took.scanned_rows
        return {"QueryRuntimeStatistics": {"Timeline": _timeline(statement), "Rows": rows}}


def _reuse_minutes(request: Mapping[str, Any]) -> int | None:
    reuse = request.get("ResultReuseConfiguration", {}).get("ResultReuseByAgeConfiguration", {})
    return reuse.get("MaxAgeInMinutes", _DEFAULT_AGE) if reuse.get("Enabled") else None


def _reuse(statement: Statement) -> Mapping[str, Any]:
    if statement.reuse_minutes is None:
        return {"Enabled": False}
    return {"Enabled": True, "MaxAgeInMinutes": statement.reuse_minutes}


def _execution(statement: Statement) -> Mapping[str, Any]:
    status: dict[str, Any] = {"State": statement.state.value, "SubmissionDateTime": statement.submitted}
    if statement.completed is not None:
        status["CompletionDateTime"] = statement.completed
    if statement.reason is not None:
        status["StateChangeReason"] = statement.reason
    if statement.failure is not None:
        status["AthenaError"] = {
            "ErrorCategory": statement.failure.category,
            "ErrorType": statement.failure.type,
            "Retryable": statement.failure.retryable,
            "ErrorMessage": statement.failure.message,
        }
    where = {"Catalog": statement.catalog.lower()}
    if statement.database is not None:
        where["Database"] = statement.database
    uri = statement.statistics.manifest_uri
    manifest = {} if uri is None or statement.managed else {"DataManifestLocation": uri}
    execution: dict[str, Any] = {
        "QueryExecutionId": statement.id,
        "Query": statement.sql,
        "StatementType": statement.type.value,
        "ResultReuseConfiguration": {"ResultReuseByAgeConfiguration": _reuse(statement)},
        "QueryExecutionContext": where,
        "Status": status,
        "Statistics": {
            **_timeline(statement),
            "DataScannedInBytes": statement.statistics.scanned_bytes,
            "ResultReuseInformation": {"ReusedPreviousResult": statement.statistics.reused},
            **manifest,
        },
        "WorkGroup": statement.workgroup,
        "EngineVersion": engine_version(statement.engine),
    }
    if statement.managed:
        execution["ManagedQueryResultsConfiguration"] = {"Enabled": True}
    else:
        location = {"OutputLocation": statement.result_uri}
        execution["ResultConfiguration"] = location | result_options(statement.options)
    if statement.substatement is not None:
        execution["SubstatementType"] = statement.substatement
    if statement.parameters:
        execution["ExecutionParameters"] = list(statement.parameters)
    return execution


def _timeline(statement: Statement) -> Mapping[str, int]:
    took = statement.statistics
    return {
        "QueryQueueTimeInMillis": took.queue_ms,
        "ServicePreProcessingTimeInMillis": 0,
        "QueryPlanningTimeInMillis": took.planning_ms,
        "EngineExecutionTimeInMillis": took.engine_ms,
        "ServiceProcessingTimeInMillis": took.service_ms,
        "TotalExecutionTimeInMillis": took.total_ms,
    }


def _datum(value: str | None) -> Mapping[str, str]:
    return {} if value is None else {"VarCharValue": value}


def _column(column: ResultColumn) -> Mapping[str, Any]:
    return {
        "CatalogName": "hive",
        "SchemaName": "",
        "TableName": "",
        "Name": column.name,
        "Label": column.name,
        "Type": column.type,
        "Precision": column.precision,
        "Scale": column.scale,
        "Nullable": "UNKNOWN",
        "CaseSensitive": column.type in {"varchar", "string"},
    }
