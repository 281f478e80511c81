"""The registry's statements: those of hot paths, built once and ready for one database, and the parts others share."""

from typing import Any

from sqlalchemy import ColumnElement, Dialect, FromClause, and_, bindparam, case, delete, exists, func, select, update

from penstock.registry.model import AVAILABLE, READONLY_OVERRIDE, SchemaKey
from penstock.store.sql.direct import Prepared, insert_all
from penstock.store.sql.registry.tables import (
    registries,
    registry_epoch,
    registry_tags,
    schema_id_counter,
    schema_ids,
    schema_references,
    schema_versions,
    schemas,
    scope_configs,
)

__all__ = [
    "BODY",
    "COUNT_DELETION",
    "HEAD",
    "JOINED",
    "REGISTRY",
    "SCOPES",
    "Statements",
    "beginning_with",
    "is_schema",
]

HEAD = (
    schema_versions.c.id,
    schemas.c.registry,
    schemas.c.name,
    schemas.c.data_format,
    schema_versions.c.number,
    schema_versions.c.status,
    schema_versions.c.created,
    schema_versions.c.serial,
    schema_versions.c.deleted,
)
BODY = (
    *HEAD,
    schema_versions.c.definition,
    schema_versions.c.fingerprint,
    schema_versions.c.verdict,
    schema_versions.c.refers_to,
    schema_versions.c.contract,
)
JOINED = schema_versions.join(schemas, schema_versions.c.schema_id == schemas.c.id)

# Parameters are named r_ where a column has the same name.
_ONE_SCHEMA = and_(schemas.c.registry == bindparam("r_registry"), schemas.c.name == bindparam("r_name"))
_VERSION = select(*BODY).select_from(JOINED)
_BY_SCHEMA_ID = (
    _VERSION.where(
        schema_versions.c.serial == bindparam("r_schema_id"),
        schemas.c.registry == bindparam("r_registry"),
        schema_versions.c.status == AVAILABLE,
    )
    .order_by(case((schema_versions.c.deleted.is_(None), 0), else_=1), schemas.c.name, schema_versions.c.number)
    .limit(1)
)
REGISTRY = select(registries).where(registries.c.name == bindparam("r_name"))

_NEAREST = [scope_configs.alias(name) for name in ("own", "registrys", "stores")]
# In the order of config_scopes of the registry: the nearest first.
SCOPES = ("r_resource", "r_above", "r_top")
_WITH_CONFIGS: FromClause = schemas
for _config, _scope in zip(_NEAREST, SCOPES, strict=True):
    _WITH_CONFIGS = _WITH_CONFIGS.outerjoin(_config, _config.c.scope == bindparam(_scope))
_EFFECTIVE = (
    select(
        schemas,
        case(
            (_NEAREST[-1].c.mode == READONLY_OVERRIDE, READONLY_OVERRIDE),
            else_=func.coalesce(*(config.c.mode for config in _NEAREST)),
        ).label("mode"),
        func.coalesce(*(config.c.compatibility for config in _NEAREST)).label("inherited"),
        exists().where(registry_tags.c.resource == bindparam("r_resource")).label("tagged"),
    )
    .select_from(_WITH_CONFIGS)
    .where(_ONE_SCHEMA)
)

_NUMBER = bindparam("r_number", type_=schemas.c.next_number.type)
_LATEST = bindparam("r_latest", type_=schemas.c.latest.type)
_NEXT_VERSION = (
    update(schemas)
    .where(_ONE_SCHEMA, schemas.c.revision == bindparam("r_revision"))
    .values(
        next_number=case((schemas.c.next_number > _NUMBER, schemas.c.next_number), else_=_NUMBER + 1),
        revision=schemas.c.revision + 1,
        updated=bindparam("r_updated"),
        latest=case((schemas.c.latest > func.coalesce(_LATEST, 0), schemas.c.latest), else_=_LATEST),
    )
    .returning(schemas.c.id)
)
COUNT_DELETION = update(registry_epoch).where(registry_epoch.c.id == 1).values(number=registry_epoch.c.number + 1)
_SAME_CONTENT = and_(
    schema_ids.c.registry == bindparam("r_registry"),
    schema_ids.c.data_format == bindparam("r_format"),
    schema_ids.c.fingerprint == bindparam("r_fingerprint"),
)
_SAME_ID = and_(schema_ids.c.registry == bindparam("r_registry"), schema_ids.c.serial == bindparam("r_schema_id"))


class Statements:
    """The statements of the hot paths, ready for one database."""

    def __init__(self, dialect: Dialect) -> None:
        def ready(statement: Any) -> Prepared:
            return Prepared(dialect, statement)

        self.registry = ready(REGISTRY)
        self.schema = ready(select(schemas).where(_ONE_SCHEMA))
        self.effective = ready(_EFFECTIVE)
        self.by_id = ready(_VERSION.where(schema_versions.c.id == bindparam("r_id")))
        self.by_number = ready(_VERSION.where(_ONE_SCHEMA, schema_versions.c.number == bindparam("r_number")))
        self.by_fingerprint = ready(_VERSION.where(_ONE_SCHEMA, schema_versions.c.fingerprint == bindparam("r_fingerprint")))
        self.by_schema_id = ready(_BY_SCHEMA_ID)
        self.tags = ready(
            select(registry_tags.c.key, registry_tags.c.value)
            .where(registry_tags.c.resource == bindparam("r_resource"))
            .order_by(registry_tags.c.key)
        )
        self.configs = ready(
            select(scope_configs).where(scope_configs.c.scope.in_([bindparam("r_1"), bindparam("r_2"), bindparam("r_3")]))
        )
        self.next_version = ready(_NEXT_VERSION)
        self.remove_version = ready(delete(schema_versions).where(schema_versions.c.id == bindparam("r_id")))
        self.restore_version = ready(
            update(schema_versions)
            .where(schema_versions.c.id == bindparam("r_id"))
            .values(
                {
                    name: bindparam(f"n_{name}")
                    for name in schema_versions.columns.keys()  # noqa: SIM118
                    if name not in {"id", "schema_id"}
                }
            )
        )
        self.count_deletion = ready(COUNT_DELETION)
        self.add_schema = ready(insert_all(schemas, but="id").returning(schemas.c.id))
        self.add_version = ready(insert_all(schema_versions))
        self.add_tag = ready(insert_all(registry_tags))
        self.schema_id_of = ready(select(schema_ids.c.serial).where(_SAME_CONTENT))
        self.holder_of = ready(select(schema_ids.c.data_format, schema_ids.c.fingerprint).where(_SAME_ID))
        self.carrier_of = ready(
            select(schema_versions.c.id)
            .select_from(JOINED)
            .where(schema_versions.c.serial == bindparam("r_schema_id"), schemas.c.registry == bindparam("r_registry"))
            .limit(1)
        )
        self.next_schema_ids = ready(
            update(schema_id_counter)
            .where(schema_id_counter.c.id == 1)
            .values(number=schema_id_counter.c.number + bindparam("r_count"))
            .returning(schema_id_counter.c.number)
        )
        self.raise_schema_ids = ready(
            update(schema_id_counter)
            .where(schema_id_counter.c.id == 1, schema_id_counter.c.number < bindparam("r_schema_id"))
            .values(number=bindparam("r_schema_id"))
        )
        self.add_schema_id = ready(insert_all(schema_ids))
        self.drop_schema_id = ready(delete(schema_ids).where(_SAME_ID))
        self.forget_content = ready(delete(schema_ids).where(_SAME_CONTENT))
        self.target = ready(
            select(schema_versions.c.id)
            .select_from(JOINED)
            .where(_ONE_SCHEMA, schema_versions.c.number == bindparam("r_number"))
        )
        self.add_reference = ready(insert_all(schema_references))
        self.drop_references = ready(delete(schema_references).where(schema_references.c.version_id == bindparam("r_id")))


def is_schema(key: SchemaKey) -> ColumnElement[bool]:
    """The condition that the row of ``schemas`` is the one of ``key``."""
    return and_(schemas.c.registry == key.registry, schemas.c.name == key.name)


def beginning_with(column: ColumnElement[str], prefix: str) -> ColumnElement[bool]:
    """The condition that ``column`` begins with ``prefix``: a range, because SQLite's LIKE ignores case."""
    return and_(column >= prefix, column < prefix + "\U0010ffff")
