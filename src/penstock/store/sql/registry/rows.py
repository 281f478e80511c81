"""Convert rows of the registry's tables from and to its values."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.engine import RowMapping

from penstock.registry.model import Reference, Registry, Schema, SchemaKey, ScopeConfig, Version, VersionHead
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict, Conflict
from penstock.store.sql.direct import Row
from penstock.store.sql.times import micros, time_of

__all__ = [
    "config_row",
    "key_parameters",
    "schema_row",
    "to_config",
    "to_head",
    "to_registry",
    "to_schema",
    "to_version",
    "version_row",
]

_INHERITED = ""  # as a schema's compatibility


def key_parameters(key: SchemaKey) -> dict[str, Any]:
    """The parameters that name a schema."""
    return {"r_registry": key.registry, "r_name": key.name}


def schema_row(schema: Schema) -> dict[str, Any]:
    """Return every column of a schema except its row's id."""
    return {
        "registry": schema.key.registry,
        "name": schema.key.name,
        "data_format": schema.data_format,
        "compatibility": schema.compatibility or _INHERITED,
        "description": schema.description,
        "checkpoint": schema.checkpoint,
        "latest": schema.latest,
        "next_number": schema.next_number,
        "revision": schema.revision,
        "created": micros(schema.created),
        "updated": micros(schema.updated),
    }


def version_row(version: Version) -> dict[str, Any]:
    """Return every column of a version except its schema's row id."""
    return {
        "id": version.id,
        "number": version.number,
        "status": version.status,
        "fingerprint": version.fingerprint,
        "definition": version.definition,
        "verdict": None if version.verdict is None else _verdict_text(version.verdict),
        "created": micros(version.created),
        "serial": version.schema_id,
        "refers_to": _references_text(version.references) if version.references else None,
        "deleted": None if version.deleted is None else micros(version.deleted),
        "contract": version.contract,
    }


def config_row(config: ScopeConfig) -> dict[str, Any]:
    """Every column of a scope config."""
    mode = None if config.compatibility is None else config.compatibility.value
    return {
        "scope": config.scope,
        "compatibility": mode,
        "mode": config.mode,
        "normalize": _bit(config.normalize),
        "alias": config.alias,
        "validate_fields": _bit(config.validate_fields),
        "compatibility_policy": config.compatibility_policy,
        "compatibility_group": config.compatibility_group,
        "default_metadata": config.default_metadata,
        "override_metadata": config.override_metadata,
    }


def to_registry(row: Row | RowMapping) -> Registry:
    """A registry."""
    return Registry(
        name=row["name"],
        description=row["description"],
        created=time_of(row["created"]),
        updated=time_of(row["updated"]),
    )


def to_schema(row: Row | RowMapping) -> Schema:
    """A schema."""
    return Schema(
        key=SchemaKey(row["registry"], row["name"]),
        data_format=row["data_format"],
        compatibility=CompatibilityMode(row["compatibility"]) if row["compatibility"] != _INHERITED else None,
        description=row["description"],
        checkpoint=row["checkpoint"],
        latest=row["latest"],
        next_number=row["next_number"],
        revision=row["revision"],
        created=time_of(row["created"]),
        updated=time_of(row["updated"]),
    )


def to_head(row: Row | RowMapping) -> VersionHead:
    """A version without its text, from a row joined with its schema's."""
    return VersionHead(**_head(row))


def to_version(row: Row | RowMapping) -> Version:
    """A version, from a row joined with its schema's."""
    return Version(
        **_head(row),
        definition=row["definition"],
        fingerprint=row["fingerprint"],
        verdict=None if row["verdict"] is None else _read_verdict(row["verdict"]),
        references=() if row["refers_to"] is None else _read_references(row["refers_to"]),
        contract=row["contract"],
    )


def to_config(row: Row | RowMapping) -> ScopeConfig:
    """A scope config."""
    mode = row["compatibility"]
    return ScopeConfig(
        scope=row["scope"],
        compatibility=None if mode is None else CompatibilityMode(mode),
        mode=row["mode"],
        normalize=_said(row["normalize"]),
        alias=row["alias"],
        validate_fields=_said(row["validate_fields"]),
        compatibility_policy=row["compatibility_policy"],
        compatibility_group=row["compatibility_group"],
        default_metadata=row["default_metadata"],
        override_metadata=row["override_metadata"],
    )


def _bit(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _said(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _head(row: Row | RowMapping) -> dict[str, Any]:
    return {
        "id": row["id"],
        "key": SchemaKey(row["registry"], row["name"]),
        "number": row["number"],
        "status": row["status"],
        "data_format": row["data_format"],
        "created": time_of(row["created"]),
        "schema_id": row["serial"],
        "deleted": None if row["deleted"] is None else time_of(row["deleted"]),
    }


def _references_text(references: Sequence[Reference]) -> str:
    return json.dumps([[reference.name, reference.registry, reference.schema, reference.number] for reference in references])


def _read_references(text: str) -> tuple[Reference, ...]:
    return tuple(
        Reference(name=name, registry=registry, schema=schema, number=number)
        for name, registry, schema, number in json.loads(text)
    )


def _verdict_text(verdict: CompatibilityVerdict) -> str:
    conflicts = [conflict.to_json() for conflict in verdict.conflicts]
    return json.dumps({"mode": verdict.mode.value, "checked": verdict.checked, "conflicts": conflicts})


def _read_verdict(text: str) -> CompatibilityVerdict:
    value: Mapping[str, Any] = json.loads(text)
    return CompatibilityVerdict(
        mode=CompatibilityMode(value["mode"]),
        checked=tuple(value["checked"]),
        conflicts=tuple(Conflict.from_json(conflict) for conflict in value["conflicts"]),
    )
