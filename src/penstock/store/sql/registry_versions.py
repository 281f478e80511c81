"""Versions of the registry's SQL store: registered in one transaction, found by one indexed read, from memory once read."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import and_, not_, select, tuple_

from penstock.registry.audit import acting
from penstock.registry.errors import MissingReference, SerialTaken
from penstock.registry.identity import schema_resource
from penstock.registry.model import AVAILABLE, NewVersion, SchemaKey, Version, VersionHead
from penstock.store.sql.database import retried
from penstock.store.sql.direct import DirectTransaction
from penstock.store.sql.registry_deletion import DeletionRows
from penstock.store.sql.registry_rows import micros, to_head, to_version, version_row
from penstock.store.sql.registry_statements import BODY, HEAD, JOINED, beginning_with, is_schema, naming
from penstock.store.sql.registry_tables import schema_references, schema_versions, schemas

__all__ = ["VersionRows"]


class VersionRows(DeletionRows):
    """Rows of versions; what each method does is in :class:`penstock.registry.store.RegistryStore`."""

    def add_version(self, version: Version, *, revision: int, replaces: str | None) -> Version | None:
        added = self._add_version(version, revision, replaces)
        if replaces is not None:
            self._cache.forget()
        return added

    def add_versions(self, wanted: Sequence[NewVersion]) -> Sequence[Version | None]:
        # PostgreSQL's writers lock the rows that they change: two that change several in another order would wait for each
        # other.
        if len(wanted) == 1 or not self._database.is_sqlite:
            return [self._added(step) for step in wanted]
        added: list[Version | None] = []
        stamp = self._cache.stamp()
        try:
            with self._direct.write() as transaction:
                for step in wanted:
                    with acting(step.actor):
                        added.append(self._write(transaction, step.version, step.revision, None))
        except (self._direct.Conflict, SerialTaken, MissingReference):
            return [None] * len(wanted)
        for version in added:
            if version is not None:
                # The next version is held against this one.
                self._cache.put((*version.key, version.number), version, stamp)
        return added

    def _added(self, step: NewVersion) -> Version | None:
        try:
            with acting(step.actor):
                return self.add_version(step.version, revision=step.revision, replaces=None)
        except (SerialTaken, MissingReference):
            return None

    @retried
    def _add_version(self, version: Version, revision: int, replaces: str | None) -> Version | None:
        try:
            with self._direct.write() as transaction:
                return self._write(transaction, version, revision, replaces)
        except self._direct.Conflict as error:
            if self._database.again(error):
                raise
            return None

    def _write(
        self, transaction: DirectTransaction, version: Version, revision: int, replaces: str | None
    ) -> Version | None:
        step = {
            **naming(version.key),
            "r_revision": revision,
            "r_number": version.number,
            "r_updated": micros(version.created),
            "r_latest": version.number if version.status == AVAILABLE and version.deleted is None else None,
        }
        statements = self._statements
        moved = transaction.run(statements.next_version, step)
        if moved is None:
            return None
        if replaces is not None:
            if replaces != version.id:
                transaction.run(statements.remove_version, {"r_id": replaces})
            transaction.run(statements.count_deletion, {})
        return self._insert_version(transaction, version, moved["id"], restored=replaces == version.id)

    def _insert_version(
        self, transaction: DirectTransaction, version: Version, schema_id: int, *, restored: bool = False
    ) -> Version:
        statements = self._statements
        stored = replace(version, serial=self._serial(transaction, version))
        row = version_row(stored)
        if restored:
            transaction.run(
                statements.restore_version, {"r_id": version.id, **{f"n_{name}": value for name, value in row.items()}}
            )
            transaction.run(statements.drop_references, {"r_id": version.id})
        else:
            transaction.run(statements.add_version, {"schema_id": schema_id, **row})
        targets: dict[str, None] = {}
        for reference in version.references:
            target = transaction.run(statements.target, {**naming(reference.key), "r_number": reference.number})
            if target is None:
                raise MissingReference(reference.name, reference.key, reference.number)
            targets[target["id"]] = None
        for target_id in targets:
            transaction.run(statements.add_reference, {"version_id": version.id, "target_id": target_id})
        outcome = f"version {stored.number} {stored.status}, id {stored.id}, serial {stored.serial}"
        self._record(transaction, "RegisterVersion", schema_resource(version.key), outcome)
        return stored

    def _serial(self, transaction: DirectTransaction, version: Version) -> int:
        """The serial of the version's definition in its registry, given now where it has none."""
        statements, registry = self._statements, version.key.registry
        content = {
            "r_registry": registry,
            "r_format": version.data_format,
            "r_fingerprint": version.fingerprint,
        }
        known = transaction.run(statements.serial_of, content)
        if version.serial:
            return self._taken_over(transaction, version, None if known is None else known["serial"], content)
        if known is None:
            given = transaction.run(statements.next_serial, {})
            # Others waited for that row, or this one for them: who comes second finds what the first one stored.
            known = None if self._database.is_sqlite else transaction.run(statements.serial_of, content)
            if known is None and given is not None:
                serial: int = given["number"]
                self._keep_serial(transaction, version, serial)
                return serial
        known_serial: int = known["serial"] if known is not None else 0
        return known_serial

    def _taken_over(
        self, transaction: DirectTransaction, version: Version, known: int | None, content: dict[str, str]
    ) -> int:
        """The serial that an import asks for; :class:`SerialTaken` where a stored version stands against it."""
        statements, registry, serial = self._statements, version.key.registry, version.serial
        named = {"r_registry": registry, "r_serial": serial}
        if known == serial:
            return serial
        # Imports queue here for each other and for all that need a new serial.
        transaction.run(statements.raise_serials, {"r_serial": serial})
        if known is not None:
            if transaction.run(statements.carrier_of, {"r_registry": registry, "r_serial": known}) is not None:
                raise SerialTaken(registry, serial, known)
            transaction.run(statements.forget_content, content)
        if transaction.run(statements.holder_of, named) is not None:
            if transaction.run(statements.carrier_of, named) is not None:
                raise SerialTaken(registry, serial)
            transaction.run(statements.drop_serial, named)
        self._keep_serial(transaction, version, serial)
        return serial

    def _keep_serial(self, transaction: DirectTransaction, version: Version, serial: int) -> None:
        transaction.run(
            self._statements.add_serial,
            {
                "registry": version.key.registry,
                "serial": serial,
                "data_format": version.data_format,
                "fingerprint": version.fingerprint,
            },
        )

    def get_version(self, version_id: str) -> Version | None:
        return self._one(version_id, self._statements.by_id, {"r_id": version_id})

    def get_version_numbered(self, key: SchemaKey, number: int) -> Version | None:
        return self._one((*key, number), self._statements.by_number, {**naming(key), "r_number": number})

    def find_version(self, key: SchemaKey, fingerprint: str) -> Version | None:
        return self._one((*key, fingerprint), self._statements.by_fingerprint, {**naming(key), "r_fingerprint": fingerprint})

    def get_version_with_serial(self, registry: str, serial: int) -> Version | None:
        named = {"r_registry": registry, "r_serial": serial}
        return self._one(("serial", registry, serial, ""), self._statements.by_serial, named)

    def list_versions_with_serial(self, registry: str | None, serial: int) -> Sequence[VersionHead]:
        query = select(*HEAD).select_from(JOINED).where(schema_versions.c.serial == serial)
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
