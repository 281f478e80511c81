"""Scope configs and resource policies in SQL."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.engine import RowMapping

from penstock.registry.model import ResourcePolicy, ScopeConfig
from penstock.store.sql.audit import write_audit
from penstock.store.sql.database import retried
from penstock.store.sql.registry.base import RegistryDatabase
from penstock.store.sql.registry.rows import config_row, to_config
from penstock.store.sql.registry.statements import beginning_with
from penstock.store.sql.registry.tables import resource_policies, scope_configs
from penstock.store.sql.times import micros, time_of

__all__ = ["SqlConfigs", "SqlResourcePolicies"]


class SqlConfigs:
    """:class:`penstock.registry.store.ConfigStore`."""

    def __init__(self, shared: RegistryDatabase) -> None:
        self._database = shared.database
        self._direct = shared.direct
        self._statements = shared.statements

    def get(self, scopes: Sequence[str]) -> Mapping[str, ScopeConfig]:
        configs: dict[str, ScopeConfig] = {}
        for start in range(0, len(scopes), 3):
            chosen = scopes[start : start + 3]
            parameters = {f"r_{place + 1}": chosen[min(place, len(chosen) - 1)] for place in range(3)}
            configs |= {row["scope"]: to_config(row) for row in self._direct.all(self._statements.configs, parameters)}
        return configs

    def list(self, prefix: str) -> Sequence[ScopeConfig]:
        query = select(scope_configs).where(beginning_with(scope_configs.c.scope, prefix)).order_by(scope_configs.c.scope)
        with self._database.read() as connection:
            return [to_config(row) for row in connection.execute(query).mappings()]

    @retried
    def change(self, scope: str, change: Callable[[ScopeConfig], ScopeConfig]) -> ScopeConfig | None:
        mine = scope_configs.c.scope == scope
        with self._database.write() as connection:
            row = connection.execute(select(scope_configs).where(mine)).mappings().first()
            empty = ScopeConfig(scope=scope)
            before = empty if row is None else to_config(row)
            after = change(before)
            if after != before:
                connection.execute(delete(scope_configs).where(mine))
                if after != empty:
                    connection.execute(insert(scope_configs).values(**config_row(after)))
                write_audit(connection, "DeletePolicy" if after == empty else "PutPolicy", scope, str(after))
        return None if row is None else before


class SqlResourcePolicies:
    """:class:`penstock.registry.store.ResourcePolicyStore`."""

    def __init__(self, shared: RegistryDatabase) -> None:
        self._database = shared.database

    def get(self, resource: str) -> ResourcePolicy | None:
        with self._database.read() as connection:
            return _resource_policy(connection, resource)

    def list(self, after: str | None, count: int) -> Sequence[ResourcePolicy]:
        query = select(resource_policies).order_by(resource_policies.c.resource).limit(count)
        if after is not None:
            query = query.where(resource_policies.c.resource > after)
        with self._database.read() as connection:
            return [_to_resource_policy(row) for row in connection.execute(query).mappings()]

    @retried
    def put(self, policy: ResourcePolicy, check: Callable[[ResourcePolicy | None], None]) -> ResourcePolicy:
        with self._database.write() as connection:
            stored = _resource_policy(connection, policy.resource)
            check(stored)
            if stored is not None:
                policy = replace(policy, created=stored.created)
                connection.execute(delete(resource_policies).where(resource_policies.c.resource == policy.resource))
            times = {"created": micros(policy.created), "updated": micros(policy.updated)}
            row = {"resource": policy.resource, "policy": policy.text, "hash": policy.hash, **times}
            connection.execute(insert(resource_policies).values(**row))
            write_audit(connection, "PutResourcePolicy", policy.resource, f"hash {policy.hash}")
        return policy

    @retried
    def delete(self, resource: str, check: Callable[[ResourcePolicy | None], None]) -> None:
        with self._database.write() as connection:
            check(_resource_policy(connection, resource))
            connection.execute(delete(resource_policies).where(resource_policies.c.resource == resource))
            write_audit(connection, "DeleteResourcePolicy", resource, "deleted")


def _resource_policy(connection: Connection, resource: str) -> ResourcePolicy | None:
    query = select(resource_policies).where(resource_policies.c.resource == resource)
    row = connection.execute(query).mappings().first()
    return None if row is None else _to_resource_policy(row)


def _to_resource_policy(row: RowMapping) -> ResourcePolicy:
    return ResourcePolicy(
        resource=row["resource"],
        text=row["policy"],
        hash=row["hash"],
        created=time_of(row["created"]),
        updated=time_of(row["updated"]),
    )
