"""The files section of a source, and what it refuses."""

from pathlib import Path

import pytest

from penstock.errors import InvalidInput
from penstock.pipelines.sources.files import FileSource, files_source
from penstock.settings.document import load_document


def source(text: str) -> FileSource:
    section = load_document(text, origin="p.yaml", environment={})
    file_source = files_source(section, Path("/pipelines"))
    section.done()
    return file_source


def test_defaults_and_sparks_names() -> None:
    assert source("location: dead") == FileSource(location="/pipelines/dead")
    text = "path: s3://lake/dead\nformat: avro\nvalue: body\nkey: id\npathGlobFilter: '*.avro'\nmaxFilesPerTrigger: 3"
    assert source(text) == FileSource(
        location="s3://lake/dead", format="avro", value="body", key="id", glob="*.avro", max_files_per_trigger=3
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("format: json", r"p\.yaml:1: 'location' is missing"),
        ("location: a\nformat: csv", r"p\.yaml:2: .*it can be parquet, avro, json, binary"),
        ("location: a\nmaxFilesPerTrigger: 1\nmaxBytesPerTrigger: 1", r"exclude each other"),
        ("location: a\nformat: json\nvalue: body", r"json files have no columns to name"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        source(text)
