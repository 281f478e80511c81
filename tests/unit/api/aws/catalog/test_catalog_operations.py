"""Databases, tables, partitions and their details come back whole through boto3.

Its serialiser and parser and our dispatcher run in this process, without a socket.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.api.aws.loopback import MODEL, sample


def test_every_member_of_a_database_comes_back(glue: Any) -> None:
    expected = sample(MODEL.shape_for("DatabaseInput"))
    del expected["FederatedDatabase"]  # refused, as test_input_members.py has it
    (permission,) = expected["CreateTableDefaultPermissions"]
    permission["Permissions"] = ["CREATE_TABLE"]
    with pytest.raises(glue.exceptions.InvalidInputException, match="CREATE_TABLE cannot be granted on Table"):
        glue.create_database(DatabaseInput=expected)
    permission["Permissions"] = ["SELECT"]
    glue.create_database(DatabaseInput=expected)
    result = glue.get_database(Name=expected["Name"])["Database"]
    assert {name: result[name] for name in expected} == expected
    assert set(result) - set(expected) == {"CreateTime", "CatalogId"}


def test_every_member_of_a_table_comes_back(glue: Any) -> None:
    glue.create_database(DatabaseInput={"Name": "air"})
    expected = sample(MODEL.shape_for("TableInput"))
    del expected["StorageDescriptor"]["SchemaReference"], expected["FederatedTable"], expected["ViewDefinition"]
    glue.create_table(DatabaseName="air", TableInput=expected)
    result = glue.get_table(DatabaseName="air", Name=expected["Name"])["Table"]
    assert {name: result[name] for name in expected} == expected
    assert result["VersionId"] == "0"
    assert result["DatabaseName"] == "air"
    glue.update_table(DatabaseName="air", TableInput={**expected, "Owner": "other"}, VersionId="0")
    versions = glue.get_table_versions(DatabaseName="air", TableName=expected["Name"])["TableVersions"]
    assert [(version["VersionId"], version["Table"]["Owner"]) for version in versions] == [
        ("1", "other"),
        ("0", expected["Owner"]),
    ]


def test_every_member_of_a_partition_comes_back(glue: Any) -> None:
    glue.create_database(DatabaseInput={"Name": "air"})
    glue.create_table(DatabaseName="air", TableInput={"Name": "t", "PartitionKeys": [{"Name": "k", "Type": "string"}]})
    expected = sample(MODEL.shape_for("PartitionInput"))
    del expected["StorageDescriptor"]["SchemaReference"]["SchemaId"]
    glue.create_partition(DatabaseName="air", TableName="t", PartitionInput=expected)
    result = glue.get_partition(DatabaseName="air", TableName="t", PartitionValues=expected["Values"])["Partition"]
    assert {name: result[name] for name in expected} == expected
    listed = glue.get_partitions(DatabaseName="air", TableName="t", ExcludeColumnSchema=True)["Partitions"]
    assert "Columns" not in listed[0]["StorageDescriptor"]


def test_statistics_indexes_and_functions_come_back_over_the_wire(flights: Any) -> None:
    home = {"DatabaseName": "air", "TableName": "flights"}
    columns = [
        {"Name": kind, "Type": "string"} for kind in ("binary", "boolean", "date", "decimal", "double", "long", "string")
    ]
    keys = flights.get_table(DatabaseName="air", Name="flights")["Table"]["PartitionKeys"]
    table = {"Name": "flights", "PartitionKeys": keys, "StorageDescriptor": {"Columns": columns}}
    flights.update_table(DatabaseName="air", TableInput=table)
    given = []
    for column in columns:
        member = f"{column['Name'].capitalize()}ColumnStatisticsData"
        shape: Any = MODEL.shape_for(member)
        # Not the sample's: a decimal's digits are bytes, of two's complement.
        number = {"UnscaledValue": b"\xff\x00", "Scale": 2}
        numbers = {"MinimumValue": number, "MaximumValue": number} if column["Name"] == "decimal" else {}
        plain = {name: 1.5 if item.type_name == "double" else sample(item) for name, item in shape.members.items()}
        data = {"Type": column["Name"].upper(), member: {**plain, **numbers}}
        time = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        given.append({"ColumnName": column["Name"], "ColumnType": "t", "AnalyzedTime": time, "StatisticsData": data})
    assert flights.update_column_statistics_for_table(**home, ColumnStatisticsList=given)["Errors"] == []
    column_statistics_for_table = flights.get_column_statistics_for_table(
        **home, ColumnNames=[column["Name"] for column in columns]
    )
    assert (column_statistics_for_table["ColumnStatisticsList"], column_statistics_for_table["Errors"]) == (given, [])
    with pytest.raises(flights.exceptions.EntityNotFoundException):
        flights.delete_column_statistics_for_table(**home, ColumnName="x")

    flights.create_partition_index(**home, PartitionIndex={"IndexName": "i", "Keys": ["origin"]})
    pages = flights.get_paginator("get_partition_indexes").paginate(**home)
    (described,) = [
        partition_index_descriptor for page in pages for partition_index_descriptor in page["PartitionIndexDescriptorList"]
    ]
    assert described == {"IndexName": "i", "Keys": [{"Name": "origin", "Type": "string"}], "IndexStatus": "ACTIVE"}

    function = sample(MODEL.shape_for("UserDefinedFunctionInput")) | {"GovernanceMode": "IAM_ONLY"}
    flights.create_user_defined_function(DatabaseName="air", FunctionInput=function)
    pages = flights.get_paginator("get_user_defined_functions").paginate(Pattern="*", PaginationConfig={"PageSize": 1})
    (made,) = [user_defined_function for page in pages for user_defined_function in page["UserDefinedFunctions"]]
    assert function.items() <= made.items()
    assert set(made) - set(function) == {"DatabaseName", "CreateTime", "CatalogId"}
