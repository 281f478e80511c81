"""What a cluster's executors import: the parts of Penstock that functions of DynamicFrames run there, as one archive.

Executors have a Python of their own, without Penstock. Spark unpacks archives in their working folder:
https://spark.apache.org/docs/latest/api/python/user_guide/python_packaging.html. All that is needed is pure Python.
"""

import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

__all__ = ["write_library"]

_PACKAGES = ("penstock", "awsglue", "awsgluedq", "awsglueml", "lazy_loader")
_ENDINGS = {".py", ".pyi"}


def write_library(path: Path) -> Path:
    """Write the archive to ``path`` and return it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file, name in _files():
            archive.write(file, name)
    return path


def _files() -> Iterator[tuple[Path, Path]]:
    for package in _PACKAGES:
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        folder = Path(spec.origin).parent
        for file in sorted(folder.rglob("*")):
            if file.suffix in _ENDINGS:
                yield file, file.relative_to(folder.parent)
