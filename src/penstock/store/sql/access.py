"""Access keys in SQL, their secrets sealed with the master key."""

from datetime import UTC
from typing import Any

from sqlalchemy import Column, DateTime, LargeBinary, Row, String, Table, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from penstock.access.keys import AccessKey, AccessKeyExists, AccessKeyNotFound
from penstock.store.sql.database import Database, metadata
from penstock.store.sql.sealing import Sealer

__all__ = ["SqlAccessStore", "access_keys"]

access_keys = Table(
    "access_keys",
    metadata,
    Column("access_key_id", String(128), primary_key=True),
    Column("secret_sealed", LargeBinary, nullable=False),
    Column("account", String(12), nullable=False, index=True),
    Column("principal", String(2048), nullable=False),
    Column("created", DateTime(timezone=False), nullable=False),
)


class SqlAccessStore:
    """An :class:`~penstock.access.keys.AccessStore` over SQL. Times are kept in UTC."""

    def __init__(self, database: Database, sealer: Sealer) -> None:
        self._database = database
        self._sealer = sealer

    def get(self, access_key_id: str) -> AccessKey | None:
        query = select(access_keys).where(access_keys.c.access_key_id == access_key_id)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else self._key(row)

    def add(self, key: AccessKey) -> None:
        try:
            with self._database.write() as connection:
                connection.execute(insert(access_keys).values(self._values(key)))
        except IntegrityError:
            raise AccessKeyExists(f"Access key {key.access_key_id} already exists.") from None

    def put(self, key: AccessKey) -> None:
        values = self._values(key)
        with self._database.write() as connection:
            changed = connection.execute(
                update(access_keys).where(access_keys.c.access_key_id == key.access_key_id).values(values)
            )
            if not changed.rowcount:
                connection.execute(insert(access_keys).values(values))

    def remove(self, access_key_id: str) -> None:
        with self._database.write() as connection:
            removed = connection.execute(delete(access_keys).where(access_keys.c.access_key_id == access_key_id))
        if not removed.rowcount:
            raise AccessKeyNotFound(f"The Access Key with id {access_key_id} cannot be found.")

    def list(self, account: str) -> list[AccessKey]:
        query = select(access_keys).where(access_keys.c.account == account).order_by(access_keys.c.access_key_id)
        with self._database.read() as connection:
            return [self._key(row) for row in connection.execute(query)]

    def _values(self, key: AccessKey) -> dict[str, object]:
        return {
            "access_key_id": key.access_key_id,
            "secret_sealed": self._sealer.seal(key.secret_access_key.encode(), _context(key.access_key_id)),
            "account": key.account,
            "principal": key.principal,
            "created": key.created.astimezone(UTC).replace(tzinfo=None),
        }

    def _key(self, row: Row[*tuple[Any, ...]]) -> AccessKey:
        return AccessKey(
            access_key_id=row.access_key_id,
            secret_access_key=self._sealer.open(row.secret_sealed, _context(row.access_key_id)).decode(),
            account=row.account,
            principal=row.principal,
            created=row.created.replace(tzinfo=UTC),
        )


def _context(access_key_id: str) -> str:
    return f"access key {access_key_id}"
