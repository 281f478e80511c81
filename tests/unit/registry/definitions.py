"""Records, and short calls of the registry's service."""

import json
from typing import Any

from penstock.registry.model import Schema, SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.schema.compatibility import CompatibilityMode

__all__ = ["KEY", "create", "numbers", "record"]

KEY = SchemaKey("r", "s")


def record(**fields: Any) -> str:
    """A definition whose fields are ``name=type`` or ``name=(type, default)``."""
    members = [
        {"name": name, "type": kind[0], "default": kind[1]} if isinstance(kind, tuple) else {"name": name, "type": kind}
        for name, kind in fields.items()
    ]
    return json.dumps({"type": "record", "name": "R", "fields": members})


def create(
    service: RegistryService, mode: str = "BACKWARD", definition: str | None = None, **more: Any
) -> tuple[Schema, Any]:
    """The schema and its first version, None without a definition."""
    more = {"registry": "r", "name": "s", **more}
    expected = NewSchema(data_format="AVRO", compatibility=CompatibilityMode(mode), definition=definition, **more)
    return service.schemas.create(expected)


def numbers(service: RegistryService) -> list[tuple[int, str]]:
    return [(head.number, head.status) for head in service.versions.list(KEY, size=100).items]
