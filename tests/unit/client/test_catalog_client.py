"""The catalog's client: partitions can be added again and again, in batches that Glue takes."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from botocore.stub import Stubber

from penstock.client.catalog import CatalogClient, table_input
from penstock.errors import ConcurrentModification, InvalidInput

TABLE: dict[str, Any] = {
    "Name": "t",
    "DatabaseName": "d",
    "VersionId": "4",
    "CreatedBy": "somebody",
    "PartitionKeys": [{"Name": "year"}, {"Name": "month"}],
    "StorageDescriptor": {
        "Columns": [{"Name": "a", "Type": "int"}],
        "Location": "s3://b/t/",
        "SerdeInfo": {"SerializationLibrary": "lib"},
    },
}


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> CatalogClient:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    return CatalogClient(region="us-east-1", endpoint_url="http://127.0.0.1:9")


@pytest.fixture
def stub(catalog: CatalogClient) -> Iterator[Stubber]:
    with Stubber(catalog._glue) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def expect_batch(stub: Stubber, months: range, errors: list[dict[str, Any]]) -> None:
    inputs = [
        {
            "Values": ["2026", str(month)],
            "StorageDescriptor": {**TABLE["StorageDescriptor"], "Location": f"s3://b/t/year=2026/month={month}/"},
        }
        for month in months
    ]
    stub.add_response(
        "batch_create_partition", {"Errors": errors}, {"DatabaseName": "d", "TableName": "t", "PartitionInputList": inputs}
    )


def test_partitions_in_batches_and_known_ones_are_fine(catalog: CatalogClient, stub: Stubber) -> None:
    stub.add_response("get_table", {"Table": TABLE}, {"DatabaseName": "d", "Name": "t"})
    known = {"PartitionValues": ["2026", "3"], "ErrorDetail": {"ErrorCode": "AlreadyExistsException", "ErrorMessage": "."}}
    expect_batch(stub, range(100), [known])
    expect_batch(stub, range(100, 150), [])
    locations: dict[Sequence[str], str] = {
        ("2026", str(month)): f"s3://b/t/year=2026/month={month}/" for month in range(150)
    }
    assert catalog.add_partitions("d", "t", locations) == 149


def test_other_errors_of_a_partition_are_errors(catalog: CatalogClient, stub: Stubber) -> None:
    stub.add_response("get_table", {"Table": TABLE})
    refused = {"PartitionValues": ["2026", "0"], "ErrorDetail": {"ErrorCode": "InvalidInputException", "ErrorMessage": "no"}}
    expect_batch(stub, range(1), [refused])
    with pytest.raises(InvalidInput, match=r"Partition \['2026', '0'\] of table d.t was refused: InvalidInputException: no"):
        catalog.add_partitions("d", "t", {("2026", "0"): "s3://b/t/year=2026/month=0/"})


def test_values_that_do_not_fit_the_keys(catalog: CatalogClient, stub: Stubber) -> None:
    stub.add_response("get_table", {"Table": TABLE})
    with pytest.raises(InvalidInput, match="does not fit its keys"):
        catalog.add_partitions("d", "t", {("2026",): "s3://b/t/year=2026/"})
    assert catalog.add_partitions("d", "t", {}) == 0


def test_database_that_is_there_is_fine(catalog: CatalogClient, stub: Stubber) -> None:
    stub.add_client_error("create_database", "AlreadyExistsException", "Database already exists.")
    catalog.ensure_database("d")


def test_update_from_a_stale_version(catalog: CatalogClient, stub: Stubber) -> None:
    given = table_input(TABLE)  # type: ignore[arg-type]
    assert set(given) == {"Name", "PartitionKeys", "StorageDescriptor"}
    stub.add_client_error(
        "update_table",
        "ConcurrentModificationException",
        "Update table failed due to concurrent modifications.",
        expected_params={"DatabaseName": "d", "TableInput": given, "SkipArchive": False, "VersionId": "4"},
    )
    with pytest.raises(ConcurrentModification):
        catalog.update_table("d", given, version_id="4")
