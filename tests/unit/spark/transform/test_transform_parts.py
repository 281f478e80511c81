"""What needs no Spark: tags of schemas, and names of catalog tables in SQL."""

import json
from uuid import UUID

import pytest

from penstock.pipelines.transforms import Mask
from penstock.schema.version import SchemaVersion
from penstock.spark.transform.masks import field_tags, masked_paths
from penstock.spark.transform.tables import table_names


def version(data_format: str, definition: str) -> SchemaVersion:
    return SchemaVersion(
        id=UUID(int=1), schema_arn="arn", registry_name="r", schema_name="s", number=1, data_format=data_format,
        definition=definition,
    )  # fmt: skip


def test_tags_of_avro_fields_also_in_recursive_types() -> None:
    node = {
        "type": "record",
        "name": "Node",
        "namespace": "n",
        "fields": [
            {"name": "name", "type": "string", "tags": ["pii"]},
            {"name": "next", "type": ["null", "Node"], "confluent:tags": ["link"]},
            {"name": "all", "type": {"type": "map", "values": {"type": "record", "name": "Leaf", "fields": [
                {"name": "note", "type": "string", "tags": ["pii", "free"]}]}}},
        ],
    }  # fmt: skip
    results = field_tags(version("AVRO", json.dumps(node)))
    assert results["name"] == {"pii"}
    assert results["next"] == {"link"}
    assert results["next.name"] == {"pii"}
    assert results["all.note"] == {"pii", "free"}
    assert len(results) < 100


def test_tags_of_json_schemas_follow_references() -> None:
    schema = {
        "properties": {
            "email": {"type": "string", "tags": ["pii"]},
            "home": {"$ref": "#/$defs/address"},
            "phones": {"items": {"properties": {"number": {"confluent:tags": ["pii"]}}}},
        },
        "$defs": {"address": {"allOf": [{"properties": {"street": {"tags": ["secret"]}}}]}},
    }
    assert field_tags(version("JSON", json.dumps(schema))) == {
        "email": {"pii"},
        "home.street": {"secret"},
        "phones.number": {"pii"},
    }


def test_tags_of_protobuf_fields_are_options_or_comments() -> None:
    text = """
    syntax = "proto3";
    message Person {
      message Inner { string email = 1 [(tags) = "no"]; }
      string email = 1 [(tags) = "pii, contact"];
      repeated string phones = 2; // tags: pii
      map<string, string> notes = 3;
      optional int32 age = 4 [deprecated = true];
    }
    message Other { string card = 1; // tags: card
    }
    """
    assert field_tags(version("PROTOBUF", text)) == {"email": {"pii", "contact"}, "phones": {"pii"}}


def test_a_declared_field_counts_more_than_its_tags() -> None:
    mask = Mask(tags={"card": "partial", "pii": "redact"}, fields={"email": "null"})
    tags = {"email": frozenset({"pii"}), "card": frozenset({"pii", "card"}), "age": frozenset({"other"})}
    assert masked_paths(mask, tags) == {"email": "null", "card": "partial"}


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT a.b FROM shop.orders o JOIN `my shop`.`items` USING (id)", [("shop", "orders"), ("my shop", "items")]),
        ("select * from (select * from\n geo.names) n, records", [("geo", "names")]),
        ("SELECT 'FROM a.b', \"JOIN c.d\" FROM records -- FROM e.f\n/* JOIN g.h */", []),
        ("SELECT extract(year FROM r.at) FROM records r JOIN a.b ON trim(BOTH ' ' FROM b.c) = 'x'", [("a", "b")]),
        ("SELECT * FROM iceberg.shop.orders", []),
        ("SELECT * FROM /* the table */ shop.orders", [("shop", "orders")]),
    ],
)
def test_names_of_catalog_tables(sql: str, names: list[tuple[str, str]]) -> None:
    assert [table_name[2:] for table_name in table_names(sql)] == names
