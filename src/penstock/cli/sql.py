"""``penstock sql``: runs one statement through Athena's API, at a server or at AWS, and prints its result."""

import csv
import io
import itertools
import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
from rich.console import Console
from rich.table import Table

from penstock.client.connection import open_client, translate_error
from penstock.errors import EnvironmentProblem, InvalidInput, PenstockError
from penstock.retries import wait_until

__all__ = ["command"]

_FINAL = {"SUCCEEDED", "FAILED", "CANCELLED"}
_NUMBERS = {"tinyint", "smallint", "integer", "bigint", "float", "double", "decimal"}
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_QUIET_SECONDS = 2.0  # a statement that takes longer shows its progress

Row = Sequence[str | None]


class StatementFailed(PenstockError):
    """The statement did not succeed."""


@click.command("sql", short_help="Run one SQL statement and print the result.")
@click.argument("sql", required=False)
@click.option("--file", type=click.File("r", encoding="utf-8"), help="Read the statement from a file; - is standard input.")
@click.option("--database", help="Database of unqualified table names.")
@click.option("--output-location", metavar="S3URI", help="Location of the result's CSV; by default the workgroup's.")
@click.option("--workgroup", default="primary", show_default=True, help="Athena workgroup.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["table", "csv", "json", "markdown"]),
    default="table",
    show_default=True,
    help="Output.",
)
@click.option("--endpoint-url", metavar="URL", help="URL of the server; by default AWS_ENDPOINT_URL, else AWS.")
@click.option("--region", help="AWS region; by default the environment's.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Stop the statement after this many seconds.")
def command(
    *,
    sql: str | None,
    file: io.TextIOBase | None,
    database: str | None,
    output_location: str | None,
    workgroup: str,
    style: str,
    endpoint_url: str | None,
    region: str | None,
    timeout: float | None,
) -> None:
    """Run one SQL statement and print the result.

    The statement is SQL (or --file). Ctrl-C stops it. Errors go to standard error and end with status 1.
    """
    if (sql is None) == (file is None):
        raise InvalidInput("Exactly one statement is needed.", remedy='Write: penstock sql "SELECT 1", or give --file.')
    text = sql if file is None else file.read()
    request: dict[str, Any] = {"QueryString": str(text), "WorkGroup": workgroup}
    if database is not None:
        request["QueryExecutionContext"] = {"Database": database}
    if output_location is not None:
        request["ResultConfiguration"] = {"OutputLocation": output_location}
    try:
        athena = open_client("athena", endpoint_url=endpoint_url, region=region)
        execution = _run(athena, request, timeout)
        names, types, rows = _result(athena, execution)
        _print(names, types, rows, style)
    except ClientError as error:
        details = error.response["Error"]
        raise StatementFailed(f"{details.get('Code')}: {details.get('Message')}") from error
    except NoCredentialsError as error:
        raise translate_error(error) from error
    except BotoCoreError as error:
        raise EnvironmentProblem(
            f"Athena cannot be reached: {str(error).rstrip('.')}.", remedy="See 'penstock status', or set --endpoint-url."
        ) from error


def _run(athena: Any, request: dict[str, Any], timeout: float | None) -> dict[str, Any]:
    """Start the statement, wait until it has succeeded and return its description. Stop it on Ctrl-C or timeout."""
    statement_id = athena.start_query_execution(**request)["QueryExecutionId"]
    try:
        execution = _wait(athena, statement_id, timeout)
    except BaseException:
        athena.stop_query_execution(QueryExecutionId=statement_id)
        raise
    status = execution["Status"]
    if status["State"] != "SUCCEEDED":
        raise StatementFailed(status.get("StateChangeReason") or f"The statement is {status['State']}.")
    return execution


def _wait(athena: Any, statement_id: str, timeout: float | None) -> dict[str, Any]:
    started = time.monotonic()
    console = Console(stderr=True)
    with console.status("") as progress:
        progress.stop()

        def ended() -> dict[str, Any] | None:
            execution: dict[str, Any] = athena.get_query_execution(QueryExecutionId=statement_id)["QueryExecution"]
            state = execution["Status"]["State"]
            if state in _FINAL:
                return execution
            elapsed = time.monotonic() - started
            if elapsed > _QUIET_SECONDS and console.is_terminal:
                progress.update(f"{state.lower()} for {elapsed:.0f} s (Ctrl-C stops it)")
                progress.start()
            return None

        execution = wait_until(ended, seconds=timeout, every=_FIRST_PAUSE, longest=_LONGEST_PAUSE)
    if execution is None:
        raise StatementFailed(f"The statement took longer than {timeout:g} seconds and was stopped.")
    return execution


def _result(athena: Any, execution: dict[str, Any]) -> tuple[list[str], list[str], Iterator[Row]]:
    """Return names and types of the columns, and the rows as they are fetched."""
    pages = iter(athena.get_paginator("get_query_results").paginate(QueryExecutionId=execution["QueryExecutionId"]))
    first = next(pages)
    columns = first["ResultSet"]["ResultSetMetadata"]["ColumnInfo"]
    names = [column["Name"] for column in columns]
    # Athena repeats the names in the first row of queries, not of other statements.
    has_header = execution.get("StatementType") == "DML"

    def rows() -> Iterator[Row]:
        skip = has_header
        for page in itertools.chain([first], pages):
            for row in page["ResultSet"]["Rows"]:
                if skip:
                    skip = False
                    continue
                yield [datum.get("VarCharValue") for datum in row.get("Data", [])]

    return names, [column["Type"] for column in columns], rows()


def _print(names: list[str], types: list[str], rows: Iterator[Row], style: str) -> None:
    if style == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(["" if value is None else value for value in row] for row in rows)
    elif style == "json":
        for row in rows:
            values = {
                name: _json_value(value, column_type) for name, value, column_type in zip(names, row, types, strict=False)
            }
            click.echo(json.dumps(values, ensure_ascii=False))
    elif style == "markdown":
        click.echo(f"| {' | '.join(map(_cell, names))} |")
        click.echo(f"|{'|'.join('---:' if column_type in _NUMBERS else '---' for column_type in types)}|")
        for row in rows:
            click.echo(f"| {' | '.join('' if value is None else _cell(value) for value in row)} |")
    else:
        _print_table(names, types, rows)


def _print_table(names: list[str], types: list[str], rows: Iterator[Row]) -> None:
    table = Table(show_edge=False, header_style="bold")
    for name, column_type in zip(names, types, strict=True):
        table.add_column(name, justify="right" if column_type in _NUMBERS else "left", overflow="fold")
    count = 0
    for row in rows:
        cells = ["NULL" if value is None else value for value in row]
        table.add_row(*cells[: len(names)])
        count += 1
    console = Console(markup=False, highlight=False)
    console.print(table)
    Console(stderr=True, highlight=False).print(f"{count} row{'' if count == 1 else 's'}")


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", "<br>")


def _json_value(value: str | None, column_type: str) -> object:
    """Return numbers and booleans as JSON has them; all else, also NaN and decimals (JSON readers round them), as text."""
    if value is None or column_type not in {*_NUMBERS, "boolean"} or column_type == "decimal":
        return value
    if column_type == "boolean":
        return value == "true"
    if column_type in {"float", "double"}:
        number = float(value)
        return number if number - number == 0 else value
    return int(value)
