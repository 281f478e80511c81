"""The data files below a location. As in Hive, files and folders whose names start with ``_`` or ``.`` are not data."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from penstock.errors import InvalidInput
from penstock.lake.locations import LakeFolder
from penstock.lake.permitted import PermittedFiles
from penstock.lake.visible import CommittedBatches
from penstock.query.tables.port import DataFile
from penstock.sql.errors import StatementError

__all__ = ["committed_batches", "data_files", "linked_files"]

_MAX_LIST = 16 << 20  # bytes of a list of files


def committed_batches(lake: LakeFolder, location: str) -> CommittedBatches:
    """Return the committed batches of the table at ``location``, as of now. To be taken before its files are listed."""

    def names(folder: str) -> list[str]:
        try:
            return sorted(path.name for path in lake.path(folder).iterdir())
        except (OSError, InvalidInput):
            return []

    return CommittedBatches(location, names=names, read=lambda file: lake.path(file).read_text(encoding="utf-8"))


def data_files(
    files: PermittedFiles, location: str, partition: int = -1, *, committed: CommittedBatches | None = None
) -> Iterator[DataFile]:
    """Yield the data files below ``location``, in the order of their names; none if the folder does not exist.

    They may be listed by the statement's caller, and not be opened yet.

    Files of batches that are not among the ``committed`` ones are left out.
    """
    try:
        root = files.listable(location)
    except InvalidInput as error:
        raise StatementError("HIVE_INVALID_METADATA", error.message, remedy=error.remedy) from error
    if root.is_file():
        yield DataFile(str(root), root.stat().st_size, partition)
        return
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(item for item in folders if item[0] not in "_.")
        for name in sorted(names):
            path = Path(folder, name)
            if name[0] in "_." or path.is_symlink() or not (committed is None or committed.counts(name)):
                continue
            try:
                size = path.stat().st_size
            except FileNotFoundError:
                continue  # a compaction or a replayed batch deleted it after the listing
            if size > 0:
                yield DataFile(str(path), size, partition)


def linked_files(files: PermittedFiles, lists: Iterable[DataFile]) -> Iterator[DataFile]:
    """Yield the files that ``lists`` name, one ``s3://`` name a line (Hive's SymlinkTextInputFormat)."""
    for list_ in lists:
        files.check([list_.path])
        if list_.size > _MAX_LIST:
            raise StatementError(
                "HIVE_BAD_DATA",
                f"{files.lake.uri(Path(list_.path))} is larger than {_MAX_LIST:,} bytes, which a list of files is not.",
            )
        for line in Path(list_.path).read_text(encoding="utf-8", errors="replace").splitlines():
            if not line.strip():
                continue
            try:
                path = files.path(line.strip())
                files.check([str(path)])
                yield DataFile(str(path), path.stat().st_size, list_.partition)
            except InvalidInput as error:
                raise StatementError(
                    "HIVE_BAD_DATA", f"{files.lake.uri(Path(list_.path))}: {error.message}", remedy=error.remedy
                ) from error
            except FileNotFoundError:
                raise StatementError(
                    "HIVE_CANNOT_OPEN_SPLIT",
                    f"{line.strip()[:500]}, which {files.lake.uri(Path(list_.path))} names, does not exist.",
                    remedy="Write the list of files anew.",
                ) from None
