"""AWS's service models as botocore ships them: operations by target, errors, and shapes.

A model is read when its service is first asked for (20 ms for Glue's), without botocore's sessions or clients.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from botocore.loaders import Loader

__all__ = ["SERVICES", "ServiceModel", "load_model"]

# Services this server answers for; every other one is unknown to it.
SERVICES = ("athena", "glue", "secretsmanager")

# Members of shapes that only document; dropping them halves what a model weighs in memory.
_PROSE = ("documentation", "deprecatedMessage")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceModel:
    """One service's model. ``operations`` and ``shapes`` are those of service-2.json, by name."""

    name: str
    signing_name: str
    target_prefix: str
    json_version: str
    operations: Mapping[str, Mapping[str, Any]]
    shapes: Mapping[str, Mapping[str, Any]]

    @property
    def internal_error(self) -> str:
        """Code of the service's own fault (Glue: InternalServiceException)."""
        for name, shape in sorted(self.shapes.items()):
            if shape.get("exception") and shape.get("fault"):
                return name
        return "InternalFailure"

    @property
    def message_keys(self) -> dict[str, str]:
        """How each modelled error spells the member that holds its message."""
        return {
            name: "Message"
            for name, shape in self.shapes.items()
            if shape.get("exception") and "Message" in shape["members"]
        }


@cache
def load_model(service: str) -> ServiceModel:
    """The model of a service in :data:`SERVICES`."""
    raw = Loader(include_default_search_paths=True).load_service_model(service, "service-2")
    metadata = raw["metadata"]
    for shape in raw["shapes"].values():
        for key in _PROSE:
            shape.pop(key, None)
        for member in shape.get("members", {}).values():
            for key in _PROSE:
                member.pop(key, None)
    for operation in raw["operations"].values():
        operation.pop("documentation", None)
    return ServiceModel(
        name=service,
        signing_name=metadata.get("signingName", metadata["endpointPrefix"]),
        target_prefix=metadata["targetPrefix"],
        json_version=metadata["jsonVersion"],
        operations=raw["operations"],
        shapes=raw["shapes"],
    )
