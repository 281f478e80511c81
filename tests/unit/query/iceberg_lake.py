"""Iceberg tables that pyiceberg makes in the tests' lake, and their entries in its catalog."""

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table as IcebergTable

from tests.unit.query.lake_of_flights import Lake

DATABASE = "flights_db"


class FolderFile(InputFile, OutputFile):
    """A file of the lake's folder under its ``s3://`` name."""

    def __init__(self, location: str, root: Path) -> None:
        super().__init__(location)
        self.path = root / location.removeprefix("s3://")

    def __len__(self) -> int:
        return self.path.stat().st_size

    def exists(self) -> bool:
        return self.path.exists()

    def open(self, seekable: bool = True) -> InputStream:
        return cast(InputStream, io.BytesIO(self.path.read_bytes()))

    def to_input_file(self) -> InputFile:
        return self

    def create(self, overwrite: bool = False) -> OutputStream:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return cast(OutputStream, self.path.open("wb" if overwrite else "xb"))


class FolderIO(FileIO):
    """The lake's folder for pyiceberg; the property ``root`` names it."""

    def new_input(self, location: str) -> InputFile:
        return FolderFile(location, Path(self.properties["root"]))

    def new_output(self, location: str) -> OutputFile:
        return FolderFile(location, Path(self.properties["root"]))

    def delete(self, location: str | InputFile | OutputFile) -> None:
        name = location if isinstance(location, str) else location.location
        FolderFile(name, Path(self.properties["root"])).path.unlink()


class IcebergLake:
    """A pyiceberg catalog over the tests' lake."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self._root = str(lake.folder.root)
        self.catalog = SqlCatalog(
            "test",
            uri="sqlite:///:memory:",
            warehouse="s3://lake/warehouse",
            **{"py-io-impl": f"{__name__}.FolderIO", "root": self._root},
        )
        self.catalog.create_namespace(DATABASE)

    def create(
        self,
        name: str,
        schema: pa.Schema | Schema,
        spec: PartitionSpec | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> IcebergTable:
        """Create a table and register it in the lake's catalog."""
        table = self.catalog.create_table(
            (DATABASE, name), schema, partition_spec=spec or PartitionSpec(), properties=dict(properties or {})
        )
        self.register(name, table)
        return table

    def register(self, name: str, table: IcebergTable) -> None:
        """Let the lake's catalog have the table as of now."""
        entry = self.lake.table(name, {})
        self.lake.catalog.stored[DATABASE, name] = replace(
            entry, parameters={"table_type": "ICEBERG", "metadata_location": table.metadata_location}
        )

    def load(self, name: str) -> IcebergTable:
        """Return the table as the lake's catalog has it now, which a statement may have changed."""
        location = self.lake.catalog.stored[DATABASE, name].parameters["metadata_location"]
        from pyiceberg.table import StaticTable

        properties: dict[str, Any] = {"py-io-impl": f"{__name__}.FolderIO", "root": self._root}
        return StaticTable.from_metadata(location, properties)
