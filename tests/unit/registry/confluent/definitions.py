"""Definitions that build on each other, and short calls."""

import json
from typing import Any

from penstock.registry.model import SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.schema.compatibility import CompatibilityMode

__all__ = ["KEY", "USER", "create", "record"]

KEY, USER = SchemaKey("r", "s"), SchemaKey("r", "user")


def record(**fields: Any) -> str:
    members = [
        {"name": name, "type": kind[0], "default": kind[1]} if isinstance(kind, tuple) else {"name": name, "type": kind}
        for name, kind in fields.items()
    ]
    return json.dumps({"type": "record", "name": "R", "fields": members})


def create(service: RegistryService, name: str, definition: str | None = None, mode: str | None = None, **more: Any) -> Any:
    """The first version, None without a definition."""
    level = None if mode is None else CompatibilityMode(mode)
    more = {"data_format": "AVRO", **more}
    expected = NewSchema(registry="r", name=name, definition=definition, compatibility=level, **more)
    return service.schemas.create(expected)[1]
