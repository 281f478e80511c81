"""Where class archives are kept, and that they go with what they were made for."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from penstock.errors import EnvironmentProblem
from penstock.spark.archive import class_archive, make_class_archive


@pytest.fixture
def java(tmp_path: Path) -> Path:
    home = tmp_path / "java"
    home.mkdir()
    (home / "release").write_text('JAVA_VERSION="17.0.1"')
    return home


def test_each_java_and_class_path_has_its_own(java: Path, tmp_path: Path) -> None:
    jars = [tmp_path / "a.jar", tmp_path / "b.jar"]
    for jar in jars:
        jar.write_bytes(b"x")
    first = class_archive(tmp_path, java, jars)
    assert class_archive(tmp_path, java, jars) == first
    assert class_archive(tmp_path, java, jars[:1]) != first
    (java / "release").write_text('JAVA_VERSION="17.0.2"')
    assert class_archive(tmp_path, java, jars) != first


def test_files_that_were_installed_again_need_another_archive(java: Path, tmp_path: Path) -> None:
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"x")
    first = class_archive(tmp_path, java, [jar])
    os.utime(jar, (1, 1))
    assert class_archive(tmp_path, java, [jar]) != first, "the JVM compares the times of files"


def test_what_cannot_be_made_is_said_and_leaves_nothing(java: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    archive = class_archive(folder, java, [])
    with pytest.raises(EnvironmentProblem, match="cannot be made: the training run failed"):
        make_class_archive(archive, java, [])
    assert list(folder.iterdir()) == []


def test_archives_of_environments_that_are_gone_are_removed(java: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    stamp = hashlib.sha256(b"").hexdigest()[:16]  # of an installation without files
    homes = {"spark-gone": tmp_path / "gone", "spark-changed": tmp_path / "changed", "spark-new": tmp_path}
    (tmp_path / "changed/jars").mkdir(parents=True)
    (tmp_path / "changed/jars/spark.jar").write_bytes(b"x")
    for name, spark in homes.items():
        (folder / f"{name}.jsa").write_bytes(b"x")
        (folder / f"{name}.json").write_text(json.dumps({"spark": str(spark), "stamp": stamp}))
    (folder / "spark-earlier.json").write_text(json.dumps({"spark": str(tmp_path)}))  # as Penstock wrote it before
    with pytest.raises(EnvironmentProblem):
        make_class_archive(class_archive(folder, java, []), java, [])
    assert sorted(path.name for path in folder.iterdir()) == ["spark-new.jsa", "spark-new.json"]
