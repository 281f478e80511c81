"""Athena's operations on statements, workgroups and catalogs."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from penstock.api.aws.athena.metadata import metadata_handlers
from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.errors import InvalidInput
from penstock.query.errors import InvalidRequest
from penstock.query.service import PRIMARY, QueryService, StatementRequest, check_workgroup
from penstock.statements.model import ResultColumn, Statement

__all__ = ["operations"]

_DEFAULT_AGE = 60  # minutes; Athena's API reference, ResultReuseByAgeConfiguration
_ENGINE = {"SelectedEngineVersion": "AUTO", "EffectiveEngineVersion": "Athena engine version 3"}
# The built-in workgroup has no creation date; clients only display it.
_CREATED = datetime(2026, 1, 1, tzinfo=UTC)


def operations(service: QueryService) -> OperationSet:
    """Return Athena's operations over ``service``."""
    statements = _Statements(service)
    workgroups = _WorkGroups(service)
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
            "GetWorkGroup": workgroups.get,
            "ListWorkGroups": workgroups.list,
            **metadata_handlers(service.catalog),
        },
    )


class _Statements:
    """Operations on statements."""

    def __init__(self, service: QueryService) -> None:
        self._service = service

    def start(self, request: Mapping[str, Any], context: RequestContext) -> Mapping[str, Any]:
        wanted = request.get("QueryExecutionContext", {})
        result = request.get("ResultConfiguration", {})
        if "EncryptionConfiguration" in result:
            raise InvalidRequest(
                "ResultConfiguration.EncryptionConfiguration is not served here.",
                remedy="Leave it out: results are files of the lake.",
            )
        statement_id = self._service.start(
            StatementRequest(
                sql=request["QueryString"],
                database=wanted.get("Database"),
                catalog=wanted.get("Catalog"),
                workgroup=request.get("WorkGroup"),
                output_location=result.get("OutputLocation"),
                parameters=tuple(request.get("ExecutionParameters", ())),
                token=request.get("ClientRequestToken"),
                reuse_minutes=_reuse_minutes(request),
                principal=context.principal,
                catalog_access=context.catalog_access,
            )
        )
        return {"QueryExecutionId": statement_id}

    def get(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        return {"QueryExecution": _execution(self._service.get(request["QueryExecutionId"]))}

    def batch_get(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        asked = list(dict.fromkeys(request["QueryExecutionIds"]))
        found = self._service.get_many(asked)
        missing = [each for each in asked if each not in {statement.id for statement in found}]
        return {
            "QueryExecutions": [_execution(each) for each in found],
            "UnprocessedQueryExecutionIds": [
                {
                    "QueryExecutionId": each,
                    "ErrorCode": "INVALID_INPUT",
                    "ErrorMessage": f"QueryExecution {each} was not found",
                }
                for each in missing
            ],
        }

    def list(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        try:
            page = self._service.page(
                workgroup=request.get("WorkGroup"), limit=request.get("MaxResults", 50), token=request.get("NextToken")
            )
        except InvalidInput as error:
            raise InvalidRequest(error.message, remedy=error.remedy) from error
        return _with_token({"QueryExecutionIds": list(page.ids)}, page.next_token)

    def stop(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        self._service.stop(request["QueryExecutionId"])
        return {}

    def results(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        if request.get("QueryResultType") == "DATA_MANIFEST":
            raise InvalidRequest("There is no data manifest: statements that write are not served here.")
        statement, rows = self._service.results(
            request["QueryExecutionId"], limit=request.get("MaxResults", 1000), token=request.get("NextToken")
        )
        answer: dict[str, Any] = {
            "UpdateCount": 0,
            "ResultSet": {
                "Rows": [{"Data": [_datum(value) for value in row]} for row in rows.rows],
                "ResultSetMetadata": {"ColumnInfo": [_column(each) for each in statement.columns]},
            },
        }
        return _with_token(answer, None if rows.next_offset is None else str(rows.next_offset))

    def runtime_statistics(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        statement = self._service.get(request["QueryExecutionId"])
        took = statement.statistics
        return {
            "QueryRuntimeStatistics": {
                "Timeline": _timeline(statement),
                "Rows": {
                    "InputRows": took.scanned_rows,
                    "InputBytes": took.scanned_bytes,
                    "OutputRows": took.output_rows,
                    "OutputBytes": took.output_bytes,
                },
            }
        }


class _WorkGroups:
    """The one workgroup, ``primary``."""

    def __init__(self, service: QueryService) -> None:
        self._service = service

    def get(self, request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        check_workgroup(request["WorkGroup"])
        return {
            "WorkGroup": {
                "Name": PRIMARY,
                "State": "ENABLED",
                "Description": "",
                "CreationTime": _CREATED,
                "Configuration": {
                    "ResultConfiguration": {"OutputLocation": self._service.settings.output_location},
                    "EnforceWorkGroupConfiguration": False,
                    "PublishCloudWatchMetricsEnabled": False,
                    "RequesterPaysEnabled": False,
                    "EnableMinimumEncryptionConfiguration": False,
                    "ManagedQueryResultsConfiguration": {"Enabled": False},
                    "IdentityCenterConfiguration": {"EnableIdentityCenter": False},
                    "EngineVersion": _ENGINE,
                },
            }
        }

    def list(self, _request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        summary = {
            "Name": PRIMARY,
            "State": "ENABLED",
            "Description": "",
            "CreationTime": _CREATED,
            "EngineVersion": _ENGINE,
        }
        return {"WorkGroups": [summary]}


def _reuse_minutes(request: Mapping[str, Any]) -> int | None:
    asked = request.get("ResultReuseConfiguration", {}).get("ResultReuseByAgeConfiguration", {})
    return asked.get("MaxAgeInMinutes", _DEFAULT_AGE) if asked.get("Enabled") else None


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
    execution: dict[str, Any] = {
        "QueryExecutionId": statement.id,
        "Query": statement.sql,
        "StatementType": statement.type.value,
        "ResultConfiguration": {"OutputLocation": statement.result_uri},
        "ResultReuseConfiguration": {"ResultReuseByAgeConfiguration": _reuse(statement)},
        "QueryExecutionContext": where,
        "Status": status,
        "Statistics": {
            **_timeline(statement),
            "DataScannedInBytes": statement.statistics.scanned_bytes,
            "ResultReuseInformation": {"ReusedPreviousResult": statement.statistics.reused},
        },
        "WorkGroup": statement.workgroup,
        "EngineVersion": _ENGINE,
    }
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


def _with_token(answer: dict[str, Any], token: str | None) -> Mapping[str, Any]:
    return answer if token is None else {**answer, "NextToken": token}
