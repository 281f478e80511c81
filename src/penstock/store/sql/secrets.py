"""Secrets in SQL, their values sealed with the master key."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    Connection,
    DateTime,
    ForeignKey,
    Integer,
    LargeBinary,
    Row,
    Select,
    String,
    Table,
    Text,
    UniqueConstraint,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from penstock.secrets.errors import SecretChanged, SecretExists
from penstock.secrets.model import Rotation, Secret, SecretValue, SecretVersion
from penstock.store.sql.database import Database, metadata
from penstock.store.sql.sealing import Sealer, sealed_column

__all__ = ["SqlSecretStore", "secret_versions", "secrets"]

secrets = Table(
    "secrets",
    metadata,
    Column("arn", String(2048), primary_key=True),
    Column("account", String(12), nullable=False),
    Column("name", String(512), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("description", Text),
    Column("kms_key_id", String(2048)),
    Column("tags", JSON, nullable=False),
    Column("created", DateTime, nullable=False),
    Column("changed", DateTime, nullable=False),
    Column("accessed", DateTime),
    Column("deletion", DateTime),
    Column("rotation", JSON(none_as_null=True)),
    Column("policy", Text),
    UniqueConstraint("account", "name"),
)

secret_versions = Table(
    "secret_versions",
    metadata,
    Column("arn", String(2048), ForeignKey("secrets.arn", ondelete="CASCADE"), primary_key=True),
    Column("version_id", String(64), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("stages", JSON, nullable=False),
    Column("created", DateTime, nullable=False),
    Column("is_text", Integer, nullable=False),
    Column("value_sealed", LargeBinary, nullable=False),
)


# Besides 0 and 1: a version that a rotation has not given a value yet.
_NO_VALUE = 2


def _context(arn: str, version_id: str) -> str:
    return f"{arn} version {version_id}"


sealed_column(secret_versions, "value_sealed", lambda row: _context(row.arn, row.version_id))


class SqlSecretStore:
    """A :class:`~penstock.secrets.model.SecretStore` over SQL. Times are kept in UTC."""

    def __init__(self, database: Database, sealer: Sealer) -> None:
        self._database = database
        self._sealer = sealer

    def by_arn(self, arn: str) -> Secret | None:
        return self._one(select(secrets).where(secrets.c.arn == arn))

    def by_name(self, account: str, name: str) -> Secret | None:
        return self._one(select(secrets).where(secrets.c.account == account, secrets.c.name == name))

    def list(self, account: str) -> Sequence[Secret]:
        mine = secrets.c.account == account
        stages = (
            select(secret_versions.c.arn, secret_versions.c.version_id, secret_versions.c.stages, secret_versions.c.created)
            .join(secrets)
            .where(mine)
            .order_by(secret_versions.c.arn, secret_versions.c.position)
        )
        versions: dict[str, list[SecretVersion]] = {}
        with self._database.read() as connection:
            for row in connection.execute(stages):
                versions.setdefault(row.arn, []).append(_version(row, SecretValue()))
            rows = connection.execute(select(secrets).where(mine).order_by(secrets.c.created, secrets.c.arn))
            return [_secret(row, versions.get(row.arn, ())) for row in rows]

    def policy(self, arn: str) -> str | None:
        with self._database.read() as connection:
            return connection.execute(select(secrets.c.policy).where(secrets.c.arn == arn)).scalar_one_or_none()

    def create(self, secret: Secret) -> None:
        try:
            with self._database.write() as connection:
                connection.execute(insert(secrets).values(_values(secret)))
                self._write_versions(connection, secret)
        except IntegrityError:
            raise SecretExists(f"The operation failed because the secret {secret.name} already exists.") from None

    def replace(self, secret: Secret) -> None:
        mine = (secrets.c.arn == secret.arn) & (secrets.c.revision == secret.revision)
        with self._database.write() as connection:
            changed = connection.execute(
                update(secrets).where(mine).values(_values(secret) | {"revision": secret.revision + 1})
            )
            if not changed.rowcount:
                raise SecretChanged(f"Secret {secret.name} was changed by somebody else.")
            connection.execute(delete(secret_versions).where(secret_versions.c.arn == secret.arn))
            self._write_versions(connection, secret)

    def purge(self, arn: str) -> None:
        with self._database.write() as connection:
            connection.execute(delete(secret_versions).where(secret_versions.c.arn == arn))
            connection.execute(delete(secrets).where(secrets.c.arn == arn))

    def _one(self, query: Select[Any]) -> Secret | None:
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
            if row is None:
                return None
            versions = connection.execute(
                select(secret_versions).where(secret_versions.c.arn == row.arn).order_by(secret_versions.c.position)
            ).all()
        return _secret(row, [_version(version, self._value(version)) for version in versions])

    def _write_versions(self, connection: Connection, secret: Secret) -> None:
        rows = [
            {
                "arn": secret.arn,
                "version_id": version.id,
                "position": position,
                "stages": sorted(version.stages),
                "created": _naive(version.created),
                "is_text": _NO_VALUE if version.value == SecretValue() else int(version.value.text is not None),
                "value_sealed": self._sealer.seal(_bytes(version.value), _context(secret.arn, version.id)),
            }
            for position, version in enumerate(secret.versions)
        ]
        if rows:
            connection.execute(insert(secret_versions), rows)

    def _value(self, row: Row[*tuple[Any, ...]]) -> SecretValue:
        opened = self._sealer.open(row.value_sealed, _context(row.arn, row.version_id))
        if row.is_text == _NO_VALUE:
            return SecretValue()
        return SecretValue(text=opened.decode()) if row.is_text else SecretValue(binary=opened)


def _bytes(value: SecretValue) -> bytes:
    return value.text.encode() if value.text is not None else value.binary or b""


def _values(secret: Secret) -> dict[str, Any]:
    return {
        "arn": secret.arn,
        "account": secret.account,
        "name": secret.name,
        "revision": secret.revision,
        "description": secret.description,
        "kms_key_id": secret.kms_key_id,
        "tags": dict(secret.tags),
        "created": _naive(secret.created),
        "changed": _naive(secret.changed),
        "accessed": _naive(secret.accessed) if secret.accessed else None,
        "deletion": _naive(secret.deletion) if secret.deletion else None,
        "rotation": None if secret.rotation is None else _rotation_json(secret.rotation),
        "policy": secret.policy,
    }


def _secret(row: Row[*tuple[Any, ...]], versions: Sequence[SecretVersion]) -> Secret:
    return Secret(
        arn=row.arn,
        account=row.account,
        name=row.name,
        revision=row.revision,
        description=row.description,
        kms_key_id=row.kms_key_id,
        tags=row.tags,
        created=row.created.replace(tzinfo=UTC),
        changed=row.changed.replace(tzinfo=UTC),
        accessed=row.accessed.replace(tzinfo=UTC) if row.accessed else None,
        deletion=row.deletion.replace(tzinfo=UTC) if row.deletion else None,
        rotation=None if row.rotation is None else _rotation(row.rotation),
        policy=row.policy,
        versions=tuple(versions),
    )


def _rotation_json(rotation: Rotation) -> dict[str, Any]:
    rotated, since = (moment.isoformat() if moment else None for moment in (rotation.rotated, rotation.since))
    rules = dict(rotation.rules)
    return {"function": rotation.function, "enabled": rotation.enabled, "rotated": rotated, "rules": rules, "since": since}


def _rotation(stored: dict[str, Any]) -> Rotation:
    # Rules are of a later release than the rest.
    times = {name: stored.get(name) for name in ("rotated", "since")}
    read = {name: datetime.fromisoformat(text) if text else None for name, text in times.items()}
    return Rotation(function=stored["function"], enabled=stored["enabled"], rules=stored.get("rules") or {}, **read)


def _version(row: Row[*tuple[Any, ...]], value: SecretValue) -> SecretVersion:
    return SecretVersion(
        id=row.version_id, value=value, stages=frozenset(row.stages), created=row.created.replace(tzinfo=UTC)
    )


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)
