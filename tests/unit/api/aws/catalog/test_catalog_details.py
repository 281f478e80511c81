"""Partition indexes, column statistics and user-defined functions, over the wired server."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.catalog.errors import CatalogFull
from penstock.errors import AlreadyExists, InvalidInput, NotFound
from penstock.paging import encode_token
from tests.unit.api.aws.every_operation import ACCOUNT, World, start

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HOME = {"DatabaseName": "Air", "TableName": "Flights"}
PARTITION = {**HOME, "PartitionValues": ["2013", "JFK"]}
KEYS = [{"Name": "year", "Type": "int"}, {"Name": "origin", "Type": "string"}]
TABLE = {"Name": "flights", "PartitionKeys": KEYS, "StorageDescriptor": {"Columns": [{"Name": "Delay", "Type": "bigint"}]}}
LONG = {"NumberOfNulls": 1, "NumberOfDistinctValues": 2, "MinimumValue": -5, "MaximumValue": 9}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = start(tmp_path)
    made.call("glue", "CreateDatabase", DatabaseInput={"Name": "air"})
    made.call("glue", "CreateTable", DatabaseName="air", TableInput=TABLE)
    made.call("glue", "CreatePartition", **HOME, PartitionInput={"Values": PARTITION["PartitionValues"]})
    yield made
    made.services.close()


def index(name: str, *keys: str) -> dict[str, Any]:
    return {"IndexName": name, "Keys": list(keys)}


def indexes(world: World, table: str = "flights") -> list[tuple[str, list[str]]]:
    result = world.call("glue", "GetPartitionIndexes", DatabaseName="air", TableName=table)["PartitionIndexDescriptorList"]
    assert {item["IndexStatus"] for item in result} <= {"ACTIVE"}
    return [(item["IndexName"], [key["Name"] for key in item["Keys"]]) for item in result]


def statistics(column: str = "delay", **data: Any) -> dict[str, Any]:
    kept = {"Type": "LONG", "LongColumnStatisticsData": LONG} | data
    return {"ColumnName": column, "ColumnType": "bigint", "AnalyzedTime": NOW, "StatisticsData": kept}


def test_indexes_are_made_listed_and_deleted(world: World) -> None:
    assert indexes(world) == []
    world.call("glue", "CreatePartitionIndex", **HOME, PartitionIndex=index("by_origin", "Origin"))
    world.call("glue", "CreatePartitionIndex", **HOME, PartitionIndex=index("by_both", "origin", "year"))
    assert indexes(world) == [("by_both", ["origin", "year"]), ("by_origin", ["origin"])]
    result = world.call("glue", "GetPartitionIndexes", **HOME)["PartitionIndexDescriptorList"]
    assert result[0]["Keys"] == [{"Name": "origin", "Type": "string"}, {"Name": "year", "Type": "int"}]
    world.call("glue", "DeletePartitionIndex", **HOME, IndexName="by_both")
    assert indexes(world) == [("by_origin", ["origin"])]
    with pytest.raises(NotFound, match="Index by_both not found"):
        world.call("glue", "DeletePartitionIndex", **HOME, IndexName="by_both")


def test_a_table_is_created_with_its_indexes(world: World) -> None:
    expected = [index("a", "year"), index("b", "origin")]
    world.call("glue", "CreateTable", DatabaseName="air", TableInput={**TABLE, "Name": "t"}, PartitionIndexes=expected)
    assert indexes(world, "t") == [("a", ["year"]), ("b", ["origin"])]
    with pytest.raises(InvalidInput, match="cannot be over the keys"):
        world.call(
            "glue", "CreateTable", DatabaseName="air", TableInput={**TABLE, "Name": "u"}, PartitionIndexes=[index("a", "x")]
        )
    with pytest.raises(NotFound):
        world.call("glue", "GetTable", DatabaseName="air", Name="u")


@pytest.mark.parametrize("keys", [("delay",), ("year", "year"), ("year", "x"), ()])
def test_indexes_are_over_partition_keys(world: World, keys: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match=r"partition keys of table air\.flights are \['origin', 'year'\]"):
        world.call("glue", "CreatePartitionIndex", **HOME, PartitionIndex=index("i", *keys))


def test_a_table_has_three_indexes_of_different_names(world: World) -> None:
    for name in ("a", "b", "c"):
        world.call("glue", "CreatePartitionIndex", **HOME, PartitionIndex=index(name, "year"))
    with pytest.raises(AlreadyExists):
        world.call("glue", "CreatePartitionIndex", **HOME, PartitionIndex=index("a", "origin"))
    with pytest.raises(CatalogFull, match="more than 3 partition indexes"):
        world.call("glue", "CreatePartitionIndex", **HOME, PartitionIndex=index("d", "origin"))


def test_a_key_under_an_index_stays(world: World) -> None:
    world.call("glue", "CreatePartitionIndex", **HOME, PartitionIndex=index("i", "origin"))
    changed = {**TABLE, "PartitionKeys": [KEYS[0], {"Name": "target", "Type": "string"}]}
    with pytest.raises(InvalidInput, match="Index i of table"):
        world.call("glue", "UpdateTable", DatabaseName="air", TableInput=changed)
    world.call("glue", "DeletePartitionIndex", **HOME, IndexName="i")
    world.call("glue", "UpdateTable", DatabaseName="air", TableInput=changed)


@pytest.mark.parametrize(("suffix", "home"), [("ForTable", HOME), ("ForPartition", PARTITION)])
def test_statistics_are_kept_replaced_and_deleted(world: World, suffix: str, home: dict[str, Any]) -> None:
    def get() -> Any:
        return world.call("glue", f"GetColumnStatistics{suffix}", **home, ColumnNames=["delay", "year"])

    missing = {"ErrorCode": "EntityNotFoundException", "ErrorMessage": "Statistics of column delay not found."}
    assert get()["ColumnStatisticsList"] == []
    assert get()["Errors"][0] == {"ColumnName": "delay", "Error": missing}
    for most in (9, 10):
        given = statistics(LongColumnStatisticsData={**LONG, "MaximumValue": most})
        assert world.call("glue", f"UpdateColumnStatistics{suffix}", **home, ColumnStatisticsList=[given])["Errors"] == []
        assert get()["ColumnStatisticsList"] == [given]
    assert [error["ColumnName"] for error in get()["Errors"]] == ["year"]
    world.call("glue", f"DeleteColumnStatistics{suffix}", **home, ColumnName="Delay")
    assert get()["ColumnStatisticsList"] == []
    with pytest.raises(NotFound, match="Statistics of column delay"):
        world.call("glue", f"DeleteColumnStatistics{suffix}", **home, ColumnName="delay")


def test_statistics_of_a_table_and_of_its_partitions_are_apart(world: World) -> None:
    world.call("glue", "UpdateColumnStatisticsForTable", **HOME, ColumnStatisticsList=[statistics()])
    results = world.call("glue", "GetColumnStatisticsForPartition", **PARTITION, ColumnNames=["delay"])
    assert results["ColumnStatisticsList"] == []
    with pytest.raises(NotFound, match="Cannot find partition"):
        world.call("glue", "GetColumnStatisticsForPartition", **{**PARTITION, "PartitionValues": ["1", "x"]}, ColumnNames=[])


def test_invalid_statistics_are_returned_with_their_errors(world: World) -> None:
    both: dict[str, Any] = {"BooleanColumnStatisticsData": {"NumberOfTrues": 1, "NumberOfFalses": 1, "NumberOfNulls": 1}}
    wrong = [statistics("gate"), statistics(Type="DOUBLE"), statistics(**both)]
    answer = world.call("glue", "UpdateColumnStatisticsForTable", **HOME, ColumnStatisticsList=[*wrong, statistics()])
    assert [error["ColumnStatistics"] for error in answer["Errors"]] == wrong
    assert [error["Error"]["ErrorCode"] for error in answer["Errors"]] == [
        "EntityNotFoundException", "InvalidInputException", "InvalidInputException",
    ]  # fmt: skip
    results = world.call("glue", "GetColumnStatisticsForTable", **HOME, ColumnNames=["delay"])
    assert results["ColumnStatisticsList"] == [statistics()]


def test_statistics_of_a_removed_column_are_not_returned(world: World) -> None:
    world.call("glue", "UpdateColumnStatisticsForTable", **HOME, ColumnStatisticsList=[statistics()])
    world.call("glue", "UpdateTable", DatabaseName="air", TableInput={**TABLE, "StorageDescriptor": {}})
    results = world.call("glue", "GetColumnStatisticsForTable", **HOME, ColumnNames=["delay"])
    assert results["ColumnStatisticsList"] == []


FUNCTION = {
    "FunctionName": "Haversine",
    "ClassName": "org.example.Haversine",
    "OwnerName": "ana",
    "OwnerType": "USER",
    "FunctionType": "REGULAR_FUNCTION",
    "ResourceUris": [{"ResourceType": "JAR", "Uri": "s3://lake/geo.jar"}],
}


def functions(world: World, pattern: str = "*", **request: Any) -> list[tuple[str, str]]:
    result = world.call("glue", "GetUserDefinedFunctions", Pattern=pattern, **request)["UserDefinedFunctions"]
    return [(item["DatabaseName"], item["FunctionName"]) for item in result]


def test_functions_are_kept_changed_and_deleted(world: World) -> None:
    world.call("glue", "CreateUserDefinedFunction", DatabaseName="AIR", FunctionInput=FUNCTION)
    place = {"DatabaseName": "air", "FunctionName": "HAVERSINE"}
    made = world.call("glue", "GetUserDefinedFunction", **place)["UserDefinedFunction"]
    assert {**made, "FunctionName": "Haversine"}.items() >= FUNCTION.items()
    assert (made["FunctionName"], made["DatabaseName"], made["CatalogId"]) == ("haversine", "air", ACCOUNT)
    with pytest.raises(AlreadyExists):
        world.call("glue", "CreateUserDefinedFunction", DatabaseName="air", FunctionInput=FUNCTION)
    world.call("glue", "UpdateUserDefinedFunction", **place, FunctionInput={"ClassName": "org.example.Other"})
    changed = world.call("glue", "GetUserDefinedFunction", **place)["UserDefinedFunction"]
    assert (changed["ClassName"], changed["CreateTime"]) == ("org.example.Other", made["CreateTime"])
    assert "ResourceUris" not in changed
    with pytest.raises(InvalidInput, match="cannot be renamed"):
        world.call("glue", "UpdateUserDefinedFunction", **place, FunctionInput={"FunctionName": "other"})
    world.call("glue", "DeleteUserDefinedFunction", **place)
    for operation in ("GetUserDefinedFunction", "DeleteUserDefinedFunction"):
        with pytest.raises(NotFound, match="Function haversine not found"):
            world.call("glue", operation, **place)
    with pytest.raises(NotFound, match="Function haversine not found"):
        world.call("glue", "UpdateUserDefinedFunction", **place, FunctionInput={})


def test_functions_need_a_name_and_a_database(world: World) -> None:
    with pytest.raises(InvalidInput, match="FunctionName is missing"):
        world.call("glue", "CreateUserDefinedFunction", DatabaseName="air", FunctionInput={"ClassName": "x"})
    with pytest.raises(NotFound, match="Database sea not found"):
        world.call("glue", "CreateUserDefinedFunction", DatabaseName="sea", FunctionInput=FUNCTION)
    with pytest.raises(NotFound, match="Database sea not found"):
        functions(world, DatabaseName="sea")


def test_functions_are_found_by_pattern_kind_and_page(world: World) -> None:
    world.call("glue", "CreateDatabase", DatabaseInput={"Name": "sea"})
    for database, names in (("air", ("geo_b", "geo_a", "text")), ("sea", ("geo_a",))):
        for name in names:
            kind = "AGGREGATE_FUNCTION" if name == "geo_b" else "REGULAR_FUNCTION"
            expected = {**FUNCTION, "FunctionName": name, "FunctionType": kind}
            world.call("glue", "CreateUserDefinedFunction", DatabaseName=database, FunctionInput=expected)
    assert functions(world) == [("air", "geo_a"), ("air", "geo_b"), ("air", "text"), ("sea", "geo_a")]
    assert functions(world, "GEO*|x", DatabaseName="air") == [("air", "geo_a"), ("air", "geo_b")]
    assert functions(world, "geo*", FunctionType="REGULAR_FUNCTION") == [("air", "geo_a"), ("sea", "geo_a")]
    seen, token = [], None
    while True:
        more: dict[str, Any] = {"NextToken": token} if token else {}
        page = world.call("glue", "GetUserDefinedFunctions", Pattern="geo*", MaxResults=1, **more)
        seen += [
            (user_defined_function["DatabaseName"], user_defined_function["FunctionName"])
            for user_defined_function in page["UserDefinedFunctions"]
        ]
        token = page["NextToken"]
        if token is None:
            break
    assert seen == [("air", "geo_a"), ("air", "geo_b"), ("sea", "geo_a")]


def test_a_token_that_was_made_up_is_refused(world: World) -> None:
    token = encode_token("functions:None:None:*", "no name behind it")
    with pytest.raises(InvalidInput, match="NextToken"):
        world.call("glue", "GetUserDefinedFunctions", Pattern="*", NextToken=token)


def test_a_database_has_a_hundred_functions(world: World) -> None:
    for number in range(100):
        world.call("glue", "CreateUserDefinedFunction", DatabaseName="air", FunctionInput={"FunctionName": f"f{number}"})
    with pytest.raises(CatalogFull, match="more than 100 functions"):
        world.call("glue", "CreateUserDefinedFunction", DatabaseName="air", FunctionInput={"FunctionName": "f"})
