"""The sinks under faults: the section of each in the YAML, and its rows as someone else's client reads them."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pg8000.native
import pyarrow.dataset as ds

from tests.chaos.records import Expected

__all__ = ["JdbcTarget", "ParquetTarget", "Target"]


class Target(ABC):
    """One sink. ``exact``: each row once; else at least once."""

    name: str
    exact = True

    @abstractmethod
    def section(self) -> str:
        """Return the sink's YAML, in one line."""

    @abstractmethod
    def rows(self) -> list[Expected]:
        """Return the rows, by id."""


class ParquetTarget(Target):
    """Files in the lake, read by pyarrow."""

    def __init__(self, lake: Path, name: str = "parquet") -> None:
        self.name = name
        self._folder = lake / "lk" / name

    def section(self) -> str:
        return f"{{parquet: {{location: s3://lk/{self.name}, partition_by: [day]}}}}"

    def rows(self) -> list[Expected]:
        table = ds.dataset(self._folder, partitioning="hive").to_table(columns=["id", "day", "seats", "p", "o"])
        return sorted(
            (Expected(*row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)),
            key=lambda row: row.id,
        )


class JdbcTarget(Target):
    """A table of PostgreSQL, read by pg8000."""

    name = "jdbc"

    def __init__(self, store_url: str) -> None:
        self._url = urlsplit(store_url)

    def section(self) -> str:
        where = f"jdbc:postgresql://{self._url.hostname}:{self._url.port}{self._url.path}"
        login = f'username: {self._url.username}, password: "{self._url.password}"'
        return f'{{jdbc: {{url: "{where}", table: flights, {login}}}}}'

    def rows(self) -> list[Expected]:
        found = self._run("SELECT id, day, seats, p, o FROM flights ORDER BY id")
        return [Expected(*row) for row in found]

    def _run(self, sql: str) -> list[list[Any]]:
        connection = pg8000.native.Connection(
            str(self._url.username),
            host=str(self._url.hostname),
            port=self._url.port or 5432,
            database=self._url.path.strip("/"),
            password=self._url.password,
        )
        try:
            return list(connection.run(sql) or ())
        finally:
            connection.close()
