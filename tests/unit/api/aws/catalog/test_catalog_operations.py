"""Databases, tables, partitions and their details come back whole through boto3.

Its serialiser and parser and our dispatcher run in this process, without a socket.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.api.aws.loopback import MODEL, sample


def test_every_member_of_a_database_comes_back(glue: Any) -> None:
    wanted = sample(MODEL.shape_for("DatabaseInput"))
    del wanted["FederatedDatabase"]  # refused, as test_input_members.py has it
    (permission,) = wanted["CreateTableDefaultPermissions"]
    permission["Permissions"] = ["CREATE_TABLE"]
    with pytest.raises(glue.exceptions.InvalidInputException, match="CREATE_TABLE cannot be granted on Table"):
        glue.create_database(DatabaseInput=wanted)
    permission["Permissions"] = ["SELECT"]
    glue.create_database(DatabaseInput=wanted)
    found = glue.get_database(Name=wanted["Name"])["Database"]
    assert {name: found[name] for name in wanted} == wanted
    assert set(found) - set(wanted) == {"CreateTime", "CatalogId"}


def test_every_member_of_a_table_comes_back(glue: Any) -> None:
    glue.create_database(DatabaseInput={"Name": "air"})
    wanted = sample(MODEL.shape_for("TableInput"))
    del wanted["StorageDescriptor"]["SchemaReference"], wanted["FederatedTable"], wanted["ViewDefinition"]
    glue.create_table(DatabaseName="air", TableInput=wanted)
    found = glue.get_table(DatabaseName="air", Name=wanted["Name"])["Table"]
    assert {name: found[name] for name in wanted} == wanted
    assert found["VersionId"] == "0"
    assert found["DatabaseName"] == "air"
    glue.update_table(DatabaseName="air", TableInput={**wanted, "Owner": "other"}, VersionId="0")
    versions = glue.get_table_versions(DatabaseName="air", TableName=wanted["Name"])["TableVersions"]
    assert [(each["VersionId"], each["Table"]["Owner"]) for each in versions] == [("1", "other"), ("0", wanted["Owner"])]


def test_every_member_of_a_partition_comes_back(glue: Any) -> None:
    glue.create_database(DatabaseInput={"Name": "air"})
    glue.create_table(DatabaseName="air", TableInput={"Name": "t", "PartitionKeys": [{"Name": "k", "Type": "string"}]})
    wanted = sample(MODEL.shape_for("PartitionInput"))
    del wanted["StorageDescriptor"]["SchemaReference"]["SchemaId"]
    glue.create_partition(DatabaseName="air", TableName="t", PartitionInput=wanted)
    found = glue.get_partition(DatabaseName="air", TableName="t", PartitionValues=wanted["Values"])["Partition"]
    assert {name: found[name] for name in wanted} == wanted
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
        plain = {name: 1.5 if each.type_name == "double" else sample(each) for name, each in shape.members.items()}
        data = {"Type": column["Name"].upper(), member: {**plain, **numbers}}
        time = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        given.append({"ColumnName": column["Name"], "ColumnType": "t", "AnalyzedTime": time, "StatisticsData": data})
    assert flights.update_column_statistics_for_table(**home, ColumnStatisticsList=given)["Errors"] == []
    found = flights.get_column_statistics_for_table(**home, ColumnNames=[column["Name"] for column in columns])
    assert (found["ColumnStatisticsList"], found["Errors"]) == (given, [])
    with pytest.raises(flights.exceptions.EntityNotFoundException):
        flights.delete_column_statistics_for_table(**home, ColumnName="x")

    flights.create_partition_index(**home, PartitionIndex={"IndexName": "i", "Keys": ["origin"]})
    pages = flights.get_paginator("get_partition_indexes").paginate(**home)
    (described,) = [each for page in pages for each in page["PartitionIndexDescriptorList"]]
    assert described == {"IndexName": "i", "Keys": [{"Name": "origin", "Type": "string"}], "IndexStatus": "ACTIVE"}

    function = sample(MODEL.shape_for("UserDefinedFunctionInput")) | {"GovernanceMode": "IAM_ONLY"}
    flights.create_user_defined_function(DatabaseName="air", FunctionInput=function)
    pages = flights.get_paginator("get_user_defined_functions").paginate(Pattern="*", PaginationConfig={"PageSize": 1})
    (made,) = [each for page in pages for each in page["UserDefinedFunctions"]]
    assert function.items() <= made.items()
    assert set(made) - set(function) == {"DatabaseName", "CreateTime", "CatalogId"}
