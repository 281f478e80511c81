"""Pipelines of a folder."""

from pathlib import Path

import pytest

from penstock.errors import InvalidInput
from penstock.pipelines.folder import read_pipelines


def _write(folder: Path, file: str, name: str, root: str) -> None:
    (folder / file).write_text(f"""
name: {name}
source: {{kafka: {{brokers: "b:9092", topic: t, security_protocol: PLAINTEXT}}}}
decode: {{registry: r, schema: s}}
sink: {{parquet: {{location: "{root}/rows"}}}}
dead_letters: {{location: "{root}/dead"}}
checkpoint: {root}/checkpoint
""")


def test_all_files_of_a_folder_are_read_by_name(tmp_path: Path) -> None:
    _write(tmp_path, "b.yaml", "second", "s3://lake/b")
    _write(tmp_path, "a.yml", "first", "s3://lake/a")
    (tmp_path / "notes.txt").write_text("not a pipeline")
    (tmp_path / ".hidden.yaml").write_text("an editor's copy")
    assert [pipeline.name for pipeline in read_pipelines(tmp_path, {})] == ["first", "second"]


def test_an_empty_folder_says_what_it_should_have(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=rf"The folder {tmp_path} has no pipeline\. Pipelines are files \*\.yaml"):
        read_pipelines(tmp_path, {})


@pytest.mark.parametrize(
    ("name", "root", "message"),
    [
        ("first", "s3://lake/b", r"a\.yaml and .*b\.yaml declare pipelines of the same name, first"),
        ("second", "s3://lake/a", r"b\.yaml: the location of sink \(s3://lake/a/rows\) is that of sink of first"),
        ("second", "s3://lake/a/rows/x", r"or one is inside the other"),
    ],
)
def test_pipelines_must_be_separate(tmp_path: Path, name: str, root: str, message: str) -> None:
    _write(tmp_path, "a.yaml", "first", "s3://lake/a")
    _write(tmp_path, "b.yaml", name, root)
    with pytest.raises(InvalidInput, match=message):
        read_pipelines(tmp_path, {})
