"""Athena's operations on statements, with those of its other modules."""

from functools import partial
from typing import Any

from penstock.api.aws.athena.answers import page_arguments, pages, unprocessed
from penstock.api.aws.athena.data_catalogs import data_catalog_handlers
from penstock.api.aws.athena.metadata import metadata_handlers
from penstock.api.aws.athena.saved import named_query_handlers, prepared_statement_handlers
from penstock.api.aws.athena.tags import tag_handlers
from penstock.api.aws.athena.work_groups import engine_version, options_of, result_options, work_group_handlers
from penstock.api.aws.protocol.handlers import call, under
from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.catalog.service import CatalogService
from penstock.query.service import QueryService, StatementRequest
from penstock.statements.model import ResultColumn, Statement

__all__ = ["operations"]

_DEFAULT_AGE = 60  # minutes; Athena's API reference, ResultReuseByAgeConfiguration
_MANIFEST_COLUMNS = (ResultColumn(name="location", type="varchar", precision=2147483647),)


def operations(service: QueryService, catalog: CatalogService) -> OperationSet:
    """Return Athena's operations over ``service``, and over the ``catalog`` that its statements read."""

    def start(request: Request, context: RequestContext) -> Response:
        place = request.get("QueryExecutionContext", {})
        result = request.get("ResultConfiguration", {})
        statement_id = service.start(
            StatementRequest(
                sql=request["QueryString"],
                database=place.get("Database"),
                catalog=place.get("Catalog"),
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

    def batch_get(request: Request, _context: RequestContext) -> Response:
        ids = list(dict.fromkeys(request["QueryExecutionIds"]))
        statements = service.get_many(ids)
        existing = [statement.id for statement in statements]
        missing = unprocessed(ids, existing, "QueryExecutionId", "QueryExecution", code="INVALID_INPUT")
        executions = [_execution(statement) for statement in statements]
        return {"QueryExecutions": executions, "UnprocessedQueryExecutionIds": missing}

    def list_all(request: Request, _context: RequestContext) -> Response:
        with pages():
            page = service.page(workgroup=request.get("WorkGroup"), **page_arguments(request))
        return present(QueryExecutionIds=list(page.ids), NextToken=page.next_token)

    return OperationSet(
        service="athena",
        handlers={
            "StartQueryExecution": start,
            "GetQueryExecution": call(service.poll, "QueryExecutionId", answer=under("QueryExecution", _execution)),
            "BatchGetQueryExecution": batch_get,
            "ListQueryExecutions": list_all,
            "StopQueryExecution": call(service.stop, "QueryExecutionId"),
            "GetQueryResults": partial(_results, service),
            "GetQueryRuntimeStatistics": call(
                service.get, "QueryExecutionId", answer=under("QueryRuntimeStatistics", _runtime_statistics)
            ),
            **work_group_handlers(service.work_groups),
            **prepared_statement_handlers(service),
            **named_query_handlers(service),
            **metadata_handlers(catalog, service.data_catalogs, service.work_groups),
            **data_catalog_handlers(service.data_catalogs, service.work_groups),
            **tag_handlers(service.work_groups, service.data_catalogs),
        },
    )


def _results(service: QueryService, request: Request, context: RequestContext) -> Response:
    manifest = request.get("QueryResultType") == "DATA_MANIFEST"
    statement, rows = service.results(
        request["QueryExecutionId"],
        limit=request.get("MaxResults", 1000),
        token=request.get("NextToken"),
        manifest=manifest,
        access=context.catalog_access,
    )
    columns = _MANIFEST_COLUMNS if manifest else statement.columns
    return present(
        UpdateCount=statement.statistics.update_count or 0,
        ResultSet={
            "Rows": [{"Data": [_datum(value) for value in row]} for row in rows.rows],
            "ResultSetMetadata": {"ColumnInfo": [_column(column) for column in columns]},
        },
        NextToken=None if rows.next_offset is None else str(rows.next_offset),
    )


def _runtime_statistics(statement: Statement) -> Response:
    took = statement.statistics
    rows = present(
        InputBytes=took.scanned_bytes,
        OutputRows=took.output_rows,
        OutputBytes=took.output_bytes,
        InputRows=took.scanned_rows,
    )
    return {"Timeline": _timeline(statement), "Rows": rows}


def _reuse_minutes(request: Request) -> int | None:
    reuse = request.get("ResultReuseConfiguration", {}).get("ResultReuseByAgeConfiguration", {})
    return reuse.get("MaxAgeInMinutes", _DEFAULT_AGE) if reuse.get("Enabled") else None


def _reuse(statement: Statement) -> Response:
    if statement.reuse_minutes is None:
        return {"Enabled": False}
    return {"Enabled": True, "MaxAgeInMinutes": statement.reuse_minutes}


def _execution(statement: Statement) -> Response:
    failure, took = statement.failure, statement.statistics
    status = present(
        State=statement.state.value,
        SubmissionDateTime=statement.submitted,
        CompletionDateTime=statement.completed,
        StateChangeReason=statement.reason,
        AthenaError=None
        if failure is None
        else {
            "ErrorCategory": failure.category,
            "ErrorType": failure.type,
            "Retryable": failure.retryable,
            "ErrorMessage": failure.message,
        },
    )
    results: dict[str, Any] = (
        {"ManagedQueryResultsConfiguration": {"Enabled": True}}
        if statement.managed
        else {"ResultConfiguration": {"OutputLocation": statement.result_uri} | result_options(statement.options)}
    )
    return present(
        QueryExecutionId=statement.id,
        Query=statement.sql,
        StatementType=statement.type.value,
        ResultReuseConfiguration={"ResultReuseByAgeConfiguration": _reuse(statement)},
        QueryExecutionContext=present(Catalog=statement.catalog.lower(), Database=statement.database),
        Status=status,
        Statistics=present(
            **_timeline(statement),
            DataScannedInBytes=took.scanned_bytes,
            ResultReuseInformation={"ReusedPreviousResult": took.reused},
            DataManifestLocation=None if statement.managed else took.manifest_uri,
        ),
        WorkGroup=statement.workgroup,
        EngineVersion=engine_version(statement.engine),
        **results,
        SubstatementType=statement.substatement,
        ExecutionParameters=list(statement.parameters) or None,
    )


def _timeline(statement: Statement) -> Response:
    took = statement.statistics
    return {
        "QueryQueueTimeInMillis": took.queue_ms,
        "ServicePreProcessingTimeInMillis": 0,
        "QueryPlanningTimeInMillis": took.planning_ms,
        "EngineExecutionTimeInMillis": took.engine_ms,
        "ServiceProcessingTimeInMillis": took.service_ms,
        "TotalExecutionTimeInMillis": took.total_ms,
    }


def _datum(value: str | None) -> Response:
    return {} if value is None else {"VarCharValue": value}


def _column(column: ResultColumn) -> Response:
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
