"""What the transforms make of records, as AWS's documentation prints it, in a real Spark session."""

import logging
import time
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as s

from awsglue.context import GlueContext
from awsglue.dynamicframe import DynamicFrame, DynamicFrameCollection, DynamicFrameReader, DynamicFrameWriter, ResolveOption
from awsglue.functions import explodeWithIndex
from awsglue.gluetypes import DoubleType, LongType
from awsglue.transforms import (
    ErrorsAsDynamicFrame,
    FlatMap,
    Join,
    MapToCollection,
    Relationalize,
    ResolveChoice,
    SelectFromCollection,
    SplitFields,
    SplitRows,
    Unbox,
    UnnestFrame,
)
from awsglueml.transforms import EntityDetector
from penstock.errors import InvalidInput
from penstock.glue.schemas import gluetypes as g
from penstock.glue.schemas.json_records import json_frame
from penstock.glue.schemas.tree import schema_tree

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def frame_of(glue: GlueContext, *texts: str, name: str = "frame") -> DynamicFrame:
    rows = glue.createDataFrame([(text,) for text in texts], "text STRING").coalesce(1)
    return DynamicFrame.fromDF(json_frame(rows, "text").frame, glue, name)


def rows(frame: DynamicFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.toDF().collect()]


def tree(frame: DynamicFrame) -> list[str]:
    return schema_tree(frame.schema()).splitlines()[1:]


@pytest.fixture
def mixed(glue_context: GlueContext) -> DynamicFrame:
    """``id`` is a long and a string; so are the prices of the items, within an array, an int and a string."""
    return frame_of(
        glue_context,
        '{"id": 10000000001, "name": "a", "items": [{"price": 1}, {"price": "2"}]}',
        '{"id": "x", "name": "b", "items": []}',
        '{"id": "7", "name": "c"}',
    )


def test_choices_are_resolved_by_each_action(mixed: DynamicFrame, glue_context: GlueContext, capsys: Any) -> None:
    mixed.printSchema()
    assert capsys.readouterr().out.splitlines()[:4] == ["root", "|-- id: choice", "|    |-- long", "|    |-- string"]
    cast = ResolveChoice.apply(frame=mixed, specs=[("id", "cast:long")])
    assert tree(cast)[0] == "|-- id: long"
    # "Where the value was a string that could not be cast, AWS Glue inserted a null."
    assert [row["id"] for row in rows(cast)] == [10000000001, None, 7]
    both = mixed.resolveChoice(specs=[("id", "make_cols"), ("items[].price", "cast:int")])
    assert tree(both) == [
        "|-- id_long: long",
        "|-- id_string: string",
        "|-- name: string",
        "|-- items: array",
        "|    |-- element: struct",
        "|    |    |-- price: int",
    ]
    assert rows(both)[:2] == [
        {"id_long": 10000000001, "id_string": None, "name": "a", "items": [{"price": 1}, {"price": 2}]},
        {"id_long": None, "id_string": "x", "name": "b", "items": []},
    ]
    # A struct that is made of the columns of a choice is not taken for a choice again.
    nested = frame_of(mixed.glue_ctx, '{"a": {"b": 1}}', '{"a": {"b": "x"}}').resolveChoice(choice="make_cols")
    assert tree(nested) == ["|-- a: struct", "|    |-- b_int: int", "|    |-- b_string: string"]
    struct = mixed.resolveChoice(choice="make_struct")
    assert tree(struct)[:3] == ["|-- id: struct", "|    |-- long: long", "|    |-- string: string"]
    assert rows(struct)[0]["items"] == [{"price": {"int": 1, "string": None}}, {"price": {"int": None, "string": "2"}}]
    project = mixed.resolveChoice(specs=[("id", "project:string"), ("items[].price", "project:double")])
    assert [row["id"] for row in rows(project)] == [None, "x", "7"]
    assert [item["price"] for item in rows(project)[0]["items"]] == [None, None]
    assert mixed.toDF([ResolveOption("id", "Project", s.LongType())]).schema["id"].dataType == s.LongType()
    assert mixed.toDF().schema["id"].dataType.simpleString() == "struct<long:bigint,string:string>"
    assert mixed.toDF([ResolveOption("id", "Project", DoubleType())]).where("id is not null").count() == 0


def test_names_of_the_library_that_few_scripts_use(mixed: DynamicFrame, glue_context: GlueContext) -> None:
    kept = glue_context.convert_resolve_option("id", "Project", LongType())
    assert [row.id for row in mixed.toDF([kept]).collect()] == [10000000001, None, None]
    assert isinstance(glue_context.create_dynamic_frame, DynamicFrameReader)
    read = DynamicFrameReader(glue_context).from_rdd([(1, ["a", "b"])], "made", "id BIGINT, tags ARRAY<STRING>")
    assert [tuple(row) for row in read.toDF().select("id", explodeWithIndex("tags")).collect()] == [(1, 0, "a"), (1, 1, "b")]
    assert read.toDF().select(explodeWithIndex("tags")).columns == ["index", "val"]
    with pytest.raises(InvalidInput, match="A list cannot be written"):
        DynamicFrameWriter(glue_context).from_options([], "s3", {"path": "s3://lk/x"}, "json")
    assert abs(glue_context.currentTimeMillis() / 1000 - time.time()) < 60


def test_a_frame_takes_a_schema_that_is_wider(mixed: DynamicFrame) -> None:
    wider = g.StructType([g.Field("id", g.DoubleType()), g.Field("more", g.DateType())])
    dynamic_frame = mixed.select_fields(["id"]).with_frame_schema(lambda: wider)
    assert tree(dynamic_frame) == ["|-- id: choice", "|    |-- double", "|    |-- long", "|    |-- string", "|-- more: date"]
    assert rows(dynamic_frame)[0] == {"id": {"double": None, "long": 10000000001, "string": None}, "more": None}


def test_what_cannot_be_resolved_is_an_error(mixed: DynamicFrame, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InvalidInput, match="specs and choice of resolveChoice are missing"):
        mixed.resolveChoice()
    with pytest.raises(InvalidInput, match="'cast' is not an action"):
        mixed.resolveChoice(specs=[("id", "cast")])
    with pytest.raises(InvalidInput, match=r"elements of items\[\]"):
        frame_of(mixed.glue_ctx, '{"items": [1, "x"]}').resolveChoice(specs=[("items[]", "make_cols")])
    with pytest.raises(InvalidInput, match="match_catalog needs a table"):
        mixed.resolveChoice(choice="match_catalog")
    assert tree(mixed.resolveChoice(specs=[("idd", "cast:long")])) == tree(mixed)
    assert "no record has a field idd" in caplog.text


def test_a_mapping_takes_values_of_its_source_type_only(
    mixed: DynamicFrame, glue_context: GlueContext, caplog: pytest.LogCaptureFixture
) -> None:
    mapped = mixed.apply_mapping(
        [("id", "long", "key.id", "string"), ("name", "String", "key.name", "String"), ("name", "n")]
    )
    assert [row["key"]["id"] for row in rows(mapped)] == ["10000000001", None, None]
    numbers = frame_of(glue_context, '{"price": 0.30275, "n": 5, "s": {"a": 1}, "l": [1, 2]}')
    with caplog.at_level(logging.WARNING, "awsglue"):
        dynamic_frame = numbers.apply_mapping(
            [
                ("price", "double", "price", "decimal"),
                ("n", "long", "n", "long"),
                ("n", "m", "double"),
                ("s", "struct", "s", "struct"),
                ("s", "struct", "wide", "struct<a:bigint>"),
                ("s", "struct", "text", "string"),
                ("l", "array", "l", "array<string>"),
            ]
        )
    (row,) = rows(dynamic_frame)
    assert tree(dynamic_frame)[:3] == ["|-- price: decimal", "|-- n: long", "|-- m: double"]
    assert (str(row["price"]), row["n"], row["m"]) == ("0.30", None, 5.0)
    assert "`n` is int and its mapping says long, so `n` is null, as on AWS" in caplog.text
    assert (row["s"], row["wide"], row["text"], row["l"]) == ({"a": 1}, {"a": 1}, '{"a":1}', ["1", "2"])
    assert tree(dynamic_frame)[5:7] == ["|-- wide: struct", "|    |-- a: long"]
    for wrong, why in (
        (("n", "int", "n", "struct"), "A int cannot become a struct"),
        (("n", "int", "n", "number"), r"'number' is not a type: \[\w+"),
        (("n",), "is not a mapping"),
    ):
        with pytest.raises(InvalidInput, match=why):
            numbers.apply_mapping([wrong])


def test_records_whose_function_raises_are_set_aside_counted_and_logged(
    mixed: DynamicFrame, caplog: pytest.LogCaptureFixture
) -> None:
    kept = mixed.filter(lambda record: record["agee"] > 1 if record["name"] == "a" else True, info="my filter")
    with caplog.at_level(logging.WARNING, "awsglue"):
        assert kept.count() == 2
    assert "filter: records whose function raised are set aside; the first: KeyError: 'agee'" in caplog.text
    assert (kept.stageErrorsCount(), kept.errorsCount()) == (1, 1)

    def changed(record: Any) -> Any:
        if record.name == "b":
            return None
        record["id"] = [record.id]
        return record

    mapped = kept.select_fields(["id", "name"]).map(changed)
    assert rows(mapped) == [{"id": ["7"], "name": "c"}]
    assert (mapped.stageErrorsCount(), mapped.errorsCount()) == (1, 2)
    errors = ErrorsAsDynamicFrame.apply(mapped)
    assert tree(errors)[:4] == [
        "|-- error: struct",
        "|    |-- callsite: struct",
        "|    |    |-- site: string",
        "|    |    |-- info: string",
    ]
    first, second = (row["error"] for row in rows(errors))
    assert (first["callsite"], first["msg"]) == ({"site": "filter", "info": "my filter"}, "KeyError: 'agee'")
    assert first["input"] == '{"id": 10000000001, "name": "a", "items": [{"price": 1}, {"price": "2"}]}'
    assert second["msg"] == "TypeError: the function returned None instead of a record"
    assert any("changed" in line or "checked" in line for line in second["stackTrace"])
    with pytest.raises(InvalidInput, match="1 error records of this frame are more than its stageThreshold of 0"):
        mapped.assertErrorThreshold()
    mixed.assertErrorThreshold()
    # A threshold of 0 never fails a job; others are the most errors that a job may have (AWS: Scala DynamicFrame class).
    strict = mixed.filter(lambda record: record["agee"], stageThreshold=2)
    with pytest.raises(InvalidInput, match="3 error records of this transform are more than its stageThreshold of 2"):
        strict.toDF()
    assert mixed.filter(lambda record: record["agee"], "", "", 3).count() == 0
    with pytest.raises(TypeError, match="'treshold' is not an argument"):
        mixed.filter(lambda record: True, treshold=3)


def test_functions_keep_the_types_of_fields_that_they_do_not_change(mixed: DynamicFrame, glue_context: GlueContext) -> None:
    frame = DynamicFrame.fromDF(
        glue_context.sql("select 5L as big, cast(1.5 as decimal(8,3)) as price, 2Y as tiny, map('a', 1L) as m, null as no"),
        glue_context,
    )

    def more(record: Any) -> Any:
        return {**record, "new": 3, "wide": 3_000_000_000 if record.big else 1, "nested": {"x": [record.price]}}

    assert tree(frame.map(more)) == [
        "|-- big: long",
        "|-- price: decimal",
        "|-- tiny: byte",
        "|-- m: map",
        "|    |-- keyType: string",
        "|    |-- valueType: long",
        "|-- no: null",
        "|-- new: int",
        "|-- wide: long",
        "|-- nested: struct",
        "|    |-- x: array",
        "|    |    |-- element: decimal",
    ]
    assert rows(frame.map(more))[0]["m"] == {"a": 1}
    # Choices go through functions as the values themselves.
    same = mixed.map(lambda record: record)
    assert (tree(same), rows(same)) == (tree(mixed), rows(mixed))
    seen = mixed.mapPartitionsWithIndex(lambda index, records: [{"part": index, "n": len(list(records))}])
    assert rows(seen) == [{"part": 0, "n": 3}]
    assert rows(mixed.mapPartitions(lambda records: ({"name": item["name"]} for item in records)))[2] == {"name": "c"}


def test_the_legislators_are_joined_and_relationalized_as_in_aws_s_tutorial(
    glue_context: GlueContext, spark_lake: Path
) -> None:
    persons = frame_of(
        glue_context,
        '{"id": "p1", "family_name": "Ross", "name": "Mike Ross", "tags": [["a"], []],'
        ' "contact_details": [{"type": "fax", "value": "1"}, {"type": "phone", "value": "2"}]}',
        '{"id": "p2", "family_name": "Capito", "name": "Shelley"}',
        name="persons",
    )
    memberships = frame_of(
        glue_context,
        '{"person_id": "p1", "organization_id": "o1", "id": "m1", "term": {"from": 1, "to": 2}}',
        name="memberships",
    )
    history = Join.apply(persons, memberships, "id", "person_id").drop_fields(["person_id"])
    assert history.name == "personsmemberships"
    assert rows(history)[0][".id"] == "m1"
    assert rows(history.drop_fields(["`.id`"]))[0]["id"] == "p1"
    collection = Relationalize.apply(history, "s3://lk/temp/", "hist_root")
    assert sorted(collection.keys()) == [
        "hist_root",
        "hist_root_contact_details",
        "hist_root_tags",
        "hist_root_tags.val",
    ]
    (root,) = rows(collection.select("hist_root"))
    assert (root["term.from"], root["term.to"], root["family_name"]) == (1, 2, "Ross")
    details = rows(SelectFromCollection.apply(dfc=collection, key="hist_root_contact_details"))
    assert [
        (row["id"], row["index"], row["contact_details.val.type"], row["contact_details.val.value"]) for row in details
    ] == [
        (root["contact_details"], 0, "fax", "1"),
        (root["contact_details"], 1, "phone", "2"),
    ]
    tags = rows(collection.select("hist_root_tags"))
    assert [row["id"] for row in tags] == [root["tags"]] * 2
    (tag,) = rows(collection.select("hist_root_tags.val"))
    assert (tag["id"], tag["index"], tag["tags.val.val"]) == (tags[0]["tags.val"], 0, "a")
    # Rows without an array have no id.
    alone = persons.relationalize("r")
    assert [row["contact_details"] is None for row in rows(alone.select("r"))] == [False, True]
    assert collection.select("missing").count() == 0
    with pytest.raises(InvalidInput, match="no field nobody to join by"):
        persons.join(["nobody"], ["person_id"], memberships)


def test_frames_are_split_merged_united_and_unnested(mixed: DynamicFrame, glue_context: GlueContext) -> None:
    people = frame_of(glue_context, *(f'{{"id": {n}, "age": {n * 10}, "a": {{"b": {{"c": {n}}}}}}}' for n in range(4)))
    halves = SplitRows.apply(frame=people, comparison_dict={"age": {">": 5, "<": 30}}, name1="middle", name2="rest")
    assert {
        name: [row["id"] for row in rows(frame)] for name, frame in zip(halves.keys(), halves.values(), strict=True)
    } == {
        "middle": [1, 2],
        "rest": [0, 3],
    }
    fields = SplitFields.apply(people, ["a.b"], "nested", "flat")
    assert [frame.toDF().columns for frame in fields.values()] == [["a"], ["id", "age"]]
    assert UnnestFrame.apply(people).toDF().columns == ["id", "age", "a.b.c"]
    staged = frame_of(glue_context, '{"id": 1, "age": "old"}', '{"id": 9}')
    merged = people.mergeDynamicFrame(staged, ["id"]).select_fields(["id", "age"])
    assert tree(merged) == ["|-- id: int", "|-- age: choice", "|    |-- int", "|    |-- string"]
    assert sorted((row["id"], str(row["age"] and (row["age"]["int"] or row["age"]["string"]))) for row in rows(merged)) == [
        (0, "None"),
        (1, "old"),
        (2, "20"),
        (3, "30"),
        (9, "None"),
    ]
    doubled = MapToCollection.apply(dfc=halves, callable=lambda frame, context: frame.union(frame))
    assert [frame.count() for frame in doubled.values()] == [4, 4]
    flat = FlatMap.apply(dfc=fields, BaseTransform=Relationalize, frame_name="frame", name="r")
    assert isinstance(flat, DynamicFrameCollection)
    assert list(flat.keys()) == ["r"]
    with pytest.raises(TypeError, match="must return a DynamicFrame"):
        halves.map(lambda frame, context: 3)


def test_text_is_unboxed_and_dynamodb_s_json_simplified(glue_context: GlueContext) -> None:
    boxed = DynamicFrame.fromDF(
        glue_context.createDataFrame(
            [("TX", '{"strawberry": 220, "mango": "x"}'), ("CA", '{"strawberry": 34, "mango": 5}'), ("CO", "{bad")],
            "warehouse_loc STRING, data STRING",
        ),
        glue_context,
        "boxed",
    )
    opened = Unbox.apply(frame=boxed, path="data", format="json", info="opening")
    assert tree(opened) == [
        "|-- warehouse_loc: string",
        "|-- data: struct",
        "|    |-- strawberry: int",
        "|    |-- mango: choice",
        "|    |    |-- int",
        "|    |    |-- string",
    ]
    assert [row["data"]["strawberry"] for row in rows(opened)] == [220, 34]
    (error,) = rows(opened.errorsAsDynamicFrame())
    assert (error["error"]["msg"], error["error"]["input"]) == ("The text of data is not json.", "{bad")
    schema = s.StructType([s.StructField("a", s.IntegerType()), s.StructField("b", s.StringType())]).json()
    lines = DynamicFrame.fromDF(glue_context.createDataFrame([("1|x",)], "data STRING"), glue_context, "lines")
    assert rows(lines.unbox("data", "csv", separator="|", withSchema=schema)) == [{"data": {"a": 1, "b": "x"}}]
    with pytest.raises(InvalidInput, match="cannot read avro"):
        boxed.unbox("data", "avro")
    with pytest.raises(InvalidInput, match="no option 'seperator'"):
        boxed.unbox("data", "json", seperator="|")
    items = frame_of(
        glue_context,
        '{"Item": {"id": {"S": "a"}, "n": {"N": "1"}, "m": {"M": {"x": {"BOOL": true}}},'
        ' "l": {"L": [{"M": {"y": {"S": "z"}}}]}}}',
    )
    assert rows(items.simplify_ddb_json()) == [{"id": "a", "n": "1", "m": {"x": True}, "l": [{"y": "z"}]}]
    assert rows(items.unnest_ddb_json())[0]["l"] == [{"M": {"y": {"S": "z"}}}]


def test_a_spigot_writes_some_records(mixed: DynamicFrame, spark_lake: Path) -> None:
    assert mixed.spigot("s3://lk/spigot/", {"topk": 2}).count() == 3
    lines = [line for file in (spark_lake / "lk" / "spigot").glob("*.json") for line in file.read_text().splitlines()]
    assert len(lines) == 2
    with pytest.raises(InvalidInput, match="A join of 0 keys"):
        mixed.join([], [], mixed)


def test_glue_studio_s_transforms_are_methods_of_both_kinds_of_frames(glue_context: GlueContext) -> None:
    import_module("gs_derived")

    frame: Any = frame_of(
        glue_context,
        '{"n": 2, "day": "2024-01-02 03:04:05", "epoch": 1700000000, "ms": 1700000000000, "tags": ["x", "y"],'
        ' "json": "{\\"k\\": 1}", "o": {"p": {"q": 1}}}',
    )
    made = (
        frame.gs_derived(colName="twice", expr="n * 2")
        .gs_concat(colName="both", colList=["n", "day"], spacer="-")
        .gs_to_timestamp(colName="epoch", colType="autodetect")
        .gs_to_timestamp(colName="ms", colType="milliseconds", newColName="at")
        .gs_format_timestamp(colName="epoch", dateFormat="yyyy-MM-dd")
        .gs_split(colName="day", pattern="[- ]", newColName="parts")
        .gs_array_to_cols(colName="parts", colList="year, month")
        .gs_array_to_cols(colName="parts", colList="hour", indexes="4")
        .gs_regex_extract(colName="day", regex=r"^(\d+)-(\d+)", newCols="y,m")
        .gs_regex_extract(colName="day", regex="nothing", newCols="none")
        .gs_parse_json(colName="json")
        .gs_flatten(maxLevels=1, separator="_")
        .gs_now(colName="now", dateFormat="%Y")
        .gs_repartition(numPartitionsStr="2")
    )
    (row,) = rows(made)
    assert (row["twice"], row["both"], row["epoch"], row["at"].timestamp()) == (
        *(4, "2-2024-01-02 03:04:05", "2023-11-14"),
        1_700_000_000,
    )
    assert (row["year"], row["month"], row["hour"]) == ("2024", "01", "03:04:05")
    assert (row["y"], row["m"], row["none"]) == ("2024", "01", None)
    assert (row["json_k"], row["o_p"], len(row["now"]), made.getNumPartitions()) == (1, {"q": 1}, 4, 2)
    assert [entry["tag"] for entry in rows(frame.gs_explode(colName="tags", newCol="tag"))] == ["x", "y"]
    extracted = frame.gs_extract_json(colName="json", jsonPaths="k,$['k'], z.y", colList="k, again, none", dropCol=True)
    assert [(row["k"], row["again"], row["none"]) for row in rows(extracted)] == [("1", "1", None)]
    assert "json" not in extracted.toDF().columns
    with pytest.raises(InvalidInput, match="2 jsonPaths have 1 names"):
        frame.gs_extract_json(colName="json", jsonPaths="k,l", colList="k")
    values = [("a", "k", 1), ("a", "l", 2), (None, None, None), ("", None, None)]
    plain: Any = glue_context.createDataFrame(values, "g string, c string, v int")
    assert plain.gs_null_rows().count() == 3
    kept = plain.gs_null_rows(extended=True)
    assert [item.asDict() for item in kept.gs_pivot(aggCol="v", aggFunction="sum", colList=["c"]).collect()] == [
        {"g": "a", "k": 1, "l": 2}
    ]
    assert len({item["id"] for item in kept.gs_uuid(colName="id").collect()}) == 2
    numbered = kept.repartition(2).gs_sequence_id().gs_sequence_id(colName="run", unique=True)
    assert [numbered.schema[name].dataType.simpleString() for name in ("id", "run")] == ["bigint", "decimal(38,0)"]
    # The time of the call in milliseconds, then the identifier.
    results = [(item["id"], *divmod(int(item["run"]), 10**19)) for item in numbered.collect()]
    assert len({identifier for identifier, _, _ in results}) == 2
    assert all(identifier == rest and abs(at / 1000 - time.time()) < 60 for identifier, at, rest in results)
    with pytest.raises(InvalidInput, match="colType is 'epoch'"):
        frame.gs_to_timestamp(colName="n", colType="epoch")
    with pytest.raises(InvalidInput, match="aggFunction is 'eval'"):
        plain.gs_pivot(aggCol="v", aggFunction="eval", colList=["c"])


def test_sensitive_data_is_detected_classified_and_redacted_as_glue_studio_s_scripts_do(glue_context: GlueContext) -> None:
    people = DynamicFrame.fromDF(
        glue_context.createDataFrame(
            [
                ("Ann", "+12315557890", 4111111111111111, "ann@example.com and bob@example.com", date(2020, 8, 27), True),
                ("Bob", "none", 7, "", None, None),
            ],
            "name STRING, `Phone Number` STRING, card BIGINT, note STRING, born DATE, ok BOOLEAN",
        ),
        glue_context,
    )
    detector = EntityDetector()
    types = ["PHONE_NUMBER", "EMAIL", "CREDIT_CARD", "DATE"]
    dynamic_frame = detector.detect(people, types, "Detected")
    assert dynamic_frame.toDF().schema["Detected"].dataType.simpleString() == (
        "map<string,array<struct<entityType:string,actionUsed:string,start:int,end:int>>>"
    )
    first, second = rows(dynamic_frame)

    def entity(kind: str, start: int, end: int, action: str = "DETECT") -> dict[str, Any]:
        return {"entityType": kind, "actionUsed": action, "start": start, "end": end}

    assert first.pop("Detected") == {
        "Phone Number": [entity("PHONE_NUMBER", 0, 12)],
        "card": [entity("CREDIT_CARD", 0, 16)],
        "note": [entity("EMAIL", 0, 15), entity("EMAIL", 20, 35)],
        "born": [entity("DATE", 0, 10)],
    }
    # A map without entries, whose keys a script's function asks for, and all other columns as they were.
    assert second.pop("Detected") == {}
    assert [first, second] == rows(people)

    # What scripts do with the column: a function that replaces the texts at the places, the last ones first.
    def hidden(name: str, text: str, entities: dict[str, Any]) -> str:
        for item in reversed(entities.get(name, [])):
            text = text[: item["start"]] + "X" + text[item["end"] :]
        return text

    masked = (
        dynamic_frame.toDF()
        .withColumn("note", F.udf(hidden, useArrow=False)(F.lit("note"), "note", "Detected"))
        .drop("Detected")
    )
    assert [row.note for row in masked.collect()] == ["X and X", ""]
    # Half of the phone numbers and of the cards; of notes and days all that are not empty.
    assert detector.classify_columns(people, types, 1.0, 0.6) == {"note": ["EMAIL"], "born": ["DATE"]}
    assert list(detector.classify_columns(people, types)) == ["Phone Number", "card", "note", "born"]
    partial = {"numLeftCharsToExclude": "3", "numRightCharsToExclude": "4", "redactChar": "#"}
    parameters = {
        "PHONE_NUMBER": [{"action": "PARTIAL_REDACT", "actionOptions": partial, "sourceColumnsToExclude": ["card"]}],
        "EMAIL": [{"action": "REDACT", "actionOptions": {"redactText": "***"}, "sourceColumns": ["note"]}],
        "CREDIT_CARD": [{"action": "DETECT", "sourceColumns": ["card"]}],
    }
    redacted = rows(detector.detect(people, parameters, "Detected", "HIGH"))
    # As AWS prints it: +12#####7890.
    assert [(row["Phone Number"], row["note"], row["card"]) for row in redacted] == [
        ("+12#####7890", "*** and ***", 4111111111111111),
        ("none", "", 7),
    ]
    assert redacted[0]["Detected"]["Phone Number"] == [entity("PHONE_NUMBER", 0, 12, "PARTIAL_REDACT")]
    with pytest.raises(PythonException, match=r"Column card \(bigint\) has a CREDIT_CARD, which REDACT cannot change"):
        rows(detector.detect(people, {"CREDIT_CARD": [{"action": "REDACT", "actionOptions": {"redactText": ""}}]}))
    with pytest.raises(InvalidInput, match="was given a DataFrame"):
        detector.detect(people.toDF(), types)  # type: ignore[arg-type]
    nested = frame_of(glue_context, '{"a": "x@example.com", "b": [{"mail": "y@example.com"}]}')
    for call in (detector.detect, detector.classify_columns):
        with pytest.raises(InvalidInput, match="Columns b are nested"):
            call(nested, ["EMAIL"])


def test_a_record_lacks_the_fields_that_its_json_lacks(glue_context: GlueContext) -> None:
    """Glue Studio's filters, such as ``not (row["share"] == 0)``, leave out records without the field."""
    texts = [
        '{"name": "a", "share": 0, "age": null}',
        '{"name": "b", "share": 1, "age": 3}',
        '{"name": "c", "age": 4}',
        '{"name": "d", "share": 2}',
    ]
    made = json_frame(
        glue_context.createDataFrame([(text,) for text in texts], "text STRING").coalesce(1), "text", nulls=False
    )
    people = DynamicFrame.fromDF(made.frame, glue_context, "people")
    expected = people.filter(lambda row: not (row["share"] == 0))  # noqa: SIM201 - as Glue Studio writes it
    assert ([row["name"] for row in rows(expected)], expected.errorsCount()) == (["b", "d"], 1)
    assert [row["name"] for row in rows(people.filter(lambda row: "share" not in row))] == ["c"]
    # A field that is null in some record cannot be told from one that records lack.
    assert [row["name"] for row in rows(people.filter(lambda row: row["age"] is None))] == ["a", "d"]
    # Other transforms keep what is not there; Spark's DataFrame has nulls.
    moved = people.apply_mapping([("share", "int", "part", "long"), ("name", "string", "name", "string")])
    assert [row["name"] for row in rows(moved.filter(lambda row: row["part"] != 0))] == ["b", "d"]
    again = DynamicFrame.fromDF(people.toDF(), glue_context, "again")
    assert [row["name"] for row in rows(again.filter(lambda row: row["share"] != 0))] == ["b", "c", "d"]
    assert not any("sparse" in key for field in people.toDF().schema for key in field.metadata)

    def older(row: Any) -> Any:
        if "share" in row:
            row["older"] = (row["age"] or 0) + 1
        return row

    mapped = people.map(older)
    assert [row["older"] for row in rows(mapped)] == [1, 4, None, 1]
    assert [row["name"] for row in rows(mapped.filter(lambda row: row["older"] != 1))] == ["b"]
    # A row of a database that is null there is not one that lacks the field, whichever frame is first.
    stored = DynamicFrame.fromDF(
        glue_context.createDataFrame([("e", None)], "name STRING, share INT"), glue_context, "stored"
    )
    for both in (
        people.select_fields(["name", "share"]).union(stored),
        stored.union(people.select_fields(["name", "share"])),
    ):
        assert sorted(row["name"] for row in rows(both.filter(lambda row: row["share"] is None))) == ["c", "e"]
    wider = g.StructType([g.Field("more", g.DateType())])
    assert [row["name"] for row in rows(people.with_frame_schema(lambda: wider).filter(lambda row: "share" not in row))] == [
        "c"
    ]


def test_a_field_that_was_mapped_has_its_new_type_for_the_next_mapping(glue_context: GlueContext) -> None:
    """Of a stream all integers are longs, which a mapping may call ints, but not once they are ints."""
    arrived = json_frame(glue_context.createDataFrame([('{"n": 7}',)], "text STRING"), "text", wide=True).frame
    small = (
        DynamicFrame.fromDF(arrived, glue_context, "arrived").map(lambda row: row).apply_mapping([("n", "int", "n", "int")])
    )
    assert [row["n"] for row in rows(small.apply_mapping([("n", "int", "n", "string")]))] == ["7"]
