"""Lake Formation's store in SQL: a row for each document, with the document as JSON."""

import hashlib
from collections.abc import Callable, Sequence

import orjson
from sqlalchemy import Column, ColumnElement, String, Table, Text, and_, delete, insert, select, update

from penstock.lakeformation.store import Document
from penstock.store.sql.database import Database, metadata

__all__ = ["SqlLakeFormationStore", "lakeformation"]

lakeformation = Table(
    "lakeformation",
    metadata,
    Column("kind", String(16), primary_key=True),
    Column("digest", String(64), primary_key=True),
    Column("key", Text, nullable=False),
    Column("body", Text, nullable=False),
)
"""Keys may be longer than an index takes, so their SHA-256 identifies the row."""


class SqlLakeFormationStore:
    """A :class:`~penstock.lakeformation.store.LakeFormationStore` over SQL."""

    def __init__(self, database: Database) -> None:
        self._sql = database

    def get(self, kind: str, key: str) -> Document | None:
        with self._sql.read() as reader:
            body = reader.execute(select(lakeformation.c.body).where(_one(kind, key))).scalar_one_or_none()
        return None if body is None else orjson.loads(body)

    def list(self, kind: str) -> Sequence[tuple[str, Document]]:
        query = select(lakeformation.c.key, lakeformation.c.body).where(lakeformation.c.kind == kind)
        with self._sql.read() as reader:
            documents = [(row.key, orjson.loads(row.body)) for row in reader.execute(query)]
        # By code points: the collations of databases differ.
        return sorted(documents, key=lambda document: document[0])

    def change(self, kind: str, key: str, change_document: Callable[[Document | None], Document | None]) -> Document | None:
        with self._sql.write() as writer:
            locked = select(lakeformation.c.body).where(_one(kind, key)).with_for_update()
            body = writer.execute(locked).scalar_one_or_none()
            new = change_document(None if body is None else orjson.loads(body))
            text = None if new is None else orjson.dumps(new).decode()
            if text is None:
                writer.execute(delete(lakeformation).where(_one(kind, key)))
            elif body is None:
                row = {"kind": kind, "digest": _digest(key), "key": key, "body": text}
                writer.execute(insert(lakeformation).values(row))
            else:
                writer.execute(update(lakeformation).where(_one(kind, key)).values(body=text))
        return new


def _one(kind: str, key: str) -> ColumnElement[bool]:
    return and_(lakeformation.c.kind == kind, lakeformation.c.digest == _digest(key))


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
