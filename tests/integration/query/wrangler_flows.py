"""What awswrangler's users do with Athena, as functions: run by the Python of .tools/clients, not by the tests' own.

Prints one JSON object: for each function's name what it returned, or ``{"error": text}``. The environment has keys and
endpoints.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import awswrangler as wr  # type: ignore[import-not-found]
import boto3
import pandas as pd

wr.config.athena_endpoint_url = wr.config.glue_endpoint_url = wr.config.sts_endpoint_url = os.environ["AWS_ENDPOINT_URL"]
wr.config.s3_endpoint_url = os.environ["AWS_ENDPOINT_URL_S3"]

DB = "wrangled"
SALES = pd.DataFrame({"id": [1, 2, 3], "name": ["a", "b", None], "day": ["2024-01-01", "2024-01-01", "2024-01-02"]})
READ: dict[str, Any] = {"database": DB, "ctas_approach": False}


def to_parquet() -> Any:
    wr.catalog.create_database(DB, exist_ok=True)
    made = wr.s3.to_parquet(
        SALES, path="s3://lake/wrangled/sales/", dataset=True, database=DB, table="sales", partition_cols=["day"]
    )
    return sorted(made["partitions_values"].values())


def default_bucket() -> Any:
    """Without any location, awswrangler makes the bucket that Athena's console makes."""
    boto3.client("athena").create_work_group(Name="bare", Configuration={"EnforceWorkGroupConfiguration": False})
    frame = wr.athena.read_sql_query("SELECT count(*) AS n FROM sales", workgroup="bare", **READ)
    buckets = [bucket["Name"] for bucket in boto3.client("s3").list_buckets()["Buckets"]]
    return [rows(frame), [bucket for bucket in buckets if bucket.startswith("aws-athena")]]


def read_rows() -> Any:
    return rows(wr.athena.read_sql_query("SELECT id, name, day FROM sales ORDER BY id", **READ))


def read_chunks() -> Any:
    chunks = wr.athena.read_sql_query("SELECT * FROM sales", chunksize=2, **READ)
    return [len(chunk) for chunk in chunks]


def read_with_parameters() -> Any:
    named = wr.athena.read_sql_query("SELECT name FROM sales WHERE id = :id", params={"id": 2}, **READ)
    by_mark = wr.athena.read_sql_query("SELECT name FROM sales WHERE id = ?", params=["1"], paramstyle="qmark", **READ)
    return [rows(named), rows(by_mark)]


def read_from_cache() -> Any:
    sql, cache = "SELECT max(id) AS n FROM sales", {"max_cache_seconds": 900}
    first = wr.athena.read_sql_query(sql, **READ)
    again = wr.athena.read_sql_query(sql, athena_cache_settings=cache, **READ)
    return [rows(first), first.query_metadata["QueryExecutionId"] == again.query_metadata["QueryExecutionId"]]


def statement_by_statement() -> Any:
    query_id = wr.athena.start_query_execution("SELECT 1 AS one", database=DB)
    state = wr.athena.wait_query(query_id)["Status"]["State"]
    found, missing = wr.athena.get_query_executions([query_id, "unknown"], return_unprocessed=True)
    return [
        state,
        rows(wr.athena.get_query_results(query_id)),
        wr.athena.get_query_columns_types(query_id),
        len(found),
        missing["QueryExecutionId"].tolist(),
        query_id in wr.athena.list_query_executions(),
    ]


def describe() -> Any:
    frame = wr.athena.describe_table("sales", database=DB)
    return frame[["Column Name", "Type", "Partition"]].to_numpy().tolist()


def show_create_table() -> Any:
    return wr.athena.show_create_table("sales", database=DB).partition("(")[0].strip()


def repair_table() -> Any:
    """A partition that others wrote is found."""
    added = SALES.assign(id=SALES["id"] + 10).head(1).drop(columns="day")
    wr.s3.to_parquet(added, path="s3://lake/wrangled/sales/day=2024-01-03/added.parquet")
    state = wr.athena.repair_table("sales", database=DB)
    return [state, rows(wr.athena.read_sql_query("SELECT count(*) AS n, max(day) AS day FROM sales", **READ))]


def prepared_statements() -> Any:
    wr.athena.create_prepared_statement("SELECT name FROM sales WHERE id = ?", "by_id")
    wr.athena.create_prepared_statement("SELECT name FROM sales WHERE id > ?", "by_id", mode="update")
    run = wr.athena.read_sql_query('EXECUTE "by_id"', params=["1"], paramstyle="qmark", **READ)
    listed = [prepared_statement["StatementName"] for prepared_statement in wr.athena.list_prepared_statements()]
    wr.athena.delete_prepared_statement("by_id")
    return [rows(run)[0], listed, wr.athena.list_prepared_statements()]


def named_query() -> Any:
    made = boto3.client("athena").create_named_query(Name="all", Database=DB, QueryString="SELECT * FROM sales")
    return wr.athena.get_named_query_statement(made["NamedQueryId"])


def enforced_work_group() -> Any:
    results: Any = {"OutputLocation": "s3://lake/of-wranglers/"}
    boto3.client("athena").create_work_group(Name="wranglers", Configuration={"ResultConfiguration": results})
    frame = wr.athena.read_sql_query("SELECT count(*) AS n FROM sales", workgroup="wranglers", **READ)
    location = frame.query_metadata["ResultConfiguration"]["OutputLocation"]
    return [rows(frame), wr.athena.get_work_group("wranglers")["WorkGroup"]["State"], location.rpartition("/")[0]]


def to_iceberg() -> Any:
    """A table is made, a column added by new data, rows are merged by key, and deleted."""
    # Files that are kept would be read again by the next call, which has the same place for its own.
    table: dict[str, Any] = {"database": DB, "table": "events", "temp_path": "s3://lake/temporary/", "keep_files": False}
    events = SALES.drop(columns="day")
    wr.athena.to_iceberg(events, table_location="s3://lake/wrangled/events/", partition_cols=["bucket(2, id)"], **table)
    late = pd.DataFrame({"id": [3, 4], "name": ["c", "d"], "amount": [1.5, 2.5]})
    wr.athena.to_iceberg(late, merge_cols=["id"], schema_evolution=True, **table)
    wr.athena.delete_from_iceberg_table(pd.DataFrame({"id": [1]}), merge_cols=["id"], **table)
    left = [item for item in wr.catalog.tables(database=DB)["Table"] if item.startswith("temp_table")]
    return [rows(wr.athena.read_sql_query("SELECT id, name, amount FROM events ORDER BY id", **READ)), left]


def read_by_ctas() -> Any:
    """awswrangler's default: a temporary table of Parquet, whose files it reads and deletes."""
    frame = wr.athena.read_sql_query("SELECT id, name, day FROM sales WHERE day < '2024-01-03' ORDER BY id", database=DB)
    left = [item for item in wr.catalog.tables(database=DB)["Table"] if item.startswith("temp_table")]
    chunks = wr.athena.read_sql_query("SELECT id FROM sales", database=DB, chunksize=1)
    empty = wr.athena.read_sql_query("SELECT id FROM sales WHERE id < 0", database=DB)
    return [rows(frame), left, sum(len(chunk) for chunk in chunks), len(empty)]


def read_by_unload() -> Any:
    frame = wr.athena.read_sql_query(
        "SELECT id, name FROM sales WHERE id < 4 ORDER BY id",
        database=DB, ctas_approach=False, unload_approach=True, s3_output="s3://lake/unloaded/",
    )  # fmt: skip
    return rows(frame)


def create_ctas_table() -> Any:
    made = wr.athena.create_ctas_table(
        "SELECT id, name, day FROM sales WHERE id < 4",
        database=DB, ctas_database=DB, ctas_table="copied", s3_output="s3://lake/copied/", storage_format="orc",
        write_compression="zstd", partitioning_info=["day"], wait=True,
    )  # fmt: skip
    frame = wr.athena.read_sql_query("SELECT id, name, day FROM copied ORDER BY id", **READ)
    return [made["ctas_table"], rows(frame)]


def unload() -> Any:
    wr.athena.unload(
        "SELECT id, name FROM sales WHERE id < 4", path="s3://lake/out/", database=DB, file_format="JSON", compression="gzip"
    )
    frame = wr.s3.read_json("s3://lake/out/", path_suffix=".gz", lines=True)
    return rows(frame.sort_values("id"))


def other_formats() -> Any:
    result = []
    for form, write in (("csv", wr.s3.to_csv), ("json", wr.s3.to_json), ("orc", wr.s3.to_orc)):
        options: dict[str, Any] = {"orient": "records", "lines": True} if form == "json" else {}
        options |= {} if form == "orc" else {"index": False}
        write(
            SALES,
            path=f"s3://lake/wrangled/{form}/",
            dataset=True,
            database=DB,
            table=form,
            partition_cols=["day"],
            **options,
        )
        result.append(rows(wr.athena.read_sql_query(f"SELECT id, name, day FROM {form} ORDER BY id", **READ)))
    return result


def rows(frame: Any) -> list[list[Any]]:
    return [[None if pd.isna(value) else value for value in row] for row in frame.astype(object).to_numpy().tolist()]


FLOWS: list[Callable[[], Any]] = [
    to_parquet,
    default_bucket,
    read_rows,
    read_chunks,
    read_with_parameters,
    read_from_cache,
    statement_by_statement,
    describe,
    show_create_table,
    prepared_statements,
    named_query,
    enforced_work_group,
    repair_table,
    to_iceberg,
    read_by_ctas,
    read_by_unload,
    create_ctas_table,
    unload,
    other_formats,
]


def main() -> None:
    answers = {}
    for flow in FLOWS:
        try:
            answers[flow.__name__] = flow()
        except Exception as error:  # noqa: BLE001 - the test shows it
            answers[flow.__name__] = {"error": f"{type(error).__name__}: {error}"}
    json.dump(answers, sys.stdout, default=str)


if __name__ == "__main__":
    main()
