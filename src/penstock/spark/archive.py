"""A class archive for Spark's JVM: the classes of every start, stored to be mapped into memory (the JDK's AppCDS).

Loading some 20,000 classes is two thirds of the start of a small pipeline. A training run, a small stream from Avro to
Parquet in its own process, makes the archive once for an environment. It only saves time: a JVM starts without it if it
is missing, or made for another JDK or class path, whose files' times count, too.
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark

from penstock import durable
from penstock.durable import PRIVATE_UMASK
from penstock.errors import EnvironmentProblem
from penstock.interpreter import python_module

__all__ = ["class_archive", "make_class_archive"]

_SECONDS = 300


def class_archive(folder: Path, java_home: Path, jars: Sequence[Path]) -> Path:
    """Return the path in ``folder`` of the archive for this JDK, this Spark and ``jars``, which may not exist."""
    release = java_home / "release"
    parts = [
        str(java_home.resolve()),
        release.read_text() if release.is_file() else "",
        str(_spark_home()),
        pyspark.__version__,
        _stamp(_spark_home()),
        *map(_stamp_of, jars),
    ]
    return folder / f"spark-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}.jsa"


def make_class_archive(archive: Path, java_home: Path, jars: Sequence[Path]) -> None:
    """Make ``archive`` (160 MB, half a minute) and remove those of environments that do not exist any more.

    Raises :class:`EnvironmentProblem` if it cannot be made; an earlier archive then stays.
    """
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        _remove_orphans(archive.parent)
        with TemporaryDirectory(prefix=".making-", dir=archive.parent) as scratch:
            file = Path(scratch) / archive.name
            _train(file, java_home, jars, Path(scratch))
            with durable.writing(archive.with_suffix(".json")) as note:
                note.write(json.dumps({"spark": str(_spark_home()), "stamp": _stamp(_spark_home())}).encode())
            durable.replace(file, archive)
    except OSError as error:
        raise EnvironmentProblem(f"Spark's class archive in {archive.parent} cannot be made: {error.strerror}.") from error


def _spark_home() -> Path:
    return Path(pyspark.__file__).resolve().parent


def _stamp_of(jar: Path) -> str:
    """Return what the JVM compares of a file of the class path: its path, size in bytes and time of change."""
    status = jar.stat()
    return f"{jar}:{status.st_size}:{status.st_mtime_ns}"


def _stamp(spark_home: Path) -> str:
    """Return a digest of the stamps of Spark's own files, which another installation at the same path changes."""
    stamps = sorted(map(_stamp_of, (spark_home / "jars").glob("*.jar")))
    return hashlib.sha256("\0".join(stamps).encode()).hexdigest()[:16]


def _train(file: Path, java_home: Path, jars: Sequence[Path], scratch: Path) -> None:
    log = scratch / "training.log"
    command = python_module("penstock.spark.training_run", str(file), str(scratch), *map(str, jars))
    environment = {**os.environ, "JAVA_HOME": str(java_home)}
    with log.open("wb") as output:
        try:
            result = subprocess.run(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=_SECONDS,
                check=False,
                umask=PRIVATE_UMASK,
            ).returncode
        except subprocess.TimeoutExpired:
            result = -1
    if result != 0 or not file.is_file():
        last = log.read_text(errors="replace").strip().splitlines()[-1:] or ["no output"]
        raise EnvironmentProblem(f"Spark's class archive cannot be made: the training run failed ({last[0][:300]}).")


def _remove_orphans(folder: Path) -> None:
    for note in folder.glob("spark-*.json"):
        try:
            made_for = json.loads(note.read_text())
            spark_home = Path(made_for["spark"])
            orphaned = not spark_home.is_dir() or _stamp(spark_home) != made_for["stamp"]
        except (ValueError, KeyError):
            orphaned = True
        if orphaned:
            note.with_suffix(".jsa").unlink(missing_ok=True)
            note.unlink(missing_ok=True)
