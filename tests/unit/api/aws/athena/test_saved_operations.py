"""Prepared statements and named queries as boto3 sees them."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.api.aws.athena.conftest import Run

PRIMARY = {"WorkGroup": "primary"}


def test_a_prepared_statement_by_name(athena: Any) -> None:
    athena.create_prepared_statement(StatementName="by_id", QueryStatement="SELECT ?", Description="d", **PRIMARY)
    athena.update_prepared_statement(StatementName="by_id", QueryStatement="SELECT ? + 1", **PRIMARY)
    result = athena.get_prepared_statement(StatementName="by_id", **PRIMARY)["PreparedStatement"]
    assert result.pop("LastModifiedTime")
    assert result == {
        "StatementName": "by_id",
        "QueryStatement": "SELECT ? + 1",
        "WorkGroupName": "primary",
        "Description": "d",
    }
    with pytest.raises(ClientError, match="already exists") as refused:
        athena.create_prepared_statement(StatementName="by_id", QueryStatement="SELECT 1", **PRIMARY)
    assert refused.value.response["Error"]["Code"] == "InvalidRequestException"
    athena.delete_prepared_statement(StatementName="by_id", **PRIMARY)
    for act in (athena.get_prepared_statement, athena.delete_prepared_statement):
        with pytest.raises(ClientError, match="by_id was not found") as refused:
            act(StatementName="by_id", **PRIMARY)
        assert refused.value.response["Error"]["Code"] == "ResourceNotFoundException"
    with pytest.raises(ClientError, match="WorkGroup none is not found"):
        athena.list_prepared_statements(WorkGroup="none")


def test_prepared_statements_in_pages_and_batches(athena: Any) -> None:
    for name in ("c_1", "a_1", "b_1"):
        athena.create_prepared_statement(StatementName=name, QueryStatement="SELECT 1", **PRIMARY)
    first = athena.list_prepared_statements(MaxResults=2, **PRIMARY)
    assert [prepared_statement["StatementName"] for prepared_statement in first["PreparedStatements"]] == ["a_1", "b_1"]
    last = athena.list_prepared_statements(NextToken=first["NextToken"], **PRIMARY)
    assert [prepared_statement["StatementName"] for prepared_statement in last["PreparedStatements"]] == ["c_1"]
    batch = athena.batch_get_prepared_statement(PreparedStatementNames=["c_1", "none", "a_1"], **PRIMARY)
    assert [prepared_statement["StatementName"] for prepared_statement in batch["PreparedStatements"]] == ["c_1", "a_1"]
    [missing] = batch["UnprocessedPreparedStatementNames"]
    assert (missing["StatementName"], missing["ErrorCode"]) == ("none", "STATEMENT_NOT_FOUND")
    with pytest.raises(ClientError, match="Ask for 50 at a time"):
        athena.batch_get_prepared_statement(PreparedStatementNames=[f"n_{index}" for index in range(51)], **PRIMARY)


def test_a_named_query_by_id(athena: Any) -> None:
    query = {"Name": "daily", "Database": "air", "QueryString": "SELECT 1", "Description": "d"}
    made = athena.create_named_query(**query)["NamedQueryId"]
    assert athena.get_named_query(NamedQueryId=made)["NamedQuery"] == {**query, "NamedQueryId": made, **PRIMARY}
    athena.update_named_query(NamedQueryId=made, Name="weekly", QueryString="SELECT 7", Description="")
    changed = athena.get_named_query(NamedQueryId=made)["NamedQuery"]
    assert (changed["Name"], changed["QueryString"], "Description" in changed) == ("weekly", "SELECT 7", False)
    again = athena.create_named_query(**query)["NamedQueryId"]
    assert sorted(athena.list_named_queries()["NamedQueryIds"]) == sorted([made, again])
    batch = athena.batch_get_named_query(NamedQueryIds=[again, "none", made])
    assert [named_query["NamedQueryId"] for named_query in batch["NamedQueries"]] == [again, made]
    assert [
        unprocessed_named_query_id["NamedQueryId"] for unprocessed_named_query_id in batch["UnprocessedNamedQueryIds"]
    ] == ["none"]
    athena.delete_named_query(NamedQueryId=made)
    with pytest.raises(ClientError, match=f"NamedQuery {made} was not found"):
        athena.get_named_query(NamedQueryId=made)
    pages = athena.get_paginator("list_named_queries").paginate(PaginationConfig={"PageSize": 1})
    assert [page["NamedQueryIds"] for page in pages] == [[again]]


def test_a_token_makes_a_named_query_once(athena: Any) -> None:
    query = {"Name": "daily", "Database": "air", "QueryString": "SELECT 1", "ClientRequestToken": "t" * 32}
    made = athena.create_named_query(**query)["NamedQueryId"]
    assert athena.create_named_query(**query)["NamedQueryId"] == made
    assert athena.list_named_queries()["NamedQueryIds"] == [made]
    with pytest.raises(ClientError, match="Idempotent parameters do not match"):
        athena.create_named_query(**{**query, "QueryString": "SELECT 2"})


def test_unprocessed_statements_are_listed_with_the_reason(athena: Any) -> None:
    answer = athena.batch_get_query_execution(QueryExecutionIds=["none"])
    assert answer["QueryExecutions"] == []
    [missing] = answer["UnprocessedQueryExecutionIds"]
    assert (missing["QueryExecutionId"], missing["ErrorCode"]) == ("none", "INVALID_INPUT")


@pytest.mark.parametrize(
    "operation",
    ["list_capacity_reservations", "list_notebook_metadata", "list_application_dpu_sizes"],
)
def test_notebooks_and_reservations_are_refused_by_name(athena: Any, operation: str) -> None:
    arguments = {"WorkGroup": "primary"} if operation == "list_notebook_metadata" else {}
    with pytest.raises(ClientError, match=f"(?i){operation.replace('_', '')}"):
        getattr(athena, operation)(**arguments)


def test_runtime_statistics_say_what_was_read_and_written(athena: Any, run: Run) -> None:
    done = run("SELECT n FROM numbers WHERE n < 10", QueryExecutionContext={"Database": "flights_db"})
    query_runtime_statistic = athena.get_query_runtime_statistics(QueryExecutionId=done["QueryExecutionId"])[
        "QueryRuntimeStatistics"
    ]
    assert query_runtime_statistic["Rows"]["OutputRows"] == 10
    assert query_runtime_statistic["Rows"]["InputBytes"] == done["Statistics"]["DataScannedInBytes"] > 0
    assert "InputRows" not in query_runtime_statistic["Rows"], "they are not counted"
    assert (
        query_runtime_statistic["Timeline"]["TotalExecutionTimeInMillis"] == done["Statistics"]["TotalExecutionTimeInMillis"]
    )
