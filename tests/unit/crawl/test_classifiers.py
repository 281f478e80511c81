"""Custom classifiers over files: grok, XML, JSON paths and delimited text by rules."""

import gzip
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from penstock.crawl.classifiers.grok import Grok
from penstock.crawl.classifiers.model import Classifier, recognizer_of
from penstock.crawl.classifiers.service import ClassifierService
from penstock.crawl.errors import ClassifierExists, ClassifierNotFound
from penstock.crawl.formats.sample import Sample
from penstock.crawl.model import S3Target
from penstock.crawl.service import CrawlService
from penstock.errors import DataProblem, InvalidInput
from penstock.store.sql.resources import SqlResourceStore
from penstock.testing.sqlite import new_database
from tests.unit.crawl.crawl_world import NOW, Unchecked, World

# Apache HTTP server documentation, "Log Files": its examples of the common and the combined log format.
COMMON = '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326'
COMBINED = f'{COMMON} "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"'


def columns(kind: Any, text: str, **settings: Any) -> dict[str, str | None] | None:
    made = Classifier(name="c", kind=kind, settings=settings, created=NOW, updated=NOW)
    recognized = recognizer_of(made)(Sample(text.encode(), True, len(text)), text)
    return None if recognized is None else {column.name: column.type for column in recognized.columns}


def grok(text: str, pattern: str, custom: str = "") -> dict[str, str | None] | None:
    return columns("grok", text, Classification="log", GrokPattern=pattern, CustomPatterns=custom)


def test_grok_takes_apaches_logs_apart_by_the_built_in_patterns() -> None:
    common = ["clientip", "ident", "auth", "timestamp", "verb", "request", "httpversion", "rawrequest", "response", "bytes"]
    assert grok(COMMON, "%{COMMONAPACHELOG}") == dict.fromkeys(common, "string")
    assert list(grok(COMBINED, "%{COMBINEDAPACHELOG}") or {}) == [*common, "referrer", "agent"]
    typed = grok(COMMON, "%{COMMONAPACHELOG_DATATYPED}") or {}
    assert (typed["response"], typed["bytes"], typed["httpversion"]) == ("int", "bigint", "float")
    assert grok(COMMON, "%{COMBINEDAPACHELOG}") is None


@pytest.mark.parametrize(
    ("pattern", "given", "other"),
    [
        ("IPV6", "2001:db8::ff00:42:8329", "2001:db8:::1"),
        ("IPV6", "::1", "1:2"),
        ("IPV6", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9"),
        ("IPV6", "fe80::7%eth0", "fe80:g::7"),
        ("IPV6", "::ffff:192.0.2.128", "::ffff:192.0.2.300"),
        ("IPV4", "192.0.2.255", "192.0.2.256"),
        ("MAC", "00-14-22-01-23-45", "00-14-22-01-23"),
        ("UUID", "123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456"),
        ("TIMESTAMP_ISO8601", "2013-01-01T05:17:00.5Z", "2013-13-01T05:17:00Z"),
        ("HTTPDATE", "10/Oct/2000:13:55:36 -0700", "10/Okt/2000:13:55:36 -0700"),
        ("QUOTEDSTRING", r'"a \" b"', '"a'),
        ("URI", "https://example.org:8080/a?b=c", "//example.org"),
        ("LOGLEVEL", "Warning", "loud"),
        ("BASE10NUM", "-1.5", "1.5.2"),
        ("SYSLOGBASE", "Oct 11 22:14:15 mymachine su[230]:", "22:14:15 mymachine"),
    ],
)
def test_built_in_patterns_match_what_their_names_say(pattern: str, given: str, other: str) -> None:
    whole = Grok.compiled("log", f"^%{{{pattern}:it}}$")
    assert list(whole.matches([given, other])) == [True, False]


def test_grok_has_types_custom_patterns_and_named_groups() -> None:
    text = "7 AB-1 true\n8 CD-2 false\n\nstack trace\n"
    custom = "# ours\nTICKET (?<team>[A-Z]{2})-%{INT:number:int}"
    results = grok(text, "%{INT:id:long} %{TICKET:ticket} %{BOOLEAN:Open:boolean}", custom)
    assert results == {"id": "bigint", "ticket": "string", "team": "string", "number": "int", "open": "boolean"}
    assert grok("one\ntwo\n7 x\n", "%{INT:id} %{WORD:w}") is None


@pytest.mark.parametrize(
    ("pattern", "custom", "message"),
    [
        ("%{NOPE:x}", "", "NOPE is not known"),
        ("%{A:x}", "A %{B}\nB %{A}", "refers to itself"),
        ("%{INT}", "", "has no field"),
        ("%{INT:x:text}", "", "has the type text"),
        ("%{WORD:a} (?!b)", "", "cannot be used"),
        (r"%{WORD:a} \1", "", "cannot be used"),
        ("%{WORD:a} )(", "", "cannot be used"),
        ("%{A9:x}", "\n".join(["A0 ab", *(f"A{n} " + f"%{{A{n - 1}}}" * 8 for n in range(1, 10))]), "more than"),
    ],
)
def test_a_grok_pattern_that_cannot_be_matched_in_bounds_is_refused(pattern: str, custom: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        grok("x", pattern, custom)


def test_nested_repetitions_do_not_backtrack() -> None:
    # Exponential for a backtracking matcher: 5,000 characters would not end.
    assert grok("a" * 5_000 + "!", "^(?<all>(a+)+)$") is None


def test_rows_of_xml_have_attributes_and_elements() -> None:
    text = (
        '<?xml version="1.0"?><books xmlns="urn:b"><book id="7" open="true"><title>A</title><price>1.5</price>'
        '<author>X</author><author>Y</author><from place="Bern">1999</from></book><book id="8"><title/></book></books>'
    )
    assert columns("xml", text, Classification="xml", RowTag="book") == {
        "id": "int", "open": "boolean", "title": "string", "price": "double", "author": "array<string>",
        "from": "struct<place:string,_value:int>",
    }  # fmt: skip
    assert columns("xml", text, Classification="xml", RowTag="shelf") is None
    assert columns("xml", '{"a": 1}', Classification="xml", RowTag="a") is None
    with pytest.raises(InvalidInput, match="RowTag"):
        columns("xml", text, Classification="xml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<!DOCTYPE a [<!ENTITY x "y">]><a><b>&x;</b></a>', "document type"),
        ("<a><b>1</b>", "damaged, or cut off"),
        ("<a>" * 100 + "</a>" * 100, "more than 64 levels"),
    ],
)
def test_xml_without_rows_is_a_problem_of_its_file(text: str, message: str) -> None:
    with pytest.raises(DataProblem, match=message):
        columns("xml", text, Classification="xml", RowTag="b")


def test_a_json_path_names_the_records() -> None:
    text = '{"meta": 1, "rows": [{"id": 1}, {"id": 2, "on": true}]}'
    assert columns("json", text, JsonPath="$.rows[*]") == {"id": "int", "on": "boolean"}
    with pytest.raises(InvalidInput, match="JSON path"):
        columns("json", text, JsonPath="rows[?(@.id>1)]")


def test_rules_of_delimited_text() -> None:
    typed = {"CustomDatatypeConfigured": True, "CustomDatatypes": ["INT", "DATE"]}
    assert columns("csv", "1^2013-01-01\n", Delimiter="^", ContainsHeader="ABSENT", Header=["Id", "Day"], **typed) == {
        "id": "int", "day": "date"
    }  # fmt: skip
    assert columns("csv", "1^2^3\n", Delimiter="^", ContainsHeader="ABSENT", **typed) is None
    assert columns("csv", "a\nb\n", AllowSingleColumn=True, ContainsHeader="PRESENT", Delimiter=",") == {"a": "string"}
    for wrong in ({"Delimiter": '"'}, {"CustomDatatypes": ["INT"]}, {"Header": ["a", "A"]},
                  {"CustomDatatypeConfigured": True, "CustomDatatypes": ["MONEY"]}):  # fmt: skip
        with pytest.raises(InvalidInput):
            columns("csv", "a,b\n", **wrong)


@pytest.fixture
def classifiers(world: World) -> ClassifierService:
    made = ClassifierService(SqlResourceStore(new_database()))
    world.crawls.close()
    world.crawls = CrawlService(world.store, world.catalog, world.lake, classifiers=made, access=Unchecked)
    return made


def test_a_crawl_with_classifiers_reads_files_again_when_they_change(world: World, classifiers: ClassifierService) -> None:
    folder = world.lake.root / "lake/flights"
    folder.mkdir()
    (folder / "a.log.gz").write_bytes(gzip.compress(f"{COMMON}\n{COMMON}\n".encode()))
    classifiers.create("apache", "grok", {"Classification": "access", "GrokPattern": "%{COMMONAPACHELOG}"})
    world.crawler(classifiers=("apache",))
    assert world.crawl().message is None
    table = world.catalog.table("air", "flights")
    serde = table.storage.serde_info
    assert serde is not None
    assert serde.serialization_library == "com.amazonaws.glue.serde.GrokSerDe"
    assert dict(serde.parameters)["input.format"] == "%{COMMONAPACHELOG}"
    assert (table.parameters["classification"], table.parameters["compressionType"]) == ("access", "gzip")
    assert world.crawl().tally.files_read == 0
    classifiers.update("apache", "grok", {"GrokPattern": "%{IPORHOST:Client} %{GREEDYDATA:rest}"})
    assert world.crawl().tally.files_read == 1
    assert world.columns() == {"client": "string", "rest": "string"}
    classifiers.delete("apache")
    last = world.crawl()
    assert (last.status, "apache does not exist" in (last.message or "")) == ("FAILED", True)


def test_classifiers_are_kept_by_name(world: World, classifiers: ClassifierService) -> None:
    classifiers.create("j", "json", {"JsonPath": "$.a"})
    with pytest.raises(ClassifierExists):
        classifiers.create("j", "json", {"JsonPath": "$.a"})
    with pytest.raises(InvalidInput, match="of the kind json"):
        classifiers.update("j", "xml", {"RowTag": "a"})
    classifiers.update("j", "json", {"JsonPath": "$.b"})
    assert (classifiers.get("j").version, classifiers.get("j").settings) == (2, {"JsonPath": "$.b"})
    with pytest.raises(ClassifierNotFound):
        world.crawler(classifiers=("j", "k"))


def test_a_sample_is_the_first_files_of_each_folder(world: World) -> None:

    for name, kind in (("c", pa.string()), ("b", pa.int64()), ("a", pa.int64())):
        world.write(f"flights/{name}.parquet", id=pa.array([None], kind))
    world.crawler(targets=(S3Target(path="s3://lake/flights/", extra={"SampleSize": 2}),))
    assert world.crawl().tally.files_read == 2
    assert world.columns() == {"id": "bigint"}
    with pytest.raises(InvalidInput, match="SampleSize 250"):
        world.crawls.update("c", lambda crawler: _sampling(crawler, 250))


def _sampling(crawler: Any, size: int) -> Any:

    return replace(crawler, targets=(S3Target(path="s3://lake/flights/", extra={"SampleSize": size}),))


def test_grok_takes_lines_apart() -> None:
    grok = Grok.compiled("log", "%{IP:client} %{WORD:verb}(?: %{NUMBER:bytes:int})? (?<rest>%{WORD:inner}.*) %{IP:client}")
    assert [column.name for column in grok.columns] == ["client", "verb", "bytes", "rest", "inner"]
    lines = ["10.0.0.1 GET 12 a-b 10.0.0.2", "- 10.0.0.1 PUT x, 10.0.0.3 -", "no line of that kind"]
    assert grok.fields(lines) == [
        {"client": "10.0.0.1", "verb": "GET", "bytes": "12", "rest": "a-b", "inner": "a"},
        {"client": "10.0.0.1", "verb": "PUT", "bytes": "", "rest": "x,", "inner": "x"},
        None,
    ]
