"""Schema versions in SQL: added in one transaction, found by one indexed read, then cached."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import and_, not_, select, tuple_

from penstock.registry.audit import Actor
from penstock.registry.errors import MissingReference, SchemaIdTaken
from penstock.registry.identity import config_scopes, schema_resource
from penstock.registry.model import AVAILABLE, EffectiveSchema, NewVersion, SchemaKey, Version, VersionHead
from penstock.registry.store import Added
from penstock.schema.compatibility import CompatibilityMode
from penstock.store.sql.audit import Change
from penstock.store.sql.database import retried
from penstock.store.sql.direct import DirectTransaction
from penstock.store.sql.registry.base import RegistryDatabase
from penstock.store.sql.registry.ids import SqlSchemaIds
from penstock.store.sql.registry.rows import key_parameters, to_head, to_schema, to_version, version_row
from penstock.store.sql.registry.statements import BODY, HEAD, JOINED, SCOPES, beginning_with, is_schema
from penstock.store.sql.registry.tables import schema_references, schema_versions, schemas
from penstock.store.sql.times import micros

__all__ = ["NewRow", "SqlVersions"]


class NewRow(NamedTuple):
    """A version to be inserted; ``schema_row`` is the id of its schema's row, ``restored`` if its own row exists."""

    version: Version
    schema_row: int
    actor: Actor
    restored: bool = False


class SqlVersions:
    """:class:`penstock.registry.store.VersionStore`."""

    def __init__(self, shared: RegistryDatabase, ids: SqlSchemaIds) -> None:
        self._database = shared.database
        self._direct = shared.direct
        self._statements = shared.statements
        self._cache = shared.cache
        self._audit = shared.audit
        self._ids = ids

    @contextmanager
    def session(self) -> Iterator[None]:
        with self._database.pin_connection(), self._cache.snapshot():
            yield

    def get_effective_schema(self, key: SchemaKey) -> EffectiveSchema | None:
        scopes = dict(zip(SCOPES, config_scopes(key), strict=True))
        row = self._direct.first(self._statements.effective, {**key_parameters(key), **scopes})
        # The decision on this revision compares with the versions of this revision or a later one.
        self._cache.refresh()
        if row is None:
            return None
        inherited = row["inherited"]
        tags = self._direct.all(self._statements.tags, {"r_resource": schema_resource(key)}) if row["tagged"] else ()
        return EffectiveSchema(
            schema=to_schema(row),
            mode=row["mode"],
            inherited=None if inherited is None else CompatibilityMode(inherited),
            tags={tag["key"]: tag["value"] for tag in tags},
        )

    def add(self, new: Sequence[NewVersion]) -> Sequence[Added]:
        together = [place for place, step in enumerate(new) if _shares_transaction(step)]
        alone = [place for place, step in enumerate(new) if not _shares_transaction(step)]
        # PostgreSQL's writers lock the rows that they change: two that change several in different orders would deadlock.
        together.sort(key=lambda place: new[place].version.key)
        groups = [together] if together else []
        groups += [[place] for place in alone]
        added: dict[int, Added] = {}
        for places in groups:
            added.update(zip(places, self._add_group([new[place] for place in places]), strict=True))
        return [added[place] for place in range(len(new))]

    def _add_group(self, steps: Sequence[NewVersion]) -> Sequence[Added]:
        """Add all, or none, in one transaction."""
        stamp = self._cache.stamp()
        try:
            added = self._write(steps)
        except (SchemaIdTaken, MissingReference) as error:
            return [error]
        except Exception as error:
            if isinstance(error, self._direct.Conflict) or self._database.is_retryable(error):
                return [None] * len(steps)
            raise
        if any(step.replaces is not None for step in steps):
            self._cache.forget()
            return added
        for version in added:
            if version is not None:
                # The next version will be compared with this one.
                self._cache.put((*version.key, version.number), version, stamp)
        return added

    @retried
    def _write(self, steps: Sequence[NewVersion]) -> Sequence[Version | None]:
        with self._direct.write() as transaction:
            moved = [self._move(transaction, step) for step in steps]
            going = [(place, row) for place, row in enumerate(moved) if row is not None]
            for place, _ in going:
                self._make_room(transaction, steps[place])
            rows = [
                NewRow(step.version, row, step.actor, restored=step.replaces == step.version.id)
                for step, row in ((steps[place], row) for place, row in going)
            ]
            added: list[Version | None] = [None] * len(steps)
            for (place, _), version in zip(going, self.insert(transaction, rows), strict=True):
                added[place] = version
            return added

    def _move(self, transaction: DirectTransaction, step: NewVersion) -> int | None:
        """Move the schema to its next revision; return its row's id, or None if it has another revision."""
        version = step.version
        parameters = {
            **key_parameters(version.key),
            "r_revision": step.revision,
            "r_number": version.number,
            "r_updated": micros(version.created),
            "r_latest": version.number if version.status == AVAILABLE and version.deleted is None else None,
        }
        moved = transaction.run(self._statements.next_version, parameters)
        return None if moved is None else moved["id"]

    def _make_room(self, transaction: DirectTransaction, step: NewVersion) -> None:
        if step.replaces is None:
            return
        if step.replaces != step.version.id:
            transaction.run(self._statements.remove_version, {"r_id": step.replaces})
        transaction.run(self._statements.count_deletion, {})

    def insert(self, transaction: DirectTransaction, rows: Sequence[NewRow]) -> Sequence[Version]:
        """Insert versions with their schema ids, and record it; :class:`SchemaIdTaken`, :class:`MissingReference`."""
        if not rows:
            return []
        statements = self._statements
        ids = self._ids.assign(transaction, [row.version for row in rows])
        stored = [replace(row.version, schema_id=schema_id) for row, schema_id in zip(rows, ids, strict=True)]
        new = []
        for row, version in zip(rows, stored, strict=True):
            columns = version_row(version)
            if row.restored:
                parameters = {f"n_{name}": value for name, value in columns.items()}
                transaction.run(statements.restore_version, {"r_id": version.id, **parameters})
                transaction.run(statements.drop_references, {"r_id": version.id})
            else:
                new.append({"schema_id": row.schema_row, **columns})
        transaction.run_all(statements.add_version, new)
        for version in stored:
            self._add_references(transaction, version)
        self._audit.write(transaction, [_change(version, row.actor) for row, version in zip(rows, stored, strict=True)])
        return stored

    def _add_references(self, transaction: DirectTransaction, version: Version) -> None:
        targets: dict[str, None] = {}
        for reference in version.references:
            parameters = {**key_parameters(reference.key), "r_number": reference.number}
            target = transaction.run(self._statements.target, parameters)
            if target is None:
                raise MissingReference(reference.name, reference.key, reference.number)
            targets[target["id"]] = None
        for target_id in targets:
            transaction.run(self._statements.add_reference, {"version_id": version.id, "target_id": target_id})

    def get(self, version_id: str) -> Version | None:
        return self._cache.read(version_id, self._statements.by_id, {"r_id": version_id})

    def get_numbered(self, key: SchemaKey, number: int) -> Version | None:
        parameters = {**key_parameters(key), "r_number": number}
        return self._cache.read((*key, number), self._statements.by_number, parameters)

    def find(self, key: SchemaKey, fingerprint: str) -> Version | None:
        parameters = {**key_parameters(key), "r_fingerprint": fingerprint}
        return self._cache.read((*key, fingerprint), self._statements.by_fingerprint, parameters)

    def list(self, key: SchemaKey, after: int | None, count: int, *, deleted: bool = False) -> Sequence[VersionHead]:
        query = select(*HEAD).select_from(JOINED).where(is_schema(key)).order_by(schema_versions.c.number).limit(count)
        if after is not None:
            query = query.where(schema_versions.c.number > after)
        if not deleted:
            query = query.where(schema_versions.c.deleted.is_(None))
        with self._database.read() as connection:
            return [to_head(row) for row in connection.execute(query).mappings()]

    def scan(
        self, registry: str | None, prefix: str, after: tuple[SchemaKey, int] | None, count: int, *, deleted: bool
    ) -> Sequence[Version]:
        query = select(*BODY).select_from(JOINED).where(schema_versions.c.status == AVAILABLE)
        query = query.order_by(schemas.c.registry, schemas.c.name, schema_versions.c.number).limit(count)
        if prefix:
            query = query.where(beginning_with(schemas.c.name, prefix))
        if registry is not None:
            query = query.where(schemas.c.registry == registry)
        if not deleted:
            query = query.where(schema_versions.c.deleted.is_(None))
        if after is not None:
            key, number = after
            # The range of schemas is found by their index; of the first one, what was listed is left out.
            query = query.where(
                tuple_(schemas.c.registry, schemas.c.name) >= tuple_(*key),
                not_(and_(is_schema(key), schema_versions.c.number <= number)),
            )
        with self._database.read() as connection:
            return [to_version(row) for row in connection.execute(query).mappings()]

    def list_referrers(self, version_id: str) -> Sequence[VersionHead]:
        query = (
            select(*HEAD)
            .select_from(JOINED.join(schema_references, schema_references.c.version_id == schema_versions.c.id))
            .where(schema_references.c.target_id == version_id)
            .order_by(schemas.c.registry, schemas.c.name, schema_versions.c.number)
        )
        with self._database.read() as connection:
            return [to_head(row) for row in connection.execute(query).mappings()]


def _shares_transaction(step: NewVersion) -> bool:
    """Return whether it can share a transaction: versions with a schema id, references or a predecessor can fail alone."""
    return not step.version.schema_id and not step.version.references and step.replaces is None


def _change(version: Version, actor: Actor) -> Change:
    outcome = f"version {version.number} {version.status}, id {version.id}, schema id {version.schema_id}"
    return Change(actor, "RegisterVersion", schema_resource(version.key), outcome)
