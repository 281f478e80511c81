"""CreateTable with OpenTableFormatInput, as boto3 sends it; pyiceberg reads what was written."""

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from pyiceberg.serializers import FromInputFile
from pyiceberg.table.metadata import TableMetadata

from penstock.lake.locations import LakeFolder
from penstock.query.tables.iceberg.lake_io import LakeIO

CREATE: dict[str, Any] = {"MetadataOperation": "CREATE", "Version": "2"}
FIELDS = [
    {"Id": 7, "Name": "id", "Type": "long", "Required": True, "Doc": "the key"},
    {"Id": 8, "Name": "at", "Type": "timestamptz", "Required": False},
    {
        "Id": 9,
        "Name": "tags",
        "Type": {"type": "list", "element-id": 10, "element": "string", "element-required": False},
        "Required": False,
    },
]
DESCRIBED: dict[str, Any] = {
    "Location": "s3://lake/trips/",
    "Schema": {"Type": "struct", "Fields": FIELDS, "IdentifierFieldIds": [7]},
    "PartitionSpec": {"Fields": [{"SourceId": 8, "Transform": "day", "Name": "at_day"}]},
    "WriteOrder": {
        "OrderId": 1,
        "Fields": [{"SourceId": 7, "Transform": "identity", "Direction": "desc", "NullOrder": "nulls-last"}],
    },
    "Properties": {"write.format.default": "parquet", "owner": "ops"},
}
COLUMNS = [
    {"Name": "id", "Type": "bigint", "Comment": "the key"},
    {"Name": "price", "Type": "decimal(9,2)"},
    {"Name": "stops", "Type": "array<struct<name:string,at:timestamp>>"},
    {"Name": "seats", "Type": "map<string,int>"},
]


def plain(**changes: Any) -> dict[str, Any]:
    storage = {"Columns": COLUMNS, "Location": "s3://lake/plain"}
    return {"Name": "Plain", "TableType": "EXTERNAL_TABLE", "StorageDescriptor": storage, **changes}


def metadata(lake: Path, table: Any) -> TableMetadata:
    io = LakeIO(LakeFolder(lake), lake)
    return FromInputFile.table_metadata(io.new_input(table["Parameters"]["metadata_location"]))


def written(lake: Path) -> list[str]:
    return sorted(path.name for path in lake.rglob("*.metadata.json"))


def test_columns_and_location_of_the_table_make_its_metadata(flights: Any, lake: Path) -> None:
    given = plain(Description="d", Owner="ops", Parameters={"team": "ops"})
    flights.create_table(DatabaseName="AIR", TableInput=given, OpenTableFormatInput={"IcebergInput": CREATE})
    table = flights.get_table(DatabaseName="air", Name="plain")["Table"]
    assert (table["Description"], table["Owner"], table["TableType"]) == ("d", "ops", "EXTERNAL_TABLE")
    assert {"team": "ops", "table_type": "ICEBERG"}.items() <= table["Parameters"].items()
    assert [(column["Name"], column["Type"]) for column in table["StorageDescriptor"]["Columns"]] == [
        (column["Name"], column["Type"]) for column in COLUMNS
    ]
    result = metadata(lake, table)
    assert (result.format_version, result.location, result.current_snapshot_id) == (2, "s3://lake/plain", None)
    assert [str(field.field_type) for field in result.schema().fields] == [
        "long", "decimal(9, 2)", "list<struct<6: name: optional string, 7: at: optional timestamp>>", "map<string, int>",
    ]  # fmt: skip
    assert result.schema().fields[0].doc == "the key"


def test_a_described_table_has_its_schema_partitions_order_and_properties(flights: Any, lake: Path) -> None:
    described = {"IcebergInput": {**CREATE, "CreateIcebergTableInput": DESCRIBED}}
    flights.create_table(DatabaseName="air", Name="trips", OpenTableFormatInput=described)
    table = flights.get_table(DatabaseName="air", Name="trips")["Table"]
    assert table["StorageDescriptor"]["Location"] == "s3://lake/trips"
    result = metadata(lake, table)
    schema = result.schema()
    assert [(field.name, str(field.field_type), field.required) for field in schema.fields] == [
        ("id", "long", True), ("at", "timestamptz", False), ("tags", "list<string>", False),
    ]  # fmt: skip
    assert schema.identifier_field_names() == {"id"}
    [partition] = result.spec().fields
    assert (partition.name, str(partition.transform), schema.find_column_name(partition.source_id)) == (
        "at_day", "day", "at",
    )  # fmt: skip
    [order] = result.sort_order_by_id(result.default_sort_order_id).fields  # type: ignore[union-attr]
    assert (order.direction.name, schema.find_column_name(order.source_id)) == ("DESC", "id")
    assert result.properties == DESCRIBED["Properties"]


def test_the_version_is_chosen_once(flights: Any, lake: Path) -> None:
    for name, version in (("one", "1"), ("three", "3")):
        described = {**DESCRIBED, "Location": f"s3://lake/{name}"}
        given = {"IcebergInput": {**CREATE, "Version": version, "CreateIcebergTableInput": described}}
        flights.create_table(DatabaseName="air", Name=name, OpenTableFormatInput=given)
        result = metadata(lake, flights.get_table(DatabaseName="air", Name=name)["Table"])
        assert str(result.format_version) == version


def _described(**changes: Any) -> dict[str, Any]:
    return {
        "Name": "x",
        "OpenTableFormatInput": {"IcebergInput": {**CREATE, "CreateIcebergTableInput": {**DESCRIBED, **changes}}},
    }


def _plain(**changes: Any) -> dict[str, Any]:
    return {"TableInput": plain(**changes), "OpenTableFormatInput": {"IcebergInput": CREATE}}


REFUSED = {
    "partition keys": (_plain(PartitionKeys=[{"Name": "day", "Type": "date"}]), "Cannot create partitions in an iceberg"),
    "no location": (_plain(StorageDescriptor={"Columns": COLUMNS}), "no location"),
    "no columns": (_plain(StorageDescriptor={"Location": "s3://lake/x"}), "no columns"),
    "a type that Iceberg lacks": (
        _plain(StorageDescriptor={"Location": "s3://lake/x", "Columns": [{"Name": "a", "Type": "tinyint"}]}),
        "Column a: Iceberg has no type for tinyint",
    ),
    "no type": (
        _plain(StorageDescriptor={"Location": "s3://lake/x", "Columns": [{"Name": "a", "Type": "array<"}]}),
        "Column a: The type 'array<' cannot be read",
    ),
    "another kind of table": (_plain(TableType="VIRTUAL_VIEW"), "TableType of an Iceberg table is EXTERNAL_TABLE"),
    "metadata": (_plain(Parameters={"metadata_location": "s3://lake/x.json"}), "are those of the new metadata"),
    "a view": (_plain(ViewOriginalText="SELECT 1"), "neither a view"),
    "a link": (_plain(TargetTable={"DatabaseName": "air", "Name": "flights"}), "nor a link"),
    "a bucket that is not there": (_described(Location="s3://nowhere/x"), "nowhere"),
    "no place in S3": (_described(Location="/etc"), "S3"),
    "columns twice": (
        {**_described(), "TableInput": {"Name": "x", "StorageDescriptor": {"Columns": COLUMNS}}},
        "both in TableInput and in CreateIcebergTableInput",
    ),
    "two names": ({**_described(), "TableInput": {"Name": "y"}}, "needs one name"),
    "two versions": (_described(Properties={"format-version": "1"}), "differ"),
    "a version of the future": (
        {"TableInput": plain(), "OpenTableFormatInput": {"IcebergInput": {**CREATE, "Version": "9"}}},
        "Format version 9 is not supported",
    ),
    "an unknown transform": (
        _described(PartitionSpec={"Fields": [{"SourceId": 7, "Transform": "week", "Name": "w"}]}),
        "transform 'week' is unknown",
    ),
    "a source that is not there": (
        _described(PartitionSpec={"Fields": [{"SourceId": 99, "Transform": "day", "Name": "w"}]}),
        "source 99",
    ),
    "an unknown type": (_described(Schema={"Fields": [{**FIELDS[0], "Type": {"type": "blob"}}]}), "unknown type"),
    "no format": ({"TableInput": plain(), "OpenTableFormatInput": {}}, "no IcebergInput"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_and_leaves_no_file(flights: Any, lake: Path, name: str) -> None:
    request, why = REFUSED[name]
    with pytest.raises(ClientError, match=why) as error:
        flights.create_table(DatabaseName="air", **request)
    assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert error.value.response["Error"]["Code"] == "InvalidInputException"
    assert written(lake) == []


def test_names_that_are_taken_and_databases_that_are_not_there(flights: Any, lake: Path) -> None:
    with pytest.raises(flights.exceptions.AlreadyExistsException):
        flights.create_table(DatabaseName="air", **{**_described(), "Name": "Flights"})
    with pytest.raises(flights.exceptions.EntityNotFoundException):
        flights.create_table(DatabaseName="sea", **_described())
    assert written(lake) == []
