"""The lake as pyiceberg's ``FileIO``: reads from the lake's folder, writes to the statement's folder until published."""

import io
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream

from penstock.errors import InvalidInput
from penstock.lake.locations import LakePaths
from penstock.query.ports import Publication
from penstock.sql.errors import StatementError

__all__ = ["LakeIO"]

MAX_READ = 512 << 20
"""Bytes of metadata (manifest lists, manifests, deletion vectors) that one statement reads."""


class _Input(InputFile):
    def __init__(self, location: str, path: Path, opened: Callable[[int], None]) -> None:
        super().__init__(location)
        self.path = path
        self._opened = opened

    def __len__(self) -> int:
        return self.path.stat().st_size

    def exists(self) -> bool:
        return self.path.is_file()

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002 - pyiceberg's signature
        self._opened(len(self))
        return cast(InputStream, io.BytesIO(self.path.read_bytes()))


class _Output(OutputFile):
    def __init__(self, location: str, path: Path) -> None:
        super().__init__(location)
        self.path = path

    def __len__(self) -> int:
        return self.path.stat().st_size

    def exists(self) -> bool:
        return self.path.exists()

    def to_input_file(self) -> InputFile:
        return _Input(self.location, self.path, lambda _: None)

    def create(self, overwrite: bool = False) -> OutputStream:
        return cast(OutputStream, cast(BinaryIO, self.path.open("wb" if overwrite else "xb")))


class LakeIO(FileIO):
    """Reads whole files of the lake, at most :data:`MAX_READ` bytes together.

    Written files are in ``folder``, one of the statement's own; :attr:`written` has them with the names that they get.
    """

    def __init__(self, lake: LakePaths, folder: Path | None = None) -> None:
        super().__init__({})
        self._lake = lake
        self._folder = folder
        self._read = 0
        self.written: dict[str, Path] = {}
        """Files by the ``s3://`` names under which they are to be published."""

    @property
    def root(self) -> Path:
        """The lake's folder."""
        return self._lake.root.resolve()

    def new_input(self, location: str) -> InputFile:
        """Return a file of the lake, or one that was written and is not published yet."""
        if location in self.written:
            return _Input(location, self.written[location], self._count)
        return _Input(location, self._resolved(self._lake.readable, location), self._count)

    def new_output(self, location: str) -> OutputFile:
        """Return a new file of the statement's folder."""
        if self._folder is None:
            raise StatementError("GENERIC_INTERNAL_ERROR", f"{location} is written by a statement that only reads.")
        self.path(location)
        self._folder.mkdir(exist_ok=True)
        path = self._folder / uuid.uuid4().hex
        self.written[location] = path
        return _Output(location, path)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Forget a file that was written and is not published."""
        name = location if isinstance(location, str) else location.location
        path = self.written.pop(name, None)
        if path is not None:
            path.unlink(missing_ok=True)

    def publications(self) -> list[Publication]:
        """Return the written files as publications; they are forgotten."""
        if self._folder is None:
            return []
        publications = [(f"{self._folder.name}/{path.name}", location) for location, path in self.written.items()]
        self.written = {}
        return publications

    def path(self, location: str) -> Path:
        """Return the path of what is only named. Raises :class:`StatementError` for a location outside the lake."""
        return self._resolved(self._lake.path, location)

    @staticmethod
    def _resolved(resolve: Callable[[str], Path], location: str) -> Path:
        try:
            return resolve(location)
        except InvalidInput as error:
            raise StatementError("ICEBERG_INVALID_METADATA", error.message, remedy=error.remedy) from None

    def _count(self, size: int) -> None:
        self._read += size
        if self._read > MAX_READ:
            raise StatementError(
                "EXCEEDED_RESULT_LIMIT",
                f"The query reads more than {MAX_READ:,} bytes of Iceberg's metadata.",
                remedy="Restrict it to fewer partitions, or run OPTIMIZE, then VACUUM.",
            )
