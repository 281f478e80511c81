"""What Glue scripts read from files: formats, their options, and which files are taken."""

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from awsglue.context import GlueContext
from penstock.errors import InvalidInput, NotFound

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def glue(spark: SparkSession) -> GlueContext:
    return GlueContext(spark.sparkContext)


def put(folder: Path, name: str, text: str, *, at: int | None = None) -> str:
    """Write a file, changed ``at`` seconds since 1970, and return its address."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    if at is not None:
        os.utime(file, (at, at))
    return file.as_uri()


def rows(glue: GlueContext, paths: Any, form: str, format_options: Any = None, **options: Any) -> list[dict[str, Any]]:
    given = {"paths": [paths] if isinstance(paths, str) else paths, **options}
    frame = glue.create_dynamic_frame.from_options("s3", given, format=form, format_options=format_options or {})
    return [row.asDict(recursive=True) for row in frame.toDF().collect()]


def test_csv_is_text_and_its_options_are_glues(glue: GlueContext, tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", 'id,na me\n1,"x ""y"", z"\n2,\n3\n')
    # Every value is text: an empty field an empty one, a missing field null.
    assert rows(glue, path, "csv", {"withHeader": True}) == [
        {"id": "1", "na me": 'x "y", z'},
        {"id": "2", "na me": ""},
        {"id": "3", "na me": None},
    ]
    assert rows(glue, path, "csv")[0] == {"col0": "id", "col1": "na me"}
    assert rows(glue, path, "csv", {"skipFirst": True})[0] == {"col0": "1", "col1": 'x "y", z'}
    path = put(tmp_path, "b.csv", "'a|1'|\"b\n1|'x\ny'\n")
    assert rows(glue, path, "csv", {"separator": "|", "quoteChar": "'", "multiLine": True}) == [
        {"col0": "a|1", "col1": '"b'},
        {"col0": "1", "col1": "x\ny"},
    ]
    for off in ("-1", -1):
        assert rows(glue, put(tmp_path, "c.csv", '"a",b\n'), "csv", {"quoteChar": off}) == [{"col0": '"a"', "col1": "b"}]
    escaped = put(tmp_path, "d.csv", r'"a\"b",c' + "\n")
    assert rows(glue, escaped, "csv", {"escaper": "\\"}) == [{"col0": 'a"b', "col1": "c"}]
    # A value more than the header has would be lost, as would columns in another order.
    with pytest.raises(Exception, match="more than 2 fields: 4,5,6"):
        rows(glue, put(tmp_path, "e.csv", "a,b\n4,5,6\n"), "csv", {"withHeader": True})
    # ... also where the last column's own value is empty, or in quotes.
    for number, line in enumerate(["4,,6", '"4,5",,', '"4""5"x,,6', '"4\n5","",6']):
        with pytest.raises(Exception, match="more than 2 fields"):
            rows(glue, put(tmp_path, f"g{number}.csv", f"a,b\n{line}\n"), "csv", {"withHeader": True, "multiLine": True})
    short = put(tmp_path, "h.csv", 'a;;b;;c\n"4;;""5;;6"\n;;\n')
    assert rows(glue, short, "csv", {"withHeader": True, "separator": ";;"}) == [
        {"a": '4;;"5;;6', "b": None, "c": None},
        {"a": None, "b": None, "c": None},
    ]
    other = [put(tmp_path, "f/1.csv", "a,b\n1,2\n"), put(tmp_path, "f/2.csv", "b,a\n1,2\n")]
    with pytest.raises(Exception, match="CSV header does not conform"):
        rows(glue, other, "csv", {"withHeader": True})


def test_json_records_are_lines_elements_and_what_a_path_names(glue: GlueContext, tmp_path: Path) -> None:
    path = put(tmp_path, "a.json", '[{"a": 1}, {"a": 2, "b": {"c": "x"}}]\n\n{"a": 3}\n')
    assert [row["a"] for row in rows(glue, path, "json")] == [1, 2, 3]
    whole = put(tmp_path, "b.json", '{"n": 2,\n "items": [\n  {"id": "p"},\n  {"id": "q"}\n]}\n')
    results = rows(glue, whole, "json", {"multiLine": "true", "jsonPath": "$.items[*]"})
    assert results == [{"id": "p"}, {"id": "q"}]
    assert rows(glue, whole, "json", {"multiline": True})[0]["n"] == 2
    frame = glue.create_data_frame.from_options("s3", {"paths": [path]}, format="json")
    assert sorted(frame.columns) == ["a", "b"]
    with pytest.raises(InvalidInput, match="jsonPath"):
        rows(glue, whole, "json", {"jsonPath": "$.items[?(@.id == 'p')]"})


def test_parquet_orc_avro_and_xml(glue: GlueContext, tmp_path: Path) -> None:
    made = glue.createDataFrame([(1, "x", "de"), (2, "y", "fr")], "id INT, name STRING, land STRING")
    for form in ("parquet", "orc", "avro"):
        folder = tmp_path / form
        made.write.partitionBy("land").format(form).save(folder.as_uri())
        results = rows(glue, folder.as_uri(), form, recurse=True)
        with_folders = form != "avro"
        expected = [{"id": 1, "name": "x", "land": "de"}, {"id": 2, "name": "y", "land": "fr"}]
        assert sorted(results, key=lambda row: row["id"]) == [
            {name: value for name, value in row.items() if with_folders or name != "land"} for row in expected
        ]
    frame = glue.create_dynamic_frame.from_options(
        "parquet", {"paths": [(tmp_path / "parquet").as_uri()]}, push_down_predicate="land == 'de'"
    )
    assert frame.count() == 1
    with pytest.raises(InvalidInput, match=r"\(land = 'de'\) cannot be resolved against id, name\. Folders"):
        rows(glue, (tmp_path / "avro").as_uri(), "avro", recurse=True, partitionPredicate="land = 'de'")
    path = put(tmp_path, "a.xml", '<all><book id="1"><title> A </title></book><book id="2"><title/></book></all>')
    results = rows(glue, path, "xml", {"rowTag": "book", "ignoreSurroundingSpaces": True, "treatEmptyValuesAsNulls": True})
    assert results == [{"_id": 1, "title": "A"}, {"_id": 2, "title": None}]


def test_logs_are_taken_apart_by_grok(glue: GlueContext, tmp_path: Path) -> None:
    log = '10.0.0.1 - ann [22/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 512\n\n{"a": 1}\n10.0.0.2 - - [x] "-" 404 -\n'
    path = put(tmp_path, "a.log", log)
    options = {"logFormat": r"%{IP:client} - %{NOTSPACE:user} \[%{DATA:at}\] .* %{CODE:code:int} %{NOTSPACE:size:long}"}
    given = {**options, "customPatterns": r"CODE \d{3}", "attachFilename": "file"}
    frame = glue.create_dynamic_frame.from_options("s3", {"paths": [path]}, format="grokLog", format_options=given)
    results = [row.asDict() for row in frame.toDF().drop("file").collect()]
    # What the pattern does not match is an error record, though it is JSON.
    assert results == [
        {"client": "10.0.0.1", "user": "ann", "at": "22/Nov/2026:10:00:00 +0000", "code": 200, "size": 512},
        {"client": "10.0.0.2", "user": None, "at": "x", "code": 404, "size": None},
    ]
    assert frame.errorsCount() == 1
    assert {row["file"].rpartition("/")[2] for row in frame.toDF().collect()} == {"a.log"}


def test_files_are_chosen_by_glues_options(glue: GlueContext, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = tmp_path.as_uri()
    for number, name in enumerate(["a.json", "b.json", "deep/c.json", "deep/d.tmp", "_hidden.json", "e.json.gz"]):
        put(tmp_path, name, f'{{"n": {number}}}\n', at=1_700_000_000 - number)

    def numbers(paths: Any = root, **options: Any) -> list[int]:
        return sorted(row["n"] for row in rows(glue, paths, "json", **options))

    assert numbers() == [0, 1, 5]
    assert numbers(recurse=True, groupFiles="inPartition", groupSize="1048576") == [0, 1, 2, 3, 5]
    assert numbers(recurse=True, exclusions='["**.tmp", "b.*"]') == [0, 2, 5]
    assert numbers(recurse=True, exclusions=[f"{root}/deep/**"]) == [0, 1, 5]
    # The oldest files, up to the bound.
    assert numbers(recurse=True, boundedFiles="2") == [3, 5]
    assert numbers(recurse=True, boundedSize=1) == [5]
    assert numbers([f"{root}/a.json", f"{root}/deep/", f"{root}/nothing/"]) == [0, 2, 3]
    assert numbers(f"{root}/nothing/") == []
    assert numbers(f"{root}/e.json.gz", compressionType="gzip") == [5]
    (row,) = rows(glue, f"{root}/a.json", "json", {"attachFilename": "file", "attachTimestamp": "at"})
    assert (row["file"].rpartition("/")[2], row["at"].timestamp()) == ("a.json", 1_700_000_000)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"compressionType": "gzip"}, "does not end in .gz"),
        ({"exclusions": "**.pdf"}, "exclusions is"),
    ]
    for options, why in wrong:
        with pytest.raises(InvalidInput) as caught:
            numbers(**options)
        assert why in str(caught.value)
    # What AWS ignores is ignored, and said.
    assert numbers(recurs=True, gzip=True, jobBookmarkKeys=["n"]) == [0, 1, 5]
    assert "The s3 source ignores gzip, jobBookmarkKeys (it is an option of" in caplog.text
    assert "recurs (did you mean recurse?), as AWS does." in caplog.text
    with pytest.raises(NotFound, match="Bucket nowhere of s3://nowhere/x does not exist"):
        numbers("s3://nowhere/x")
    for form, why in [
        ("ion", "Format ion is not supported"),
        ("grokLog", "needs the option logFormat"),
        (None, "needs a format"),
    ]:
        with pytest.raises(InvalidInput) as caught:
            glue.create_dynamic_frame.from_options("s3", {"paths": [root]}, format=form)
        assert why in str(caught.value)
