"""What the driver of a cluster needs: an archive with Penstock, its Python packages and the pipeline, and a script.

Spark's documentation ships Python dependencies as an archive (``--archives``, ``spark.archives``) that is unpacked in the
driver's working folder: https://spark.apache.org/docs/latest/api/python/user_guide/python_packaging.html. An archive of a
virtual environment would have links to an interpreter of this machine. So this one has the packages only, and the
cluster's Python, of the same minor version, runs them. PySpark is left out: it is the cluster's.
"""

import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import penstock

__all__ = ["ARCHIVE", "FOLDER", "SCRIPT", "Bundle", "write_bundle"]

FOLDER = "penstock_bundle"
"""The folder into which the archive is unpacked, in the driver's working folder."""
ARCHIVE = "penstock-bundle.tar.gz"
SCRIPT = "penstock_driver.py"

_OF_THE_CLUSTER = {"pyspark", "py4j"}
_DRIVER = '''"""Starts a pipeline of Penstock in a cluster's driver. Written by penstock submit."""

import os
import sys

if sys.version_info[:2] != {version}:
    sys.exit("The driver's Python is %d.%d, the archive is for {shown}: use a Python {shown}." % sys.version_info[:2])
sys.path.insert(0, os.path.abspath("{folder}/lib"))

from penstock.spark.running.driver import main

main(["{folder}/pipeline.yaml", *sys.argv[1:]])
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """The files that a cluster gets."""

    archive: Path
    script: Path


def write_bundle(folder: Path, pipeline: Path) -> Bundle:
    """Write the archive and the script below ``folder``, for the pipeline in the file ``pipeline``."""
    folder.mkdir(parents=True, exist_ok=True)
    bundle = Bundle(archive=folder / ARCHIVE, script=folder / SCRIPT)
    with tarfile.open(bundle.archive, "w:gz", compresslevel=1) as archive:
        archive.add(pipeline, "pipeline.yaml")
        archive.add(Path(penstock.__file__).parent, "lib/penstock", filter=_without_caches)
        for path, name in _files():
            archive.add(path, f"lib/{name}", recursive=False)
    version = sys.version_info[:2]
    bundle.script.write_text(_DRIVER.format(version=version, shown="{}.{}".format(*version), folder=FOLDER))
    return bundle


def _without_caches(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "__pycache__" in entry.name else entry


def _files() -> Iterator[tuple[Path, str]]:
    """Return the files of all packages of the extra ``spark``, with their names below the folder of packages."""
    for package in _distributions():
        for file in package.files or ():
            path = Path(str(file.locate()))
            if not str(file).startswith("..") and "__pycache__" not in file.parts and path.is_file():
                yield path, str(file)


def _distributions() -> list[Distribution]:
    todo, visited, packages = [("penstock", "spark")], set[tuple[str, str]](), dict[str, Distribution]()
    while todo:
        name, extra = todo.pop()
        name = canonicalize_name(name)
        if (name, extra) in visited or name in _OF_THE_CLUSTER:
            continue
        visited.add((name, extra))
        try:
            package = distribution(name)
        except PackageNotFoundError:  # for another platform or Python
            continue
        if name != "penstock":
            packages[name] = package
        for line in package.requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                todo += [(requirement.name, extra_name) for extra_name in ("", *requirement.extras)]
    return [packages[name] for name in sorted(packages)]
