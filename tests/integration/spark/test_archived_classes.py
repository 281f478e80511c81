"""Spark's JVM maps the archive that set-up made, and starts without one that does not fit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.platform.fetch import spark_archive
from penstock.local.java import find_java
from penstock.spark.session import SessionSettings, _java_options

_SESSION = """
import sys
from pathlib import Path
from penstock.local.artefacts import class_path
from penstock.spark.session import SessionSettings, open_session

archive, folder = map(Path, sys.argv[1:])
logging = {"spark.driver.defaultJavaOptions": f"-Xlog:class+load:file={folder}/classes.log"}
settings = SessionSettings(
    master="local[1]", jars=class_path("spark"), log=folder / "spark.log", archive=archive, extra=logging
)
session = open_session(settings, name="archive", locations=[])
print(session.range(10).count())
session.stop()
"""


def mapped_classes(archive: Path, folder: Path) -> int:
    """Start Spark with ``archive`` and count the classes that came from it."""
    done = subprocess.run(
        [sys.executable, "-c", _SESSION, str(archive), str(folder)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.stdout.split()[-1:] == ["10"], done.stderr
    lines = (folder / "classes.log").read_text(errors="replace").splitlines()
    return sum("shared objects file (top)" in line for line in lines)


@pytest.mark.spark
@pytest.mark.jvm
def test_sparks_classes_come_from_the_archive(tmp_path: Path) -> None:
    archive = spark_archive(find_java(os.environ).home)
    assert archive.is_file(), "penstock fetch makes it"
    assert mapped_classes(archive, tmp_path) > 3_000


@pytest.mark.spark
@pytest.mark.jvm
def test_an_archive_that_does_not_fit_is_left_alone(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsa"
    broken.write_bytes(b"no archive")
    assert mapped_classes(broken, tmp_path) == 0


def test_nothing_is_printed_of_an_archive_that_does_not_fit(tmp_path: Path) -> None:
    """Standard output is the user's, in a shell and in a script."""
    java = find_java(os.environ)
    settings = SessionSettings(
        master="local[1]", jars=[], log=tmp_path / "spark.log", archive=spark_archive(java.home)
    )  # made for a class path with the connectors
    options = [option.strip('"') for option in _java_options(settings, tmp_path / "log4j2.properties")]
    assert "-Xshare:auto" in options, "penstock fetch makes the archive"
    command = [str(java.home / "bin/java"), *options, "-version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
