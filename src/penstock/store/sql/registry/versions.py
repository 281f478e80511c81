"""Versions of the registry's SQL store: registered in one transaction, found by one indexed read, from memory once read."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import and_, not_, select, tuple_

from penstock.registry.audit import Actor, current_actor
from penstock.registry.errors import MissingReference, SchemaIdDiffers, SchemaIdTaken
from penstock.registry.identity import schema_resource
from penstock.registry.model import AVAILABLE, NewVersion, SchemaKey, Version, VersionHead
from penstock.registry.store import add_alone
from penstock.store.sql.database import retried
from penstock.store.sql.direct import DirectTransaction
from penstock.store.sql.registry.base import Change
from penstock.store.sql.registry.deletion import DeletionRows
from penstock.store.sql.registry.rows import micros, to_head, to_version, version_row
from penstock.store.sql.registry.statements import BODY, HEAD, JOINED, beginning_with, is_schema, naming
from penstock.store.sql.registry.tables import schema_references, schema_versions, schemas

__all__ = ["VersionRows"]


class VersionRows(DeletionRows):
    """Rows of versions; what each method does is in :class:`penstock.registry.store.RegistryStore`."""

    def add_version(self, version: Version, *, revision: int, replaces: str | None) -> Version | None:
        added = self._add_version(version, revision, replaces)
        if replaces is not None:
            self._cache.forget()
        return added

    def add_versions(self, wanted: Sequence[NewVersion]) -> Sequence[Version | None]:
        # One that brings an id of its own, or builds on others, takes steps that only it takes.
        plain = [place for place, step in enumerate(wanted) if not step.version.schema_id and not step.version.references]
        # PostgreSQL's writers lock the rows that they change: two that change several in another order would wait for each
        # other.
        plain.sort(key=lambda place: wanted[place].version.key)
        added = dict(zip(plain, self._added_together([wanted[place] for place in plain]), strict=True))
        return [added[place] if place in added else add_alone(self, step) for place, step in enumerate(wanted)]

    def _added_together(self, steps: Sequence[NewVersion]) -> Sequence[Version | None]:
        if not steps:
            return []
        stamp = self._cache.stamp()
        try:
            with self._direct.write() as transaction:
                added = self._write_together(transaction, steps)
        except Exception as error:
            if isinstance(error, self._direct.Conflict) or self._database.is_retryable(error):
                return [None] * len(steps)
            raise
        for version in added:
            if version is not None:
                # The next version is held against this one.
                self._cache.put((*version.key, version.number), version, stamp)
        return added

    def _write_together(self, transaction: DirectTransaction, steps: Sequence[NewVersion]) -> Sequence[Version | None]:
        moved = [self._move(transaction, step.version, step.revision) for step in steps]
        going = [(place, step, moved[place]) for place, step in enumerate(steps) if moved[place] is not None]
        schema_ids = self._schema_ids(transaction, [step.version for _, step, _ in going])
        added: list[Version | None] = [None] * len(steps)
        rows, changes = [], []
        for (place, step, row_id), schema_id in zip(going, schema_ids, strict=True):
            stored = added[place] = replace(step.version, schema_id=schema_id)
            rows.append({"schema_id": row_id, **version_row(stored)})
            changes.append(_registered(stored, step.actor))
        if rows:
            transaction.run_all(self._statements.add_version, rows)
            self._record(transaction, *changes)
        return added

    @retried
    def _add_version(self, version: Version, revision: int, replaces: str | None) -> Version | None:
        try:
            with self._direct.write() as transaction:
                return self._write(transaction, version, revision, replaces)
        except self._direct.Conflict as error:
            if self._database.is_retryable(error):
                raise
            return None

    def _write(
        self, transaction: DirectTransaction, version: Version, revision: int, replaces: str | None
    ) -> Version | None:
        statements = self._statements
        row_id = self._move(transaction, version, revision)
        if row_id is None:
            return None
        if replaces is not None:
            if replaces != version.id:
                transaction.run(statements.remove_version, {"r_id": replaces})
            transaction.run(statements.count_deletion, {})
        return self._insert_version(transaction, version, row_id, restored=replaces == version.id)

    def _move(self, transaction: DirectTransaction, version: Version, revision: int) -> int | None:
        """Move the schema to its next revision: its row's id, or None where the revision is another."""
        step = {
            **naming(version.key),
            "r_revision": revision,
            "r_number": version.number,
            "r_updated": micros(version.created),
            "r_latest": version.number if version.status == AVAILABLE and version.deleted is None else None,
        }
        moved = transaction.run(self._statements.next_version, step)
        return None if moved is None else moved["id"]

    def _insert_version(
        self, transaction: DirectTransaction, version: Version, row_id: int, *, restored: bool = False
    ) -> Version:
        statements = self._statements
        taken_over = self._taken_over(transaction, version) if version.schema_id else None
        stored = replace(version, schema_id=taken_over or self._schema_ids(transaction, [version])[0])
        row = version_row(stored)
        if restored:
            transaction.run(
                statements.restore_version, {"r_id": version.id, **{f"n_{name}": value for name, value in row.items()}}
            )
            transaction.run(statements.drop_references, {"r_id": version.id})
        else:
            transaction.run(statements.add_version, {"schema_id": row_id, **row})
        targets: dict[str, None] = {}
        for reference in version.references:
            target = transaction.run(statements.target, {**naming(reference.key), "r_number": reference.number})
            if target is None:
                raise MissingReference(reference.name, reference.key, reference.number)
            targets[target["id"]] = None
        for target_id in targets:
            transaction.run(statements.add_reference, {"version_id": version.id, "target_id": target_id})
        self._record(transaction, _registered(stored, current_actor()))
        return stored

    def _schema_ids(self, transaction: DirectTransaction, versions: Sequence[Version]) -> Sequence[int]:
        """The schema ids of the versions' definitions in their registries, given now where they have none."""
        contents = [_Content(version.key.registry, version.data_format, version.fingerprint) for version in versions]
        known = {content: self._schema_id_of(transaction, content) for content in dict.fromkeys(contents)}
        new = [content for content, schema_id in known.items() if schema_id is None]
        if new:
            row = transaction.run(self._statements.next_schema_ids, {"r_count": len(new)})
            first = 0 if row is None else row["number"] - len(new) + 1
            known.update(zip(new, range(first, first + len(new)), strict=True))
            if not self._database.is_sqlite:
                # Others waited for that row, or this one for them: who comes second finds what the first one stored.
                stored = {content: self._schema_id_of(transaction, content) for content in new}
                known |= {content: schema_id for content, schema_id in stored.items() if schema_id is not None}
                new = [content for content, schema_id in stored.items() if schema_id is None]
            self._keep_schema_ids(transaction, {content: known[content] or 0 for content in new})
        return [known[content] or 0 for content in contents]

    def _schema_id_of(self, transaction: DirectTransaction, content: "_Content") -> int | None:
        found = transaction.run(self._statements.schema_id_of, content.named())
        return None if found is None else found["serial"]

    def _taken_over(self, transaction: DirectTransaction, version: Version) -> int:
        """The schema id that an import asks for; :class:`SchemaIdTaken` where a stored version stands against it."""
        statements, registry, schema_id = self._statements, version.key.registry, version.schema_id
        content = _Content(registry, version.data_format, version.fingerprint)
        known = self._schema_id_of(transaction, content)
        named = {"r_registry": registry, "r_schema_id": schema_id}
        if known == schema_id:
            return schema_id
        # Imports queue here for each other and for all that need a new schema id.
        transaction.run(statements.raise_schema_ids, {"r_schema_id": schema_id})
        if known is not None:
            if transaction.run(statements.carrier_of, {"r_registry": registry, "r_schema_id": known}) is not None:
                raise SchemaIdDiffers(registry, schema_id, known)
            transaction.run(statements.forget_content, content.named())
        if transaction.run(statements.holder_of, named) is not None:
            if transaction.run(statements.carrier_of, named) is not None:
                raise SchemaIdTaken(registry, schema_id)
            transaction.run(statements.drop_schema_id, named)
        self._keep_schema_ids(transaction, {content: schema_id})
        return schema_id

    def _keep_schema_ids(self, transaction: DirectTransaction, given: "Mapping[_Content, int]") -> None:
        rows = [{**content._asdict(), "serial": schema_id} for content, schema_id in given.items()]
        transaction.run_all(self._statements.add_schema_id, rows)

    def get_version(self, version_id: str) -> Version | None:
        return self._one(version_id, self._statements.by_id, {"r_id": version_id})

    def get_version_numbered(self, key: SchemaKey, number: int) -> Version | None:
        return self._one((*key, number), self._statements.by_number, {**naming(key), "r_number": number})

    def find_version(self, key: SchemaKey, fingerprint: str) -> Version | None:
        return self._one((*key, fingerprint), self._statements.by_fingerprint, {**naming(key), "r_fingerprint": fingerprint})

    def get_version_with_schema_id(self, registry: str, schema_id: int) -> Version | None:
        named = {"r_registry": registry, "r_schema_id": schema_id}
        return self._one(("schema id", registry, schema_id, ""), self._statements.by_schema_id, named)

    def list_versions_with_schema_id(self, registry: str | None, schema_id: int) -> Sequence[VersionHead]:
        query = select(*HEAD).select_from(JOINED).where(schema_versions.c.serial == schema_id)
        if registry is not None:
            query = query.where(schemas.c.registry == registry)
        query = query.order_by(schemas.c.registry, schemas.c.name, schema_versions.c.number)
        with self._database.read() as connection:
            return [to_head(row) for row in connection.execute(query).mappings()]

    def list_versions(
        self, key: SchemaKey, after: int | None, count: int, *, deleted: bool = False
    ) -> Sequence[VersionHead]:
        query = select(*HEAD).select_from(JOINED).where(is_schema(key)).order_by(schema_versions.c.number).limit(count)
        if after is not None:
            query = query.where(schema_versions.c.number > after)
        if not deleted:
            query = query.where(schema_versions.c.deleted.is_(None))
        with self._database.read() as connection:
            return [to_head(row) for row in connection.execute(query).mappings()]

    def scan_versions(
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

    def referencing(self, version_id: str) -> Sequence[VersionHead]:
        query = (
            select(*HEAD)
            .select_from(JOINED.join(schema_references, schema_references.c.version_id == schema_versions.c.id))
            .where(schema_references.c.target_id == version_id)
            .order_by(schemas.c.registry, schemas.c.name, schema_versions.c.number)
        )
        with self._database.read() as connection:
            return [to_head(row) for row in connection.execute(query).mappings()]


class _Content(NamedTuple):
    """What has one schema id: a definition in a registry."""

    registry: str
    data_format: str
    fingerprint: str

    def named(self) -> dict[str, str]:
        """As parameters."""
        return {"r_registry": self.registry, "r_format": self.data_format, "r_fingerprint": self.fingerprint}


def _registered(version: Version, actor: Actor) -> Change:
    outcome = f"version {version.number} {version.status}, id {version.id}, schema id {version.schema_id}"
    return Change(actor, "RegisterVersion", schema_resource(version.key), outcome)
