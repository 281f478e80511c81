"""An overwrite of the files that the same query reads, which Spark would delete first.

A published compaction job is ``spark.read.parquet(path)...write.mode("overwrite").save(path)``. Spark deletes the files,
then fails to read them, and the data are gone. Here the new files are written beside the old ones first; then they replace
the files that were read. Files that other writers added meanwhile stay. Other writes do not change.
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
    """Guard the overwrites of Spark's writers in this process; a second call changes nothing."""
    if hasattr(DataFrameWriter, _MODE):
        return
    setattr(DataFrameWriter, _MODE, None)
    DataFrameWriter.mode = _remembered(DataFrameWriter.mode)  # type: ignore[method-assign]
    for name in _METHODS:
        setattr(DataFrameWriter, name, _guarded(getattr(DataFrameWriter, name)))


def _remembered(original: Any) -> Any:
    """Wrap ``mode`` to remember the mode, because the JVM's writer does not return it."""

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
        call = signature.bind(self, *args, **kwargs)
        path = call.arguments.get("path")
        mode = call.arguments.get("mode") or getattr(self, _MODE)
        files = HadoopFiles(self._df.sparkSession)
        own = _own_files(self, path, files) if path is not None and str(mode).lower() == "overwrite" else []
        if path is None or not own:
            original(self, *args, **kwargs)
            return
        target = path.rstrip("/")
        # Readers skip names that begin with a dot.
        folder, _, name = target.rpartition("/")
        staged = call.arguments["path"] = f"{folder}/.{name}.{uuid.uuid4().hex}"
        original(*call.args, **call.kwargs)
        moved = {file: target + file.removeprefix(staged) for file in files.walk(staged)}
        files.sync(moved, below=staged)
        for file, final in moved.items():
            files.move(file, final)
        # The files that were read are deleted only when the new ones are on the disk.
        files.sync(moved.values(), below=target)
        for file in own:
            files.delete(file)
        files.delete(staged)

    return write


def _own_files(writer: DataFrameWriter, path: str, files: HadoopFiles) -> list[str]:
    """Return the files that the frame reads and that an overwrite of ``path`` would delete first."""
    folder = files.qualified(path).rstrip("/") + "/"
    return [file for file in map(files.qualified, writer._df.inputFiles()) if file.startswith(folder)]
