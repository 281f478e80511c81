"""Which tables of the catalog ``penstock compact`` takes."""

from collections.abc import Mapping
from typing import Any

import pytest

from penstock.errors import InvalidInput
from penstock.spark import dead_letter_table
from penstock.spark.commit import accounts
from penstock.spark.maintenance.table import check_compactable
from penstock.spark.tables.catalog import PARQUET


def table(columns: Mapping[str, str], **changes: Any) -> dict[str, Any]:
    storage = {
        "Columns": [{"Name": name, "Type": kind} for name, kind in columns.items() if name != "date"],
        "Location": "s3://lake/t/",
        "InputFormat": PARQUET.input_format,
    }
    keys = [{"Name": "date", "Type": "string"}]
    return {"StorageDescriptor": storage, "PartitionKeys": keys, "Parameters": {"classification": "parquet"}, **changes}


def test_a_partitioned_table_of_rows_is_taken() -> None:
    check_compactable("shop.orders", table({"id": "bigint"}))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (table(dead_letter_table.COLUMNS), "has a pipeline's dead letters"),
        (table(accounts.COLUMNS), "has a pipeline's accounts"),
        (table({"id": "int"}, PartitionKeys=[]), "has no partitions"),
        (table({"id": "int"}, Parameters={"table_type": "ICEBERG"}), "is not a table of Parquet files"),
        ({"Parameters": {}}, "is not a table of Parquet files"),
    ],
)
def test_others_are_refused(found: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=f"Table shop.orders {message}"):
        check_compactable("shop.orders", found)
