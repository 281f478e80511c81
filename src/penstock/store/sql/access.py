"""Access keys in SQL, their secrets sealed with the master key; with entities and accounts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC
from typing import Any

import msgspec
import orjson
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Integer,
    LargeBinary,
    Row,
    String,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from penstock.access.entities import (
    Account,
    AccountAlias,
    AccountExists,
    Entity,
    EntityKind,
    Group,
    Identity,
    InstanceProfile,
    ManagedPolicy,
    OidcProvider,
    Role,
    User,
    kind_of,
    missing,
    taken,
)
from penstock.access.keys import AccessKey, AccessKeyExists, AccessKeyNotFound, EntityReader
from penstock.errors import LimitExceeded
from penstock.store.sql.audit import write_audit
from penstock.store.sql.database import Database, metadata, retried
from penstock.store.sql.sealing import Sealer, sealed_column

__all__ = ["SqlAccessStore", "access_keys", "accounts", "iam_entities"]

access_keys = Table(
    "access_keys",
    metadata,
    Column("access_key_id", String(128), primary_key=True),
    Column("secret_sealed", LargeBinary, nullable=False),
    Column("account", String(12), nullable=False, index=True),
    Column("principal", String(2048), nullable=False),
    Column("created", DateTime(timezone=False), nullable=False),
    # 1 for an active key, 0 for an inactive one; _REMOVED keeps the id of a deleted one.
    Column("active", Integer, nullable=False, server_default="1"),
    Column("owner_id", String(128), nullable=False, server_default=""),
)

iam_entities = Table(
    "iam_entities",
    metadata,
    Column("kind", String(8), primary_key=True),
    Column("account", String(12), primary_key=True),
    # The name in lower case: names are unique without regard to case.
    Column("key", String(128), primary_key=True),
    Column("name", String(128), nullable=False),
    Column("id", String(32), nullable=False),
    Column("content", Text, nullable=False),
)

accounts = Table(
    "accounts",
    metadata,
    Column("id", String(12), primary_key=True),
    Column("name", String(128), nullable=False),
    Column("email", String(254), nullable=False),
    Column("created", DateTime(timezone=False), nullable=False),
)


def _context(access_key_id: str) -> str:
    return f"access key {access_key_id}"


sealed_column(access_keys, "secret_sealed", lambda row: _context(row.access_key_id))

_REMOVED = -1
# Members of entities with columns of their own; the others are the JSON of one column.
_COLUMNS = frozenset({"account", "name", "id"})
_CLASSES: Mapping[EntityKind, type[Entity]] = {
    EntityKind.USER: User,
    EntityKind.ROLE: Role,
    EntityKind.POLICY: ManagedPolicy,
    EntityKind.GROUP: Group,
    EntityKind.PROFILE: InstanceProfile,
    EntityKind.OIDC: OidcProvider,
    EntityKind.ALIAS: AccountAlias,
}
_IS_THERE = access_keys.c.active != _REMOVED


class SqlAccessStore:
    """An :class:`~penstock.access.keys.AccessStore` over SQL. Times are kept in UTC."""

    def __init__(self, database: Database, sealer: Sealer) -> None:
        self._database = database
        self._sealer = sealer

    def get(self, access_key_id: str) -> AccessKey | None:
        query = select(access_keys).where(access_keys.c.access_key_id == access_key_id, _IS_THERE)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else self._key(row)

    def add(self, key: AccessKey) -> None:
        try:
            with self._database.write() as connection:
                connection.execute(insert(access_keys).values(self._values(key)))
                write_audit(connection, "CreateAccessKey", key.principal, key.access_key_id)
        except IntegrityError:
            raise AccessKeyExists(f"Access key {key.access_key_id} already exists.") from None

    def put(self, key: AccessKey) -> bool:
        values = self._values(key)
        mine = access_keys.c.access_key_id == key.access_key_id
        with self._database.write() as connection:
            active = connection.execute(select(access_keys.c.active).where(mine)).scalar_one_or_none()
            if active is None:
                connection.execute(insert(access_keys).values(values))
                return key.active
            if active != _REMOVED:
                connection.execute(update(access_keys).where(mine).values(values | {"active": active}))
            return bool(active == 1)

    @retried
    def remove(self, access_key_id: str) -> None:
        # The row stays, without the secret, so that a server's start does not store a deleted key again.
        no_secret = self._sealer.seal(b"", _context(access_key_id))
        mine = and_(access_keys.c.access_key_id == access_key_id, _IS_THERE)
        removal = (
            update(access_keys)
            .where(mine)
            .values(active=_REMOVED, secret_sealed=no_secret)
            .returning(access_keys.c.principal)
        )
        with self._database.write() as connection:
            principal = connection.execute(removal).scalar_one_or_none()
            if principal is None:
                raise _no_key(access_key_id)
            write_audit(connection, "DeleteAccessKey", principal, access_key_id)

    @retried
    def set_active(self, access_key_id: str, active: bool) -> None:
        mine = and_(access_keys.c.access_key_id == access_key_id, _IS_THERE)
        change = update(access_keys).where(mine).values(active=int(active)).returning(access_keys.c.principal)
        with self._database.write() as connection:
            principal = connection.execute(change).scalar_one_or_none()
            if principal is None:
                raise _no_key(access_key_id)
            write_audit(connection, "UpdateAccessKey", principal, f"{access_key_id} {'Active' if active else 'Inactive'}")

    def list(self, account: str) -> list[AccessKey]:
        mine = and_(access_keys.c.account == account, _IS_THERE)
        query = select(access_keys).where(mine).order_by(access_keys.c.access_key_id)
        with self._database.read() as connection:
            return [self._key(row) for row in connection.execute(query)]

    def get_entity(self, kind: EntityKind, account: str, name: str) -> Entity | None:
        with self._database.read() as connection:
            return _Entities(connection).get_entity(kind, account, name)

    def list_identities(self, account: str) -> Sequence[Identity]:
        with self._database.read() as connection:
            return _Entities(connection).list_identities(account)

    def list_entities(self, kind: EntityKind, account: str) -> Sequence[Entity]:
        with self._database.read() as connection:
            return _Entities(connection).list_entities(kind, account)

    @retried
    def add_entity(self, entity: Entity, operation: str, *, limit: int) -> None:
        kind, columns = kind_of(entity), iam_entities.c
        same_kind = and_(columns.kind == kind.value, columns.account == entity.account)
        with self._database.write() as connection:
            if connection.execute(select(columns.id).where(_place(kind, entity.account, entity.name))).first() is not None:
                raise taken(kind, entity.name)
            if connection.execute(select(func.count()).select_from(iam_entities).where(same_kind)).scalar_one() >= limit:
                raise LimitExceeded(f"The account has {limit} of its kind already: {kind.value}.")
            connection.execute(
                insert(iam_entities).values(
                    kind=kind.value,
                    account=entity.account,
                    key=entity.name.lower(),
                    name=entity.name,
                    id=entity.id,
                    content=_entity_json(entity),
                )
            )
            write_audit(connection, operation, entity.arn, entity.id)

    @retried
    def change_entity(
        self,
        kind: EntityKind,
        account: str,
        name: str,
        operation: str,
        change: Callable[[Entity], Entity | None],
        *,
        check: Callable[[EntityReader], None] | None = None,
    ) -> None:
        mine = _place(kind, account, name)
        with self._database.write() as connection:
            entities = _Entities(connection)
            stored = entities.get_entity(kind, account, name)
            if stored is None:
                raise missing(kind, name)
            if check is not None:
                check(entities)
            changed = change(stored)
            if changed is None:
                connection.execute(delete(iam_entities).where(mine))
            else:
                connection.execute(update(iam_entities).where(mine).values(content=_entity_json(changed)))
            write_audit(connection, operation, stored.arn, "deleted" if changed is None else "changed")

    @retried
    def write_audit(self, operation: str, resource: str, outcome: str) -> None:
        with self._database.write() as connection:
            write_audit(connection, operation, resource, outcome)

    @retried
    def add_account(self, account: Account) -> None:
        try:
            with self._database.write() as connection:
                created = account.created.astimezone(UTC).replace(tzinfo=None)
                values = {"id": account.id, "name": account.name, "email": account.email, "created": created}
                connection.execute(insert(accounts).values(**values))
                write_audit(connection, "CreateAccount", f"account/{account.id}", account.name)
        except IntegrityError:
            raise AccountExists(f"The account {account.id} already exists.") from None

    def get_account(self, account: str) -> Account | None:
        with self._database.read() as connection:
            row = connection.execute(select(accounts).where(accounts.c.id == account)).one_or_none()
        return None if row is None else _account(row)

    def list_accounts(self) -> Sequence[Account]:
        with self._database.read() as connection:
            return [_account(row) for row in connection.execute(select(accounts).order_by(accounts.c.id))]

    def _values(self, key: AccessKey) -> dict[str, object]:
        return {
            "access_key_id": key.access_key_id,
            "secret_sealed": self._sealer.seal(key.secret_access_key.encode(), _context(key.access_key_id)),
            "account": key.account,
            "principal": key.principal,
            "created": key.created.astimezone(UTC).replace(tzinfo=None),
            "active": int(key.active),
            "owner_id": key.owner_id,
        }

    def _key(self, row: Row[*tuple[Any, ...]]) -> AccessKey:
        return AccessKey(
            access_key_id=row.access_key_id,
            secret_access_key=self._sealer.open(row.secret_sealed, _context(row.access_key_id)).decode(),
            account=row.account,
            principal=row.principal,
            created=row.created.replace(tzinfo=UTC),
            active=bool(row.active),
            owner_id=row.owner_id,
        )


class _Entities:
    """An :class:`~penstock.access.keys.EntityReader` within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get_entity(self, kind: EntityKind, account: str, name: str) -> Entity | None:
        row = self._connection.execute(select(iam_entities).where(_place(kind, account, name))).one_or_none()
        return None if row is None else _entity(row)

    def list_identities(self, account: str) -> Sequence[Identity]:
        columns = iam_entities.c
        # In reverse alphabetical order: user, role, group.
        of_kinds = columns.kind.in_([EntityKind.USER.value, EntityKind.ROLE.value, EntityKind.GROUP.value])
        query = select(iam_entities).where(of_kinds, columns.account == account).order_by(columns.kind.desc(), columns.key)
        entities = [_entity(row) for row in self._connection.execute(query)]
        return [entity for entity in entities if isinstance(entity, Identity)]

    def list_entities(self, kind: EntityKind, account: str) -> Sequence[Entity]:
        columns = iam_entities.c
        query = select(iam_entities).where(columns.kind == kind.value, columns.account == account).order_by(columns.key)
        return [_entity(row) for row in self._connection.execute(query)]


def _entity_json(entity: Entity) -> str:
    """Return the members that have no column, as JSON; times in ISO 8601."""
    members = {member.name: getattr(entity, member.name) for member in fields(entity) if member.name not in _COLUMNS}
    return orjson.dumps(members, option=orjson.OPT_SORT_KEYS).decode()


def _place(kind: EntityKind, account: str, name: str) -> ColumnElement[bool]:
    columns = iam_entities.c
    return and_(columns.kind == kind.value, columns.account == account, columns.key == name.lower())


def _entity(row: Row[*tuple[Any, ...]]) -> Entity:
    members = {**orjson.loads(row.content), "account": row.account, "name": row.name, "id": row.id}
    return msgspec.convert(members, _CLASSES[EntityKind(row.kind)])


def _account(row: Row[*tuple[Any, ...]]) -> Account:
    return Account(id=row.id, name=row.name, email=row.email, created=row.created.replace(tzinfo=UTC))


def _no_key(access_key_id: str) -> AccessKeyNotFound:
    return AccessKeyNotFound(f"The Access Key with id {access_key_id} cannot be found.")
