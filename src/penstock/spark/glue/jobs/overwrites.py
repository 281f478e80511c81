"""An overwrite of the files that are being read, which Spark begins by deleting them.

A published compaction job is ``spark.read.parquet(path)...write.mode("overwrite").save(path)``. Spark deletes the files,
then fails to read them, and the data are gone. Here the new files are written beside the old ones first; then the files that
were read are replaced by them. Files that came meanwhile stay. Nothing but such overwrites is touched.
"""

import inspect
import uuid
from functools import wraps
from typing import Any

from pyspark.sql.readwriter import DataFrameWriter

from penstock.spark.hadoop import HadoopFiles

__all__ = ["guard_overwrites"]

_METHODS = ("save", "parquet", "json", "csv", "orc", "text")
_MODE = "_penstock_mode"


def guard_overwrites() -> None:
    """Let Spark's writers of this process do so; calling it again changes nothing."""
    if hasattr(DataFrameWriter, _MODE):
        return
    setattr(DataFrameWriter, _MODE, None)
    DataFrameWriter.mode = _remembered(DataFrameWriter.mode)  # type: ignore[method-assign]
    for name in _METHODS:
        setattr(DataFrameWriter, name, _guarded(getattr(DataFrameWriter, name)))


def _remembered(original: Any) -> Any:
    """The JVM's writer does not tell its mode, so Python's keeps it."""

    @wraps(original)
    def mode(self: DataFrameWriter, saveMode: str | None) -> DataFrameWriter:  # noqa: N803 - Spark's
        if saveMode:
            setattr(self, _MODE, saveMode)
        writer: DataFrameWriter = original(self, saveMode)
        return writer

    return mode


def _guarded(original: Any) -> Any:
    signature = inspect.signature(original)

    @wraps(original)
    def write(self: DataFrameWriter, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs)
        path = given.arguments.get("path")
        mode = given.arguments.get("mode") or getattr(self, _MODE)
        files = HadoopFiles(self._df.sparkSession)
        own = _own_files(self, path, files) if path is not None and str(mode).lower() == "overwrite" else []
        if path is None or not own:
            original(self, *args, **kwargs)
            return
        target = path.rstrip("/")
        # Names that begin with a dot are nobody's data.
        folder, _, name = target.rpartition("/")
        staged = given.arguments["path"] = f"{folder}/.{name}.{uuid.uuid4().hex}"
        original(*given.args, **given.kwargs)
        moved = {file: target + file.removeprefix(staged) for file in files.walk(staged)}
        files.sync(moved, below=staged)
        for file, final in moved.items():
            files.move(file, final)
        # What was read is deleted only once what was made of it is on the disk.
        files.sync(moved.values(), below=target)
        for file in own:
            files.delete(file)
        files.delete(staged)

    return write


def _own_files(writer: DataFrameWriter, path: str, files: HadoopFiles) -> list[str]:
    """The files that the frame reads and an overwrite of ``path`` would delete first."""
    folder = files.qualified(path).rstrip("/") + "/"
    return [file for file in map(files.qualified, writer._df.inputFiles()) if file.startswith(folder)]
