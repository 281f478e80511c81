"""Lists and searches of tables, batches of partitions, and what is not served, as boto3 calls them."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.api.aws.loopback import ACCOUNT, MODEL, sample

UPDATE = {"Action": "set-location", "Location": "s3://lake/x", "Schema": {"Fields": []}}


def code(error: pytest.ExceptionInfo[ClientError]) -> str:
    return str(error.value.response["Error"]["Code"])


def test_errors_carry_aws_codes(flights: Any) -> None:
    with pytest.raises(flights.exceptions.EntityNotFoundException):
        flights.get_table(DatabaseName="air", Name="x")
    with pytest.raises(flights.exceptions.AlreadyExistsException):
        flights.create_database(DatabaseInput={"Name": "AIR"})
    with pytest.raises(flights.exceptions.InvalidInputException, match="number of partition keys"):
        flights.create_partition(DatabaseName="air", TableName="flights", PartitionInput={"Values": ["1"]})
    with pytest.raises(flights.exceptions.EntityNotFoundException, match="Catalog 1 not found"):
        flights.get_databases(CatalogId="1")
    assert flights.get_databases(CatalogId=ACCOUNT)["DatabaseList"][0]["Name"] == "air"


def test_icebergs_commit_is_refused_when_stale(flights: Any) -> None:
    table = flights.get_table(DatabaseName="air", Name="flights")["Table"]
    expected = {"Name": "flights", "TableType": "EXTERNAL_TABLE", "Parameters": {"metadata_location": "s3://lake/v2.json"}}
    expected["PartitionKeys"] = table["PartitionKeys"]
    flights.update_table(DatabaseName="air", TableInput=expected, SkipArchive=True, VersionId=table["VersionId"])
    with pytest.raises(flights.exceptions.ConcurrentModificationException):
        flights.update_table(DatabaseName="air", TableInput=expected, SkipArchive=True, VersionId=table["VersionId"])
    assert len(flights.get_table_versions(DatabaseName="air", TableName="flights")["TableVersions"]) == 1


def test_partitions_in_batches(flights: Any) -> None:
    expected = [{"Values": [str(year), origin]} for year in range(2000, 2040) for origin in ("EWR", "JFK")]
    home = {"DatabaseName": "air", "TableName": "flights"}
    assert flights.batch_create_partition(**home, PartitionInputList=expected)["Errors"] == []
    errors = flights.batch_create_partition(**home, PartitionInputList=[{"Values": ["2000", "JFK"]}, {"Values": ["1"]}])[
        "Errors"
    ]
    assert {error["ErrorDetail"]["ErrorCode"] for error in errors} == {"AlreadyExistsException", "InvalidInputException"}
    pages = flights.get_paginator("get_partitions").paginate(
        **home, Expression="year >= 2010 AND origin = 'JFK'", PaginationConfig={"PageSize": 7}
    )
    assert [partition["Values"][0] for page in pages for partition in page["Partitions"]] == [
        str(year) for year in range(2010, 2040)
    ]
    shares = [
        flights.get_partitions(**home, Segment={"SegmentNumber": number, "TotalSegments": 3})["Partitions"]
        for number in range(3)
    ]
    assert sum(len(share) for share in shares) == 80
    got = flights.batch_get_partition(**home, PartitionsToGet=[{"Values": ["2001", "JFK"]}, {"Values": ["1", "x"]}])
    assert [partition["Values"] for partition in got["Partitions"]] == [["2001", "JFK"]]
    entry = {"PartitionInput": {"Parameters": {"a": "b"}}}
    errors = flights.batch_update_partition(
        **home,
        Entries=[{"PartitionValueList": ["2001", "JFK"], **entry}, {"PartitionValueList": ["1", "x"], **entry}],
    )["Errors"]
    assert [error["PartitionValueList"] for error in errors] == [["1", "x"]]
    errors = flights.batch_delete_partition(
        **home, PartitionsToDelete=[{"Values": ["2001", "JFK"]}, {"Values": ["1", "x"]}]
    )["Errors"]
    assert [error["PartitionValues"] for error in errors] == [["1", "x"]]
    with pytest.raises(flights.exceptions.InvalidInputException, match="not a partition key"):
        flights.get_partitions(**home, Expression="gate = 1")


def test_tables_are_paged_and_chosen(flights: Any) -> None:
    for name in ("a", "b", "c"):
        flights.create_table(DatabaseName="air", TableInput={"Name": name, "TableType": "EXTERNAL_TABLE"})
    pages = flights.get_paginator("get_tables").paginate(DatabaseName="air", PaginationConfig={"PageSize": 1})
    assert [table["Name"] for page in pages for table in page["TableList"]] == ["a", "b", "c", "flights"]
    chosen = flights.get_tables(DatabaseName="air", Expression="[ab]", AttributesToGet=["NAME"])["TableList"]
    assert chosen == [{"Name": "a", "DatabaseName": "air"}, {"Name": "b", "DatabaseName": "air"}]
    errors = flights.batch_delete_table(DatabaseName="air", TablesToDelete=["a", "x"])["Errors"]
    assert [error["TableName"] for error in errors] == ["x"]
    errors = flights.batch_delete_table_version(DatabaseName="air", TableName="b", VersionIds=["0", "7"])["Errors"]
    assert [error["VersionId"] for error in errors] == ["0", "7"]


def test_tables_are_searched_and_chosen_as_awswrangler_does(flights: Any) -> None:
    flights.create_database(DatabaseInput={"Name": "sea"})
    for name in ("air_raw", "ports"):
        flights.create_table(DatabaseName="sea", TableInput={"Name": name, "Description": "of the sea"})
    first = flights.search_tables(SearchText="air", MaxResults=1)
    rest = flights.search_tables(SearchText="air", MaxResults=1, NextToken=first["NextToken"])
    assert [table["Name"] for table in (*first["TableList"], *rest["TableList"])] == ["flights", "air_raw"]
    assert "NextToken" not in rest
    chosen = flights.search_tables(
        Filters=[{"Key": "DatabaseName", "Value": "sea"}], SortCriteria=[{"FieldName": "Name", "Sort": "DESC"}]
    )
    assert [table["Name"] for table in chosen["TableList"]] == ["ports", "air_raw"]
    assert flights.search_tables(ResourceShareType="FOREIGN")["TableList"] == []
    assert [table["Name"] for table in flights.get_tables(DatabaseName="sea", Expression="*r*w")["TableList"]] == ["air_raw"]


def test_attributes_and_shares_are_honoured(flights: Any) -> None:
    table = flights.get_table(DatabaseName="air", Name="flights", AttributesToGet=["NAME"])["Table"]
    assert table == {"Name": "flights", "DatabaseName": "air"}
    with pytest.raises(flights.exceptions.InvalidInputException, match="LATEST_ICEBERG_METADATA"):
        flights.get_table(DatabaseName="air", Name="flights", AttributesToGet=["LATEST_ICEBERG_METADATA"])
    assert flights.get_databases(ResourceShareType="FOREIGN")["DatabaseList"] == []
    assert len(flights.get_databases(ResourceShareType="ALL")["DatabaseList"]) == 1


def test_a_schema_reference_names_its_version_in_one_way(flights: Any) -> None:
    both = sample(MODEL.shape_for("SchemaReference"))
    with pytest.raises(flights.exceptions.InvalidInputException, match="One of schemaId or schemaVersionId"):
        flights.create_table(DatabaseName="air", TableInput={"Name": "t", "StorageDescriptor": {"SchemaReference": both}})


def test_an_empty_schema_reference_is_refused_by_its_name(flights: Any) -> None:
    expected = {"Name": "t", "StorageDescriptor": {"SchemaReference": {}}}
    with pytest.raises(ClientError, match=r"The SchemaReference of table air\.t does not name a schema") as refused:
        flights.create_table(DatabaseName="air", TableInput=expected)
    assert code(refused) == "InvalidInputException"


def test_operations_that_are_not_served_are_refused_by_name(flights: Any) -> None:
    with pytest.raises(ClientError, match=r"UpdateOpenTableFormatInput .* is a member of UpdateTable that") as error:
        flights.update_table(
            DatabaseName="air",
            Name="flights",
            UpdateOpenTableFormatInput={"UpdateIcebergInput": {"UpdateIcebergTableInput": {"Updates": [UPDATE]}}},
        )
    assert code(error) == "ValidationException"
    with pytest.raises(flights.exceptions.InvalidInputException, match="TableInput is missing"):
        flights.update_table(DatabaseName="air", Name="flights")
    with pytest.raises(flights.exceptions.InvalidInputException, match="cannot be renamed"):
        flights.update_table(DatabaseName="air", Name="flights", TableInput={"Name": "x"})
