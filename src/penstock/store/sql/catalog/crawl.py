"""Crawlers in SQL: one row a crawler, its settings and last run as JSON, and one row a file that it has read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import BigInteger, Column, ForeignKey, String, Text, delete, insert, select, update
from sqlalchemy import Table as SqlTable
from sqlalchemy.exc import IntegrityError

from penstock.access.principals import Caller, SessionContext
from penstock.crawl.access import Starter
from penstock.crawl.errors import CrawlerExists, CrawlerNotFound, CrawlerRunning
from penstock.crawl.model import (
    PARQUET,
    CatalogTarget,
    Crawler,
    CrawlRecord,
    DeltaTarget,
    DynamoTarget,
    FileFormat,
    IcebergTarget,
    JdbcTarget,
    LastCrawl,
    OtherTarget,
    S3Target,
    SchemaChangePolicy,
    SeenFile,
    Tally,
)
from penstock.crawl.store import Change
from penstock.store.sql.catalog.codec import ColumnsCache, dump_columns
from penstock.store.sql.database import Database, metadata

__all__ = ["SqlCrawlStore", "crawlers", "files"]

_CHUNK = 500

crawlers = SqlTable(
    "crawl_crawler",
    metadata,
    Column("name", String(255), primary_key=True),
    Column("state", String(16), nullable=False),
    Column("body", Text, nullable=False),
)
files = SqlTable(
    "crawl_file",
    metadata,
    Column("crawler", String(255), ForeignKey("crawl_crawler.name", ondelete="CASCADE"), primary_key=True),
    Column("uri", Text, primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("modified", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("columns", Text, nullable=False),
    Column("problem", Text),
    Column("format", Text),
)


class SqlCrawlStore:
    """A :class:`~penstock.crawl.store.CrawlStore` over SQL."""

    def __init__(self, database: Database) -> None:
        self._sql = database

    def create(self, crawler: Crawler) -> None:
        with self._sql.write() as connection:
            try:
                connection.execute(insert(crawlers).values(_row(crawler)))
            except IntegrityError:
                raise CrawlerExists(crawler.name) from None

    def get(self, name: str) -> Crawler | None:
        with self._sql.read() as connection:
            row = connection.execute(select(crawlers.c.body).where(crawlers.c.name == name)).one_or_none()
            return _load(row.body) if row else None

    def list(self, *, after: str | None, limit: int) -> Sequence[Crawler]:
        query = select(crawlers.c.body).order_by(crawlers.c.name).limit(limit)
        if after is not None:
            query = query.where(crawlers.c.name > after)
        with self._sql.read() as connection:
            return [_load(row.body) for row in connection.execute(query)]

    def change(self, name: str, change: Change) -> Crawler:
        where = crawlers.c.name == name
        with self._sql.write() as connection:
            row = connection.execute(select(crawlers.c.body).where(where).with_for_update()).one_or_none()
            if row is None:
                raise CrawlerNotFound(name)
            changed = change(_load(row.body))
            connection.execute(update(crawlers).where(where).values(_row(changed)))
            return changed

    def delete(self, name: str) -> None:
        where = crawlers.c.name == name
        with self._sql.write() as connection:
            row = connection.execute(select(crawlers.c.state).where(where).with_for_update()).one_or_none()
            if row is None:
                raise CrawlerNotFound(name)
            if row.state != "READY":
                raise CrawlerRunning(name)
            connection.execute(delete(crawlers).where(where))

    def running(self) -> Sequence[Crawler]:
        query = select(crawlers.c.body).where(crawlers.c.state != "READY").order_by(crawlers.c.name)
        with self._sql.read() as connection:
            return [_load(row.body) for row in connection.execute(query)]

    def seen(self, name: str) -> Mapping[str, SeenFile]:
        cache = ColumnsCache()
        with self._sql.read() as connection:
            return {
                row.uri: SeenFile(
                    uri=row.uri,
                    size=row.size,
                    modified=row.modified,
                    rows=row.rows,
                    columns=cache.load(row.columns),
                    problem=row.problem,
                    format=_format(row.format),
                )
                for row in connection.execute(select(files).where(files.c.crawler == name))
            }

    def remember(self, name: str, crawled: Sequence[SeenFile], gone: Sequence[str]) -> None:
        with self._sql.write() as connection:
            if connection.execute(select(crawlers.c.name).where(crawlers.c.name == name)).first() is None:
                return
            stale = [*gone, *(file.uri for file in crawled)]
            for start in range(0, len(stale), _CHUNK):
                chunk = stale[start : start + _CHUNK]
                connection.execute(delete(files).where(files.c.crawler == name, files.c.uri.in_(chunk)))
            if crawled:
                connection.execute(insert(files), [_file_row(name, file) for file in crawled])


def _file_row(crawler: str, file: SeenFile) -> dict[str, Any]:
    return {
        "crawler": crawler,
        "uri": file.uri,
        "size": file.size,
        "modified": file.modified,
        "rows": file.rows,
        "columns": dump_columns(file.columns),
        "problem": file.problem,
        "format": None if file.format == PARQUET else orjson.dumps(file.format).decode(),
    }


@lru_cache(maxsize=1_024)
def _format(text: str | None) -> FileFormat:
    if text is None:
        return PARQUET
    members = orjson.loads(text)
    pairs = {name: tuple((key, value) for key, value in members[name]) for name in ("serde", "parameters")}
    return FileFormat(**{**members, **pairs})


def _row(crawler: Crawler) -> dict[str, Any]:
    return {"name": crawler.name, "state": crawler.state, "body": orjson.dumps(crawler).decode()}


def _load(text: str) -> Crawler:
    members: dict[str, Any] = orjson.loads(text)
    members["targets"] = tuple(
        S3Target(**{**target, "exclusions": tuple(target["exclusions"])}) for target in members["targets"]
    )
    if members.get("starter"):
        members["starter"] = _starter(members["starter"])
    members["others"] = tuple(_other(entry) for entry in members.get("others") or ())
    members["classifiers"] = tuple(members.get("classifiers") or ())
    members["policy"] = SchemaChangePolicy(**members["policy"])
    members["runtimes"] = tuple(members["runtimes"])
    members["totals"] = _tally(members["totals"])
    if members["last_crawl"] is not None:
        members["last_crawl"] = _last(members["last_crawl"])
    members["history"] = tuple(
        CrawlRecord(run_id=entry["run_id"], last=_last(entry["last"])) for entry in members.get("history") or ()
    )
    return Crawler(**_times(members, "creation_time", "last_updated", "started", "heartbeat", "next_run"))


def _starter(stored: dict[str, Any]) -> Starter:
    caller = stored["caller"]
    if caller is None:
        return Starter(**stored)
    session = caller["session"]
    if session is not None:
        lists = {name: tuple(session[name]) for name in ("policies", "policy_arns")}
        session = SessionContext(**{**session, **lists})
    return Starter(**{**stored, "caller": Caller(**{**caller, "session": session})})


_OTHERS: Mapping[str, Callable[..., OtherTarget]] = {
    "jdbc": JdbcTarget,
    "dynamodb": DynamoTarget,
    "catalog": CatalogTarget,
    "iceberg": IcebergTarget,
    "delta": DeltaTarget,
}


def _other(stored: Mapping[str, Any]) -> OtherTarget:
    members = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
    return _OTHERS[stored["kind"]](**members)


def _last(stored: dict[str, Any]) -> LastCrawl:
    return LastCrawl(**{**_times(stored, "start_time", "end_time"), "tally": _tally(stored["tally"])})


def _tally(stored: Mapping[str, Any]) -> Tally:
    counts = {field.name: stored[field.name] for field in fields(Tally) if field.name in stored}
    return Tally(**{**counts, "problems": tuple(stored["problems"]), "changes": _pairs(stored.get("changes"))})


def _pairs(stored: Sequence[Sequence[str]] | None) -> tuple[tuple[str, str], ...]:
    return tuple((change, name) for change, name in stored or ())


def _times(members: dict[str, Any], *names: str) -> dict[str, Any]:
    return {**members, **{name: datetime.fromisoformat(members[name]) for name in names if members.get(name) is not None}}
