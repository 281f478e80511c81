"""Registrations in one line, for tests."""

from collections.abc import Sequence
from typing import Any

from penstock.registry.model import SchemaKey, Version
from penstock.registry.service import RegistryService
from penstock.registry.versions.registration import Registration
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict

__all__ = ["check_compatibility", "register"]


def register(service: RegistryService, key: SchemaKey, definition: str, **more: Any) -> Version:
    """Register ``definition``; ``more`` are members of :class:`Registration`."""
    return service.versions.register(Registration(key=key, definition=definition, **more))


def check_compatibility(
    service: RegistryService,
    key: SchemaKey,
    definition: str,
    *,
    mode: CompatibilityMode | None = None,
    against: Sequence[int] | None = None,
    **more: Any,
) -> CompatibilityVerdict:
    """Check ``definition``; ``more`` are members of :class:`Registration`."""
    return service.versions.check_compatibility(
        Registration(key=key, definition=definition, **more), mode=mode, against=against
    )
