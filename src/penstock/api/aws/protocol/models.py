"""AWS's service models as botocore ships them: operations by target, errors, and shapes.

A model is read from botocore's files on the first request to its service. Importing botocore's loader would import an HTTP
client, and take ten times as long.
"""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from penstock.errors import EnvironmentProblem

__all__ = ["QUERY", "REST", "SERVICES", "ServiceModel", "load_model"]

# Services that this server serves; every other one is unknown to it.
SERVICES = (
    *("athena", "cloudtrail", "glue", "iam", "lakeformation", "logs", "organizations", "resourcegroupstaggingapi"),
    *("secretsmanager", "sts"),
)

_GLOBAL = frozenset({"iam", "organizations", "sts"})

# Members of shapes that only document; dropping them halves a model's size in memory.
_PROSE = ("documentation", "deprecatedMessage")


QUERY = "query "
REST = "rest "


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceModel:
    """One service's model. ``operations`` and ``shapes`` are those of service-2.json, by name.

    ``query``: it has the query protocol instead of JSON; its targets begin with :data:`QUERY` and its version. Those of a
    service of REST with JSON, whose operations are all paths of their own, begin with :data:`REST` and its name.
    """

    name: str
    signing_name: str
    target_prefix: str
    query: bool
    xml_namespace: str
    operations: Mapping[str, Mapping[str, Any]]
    shapes: Mapping[str, Mapping[str, Any]]

    @property
    def internal_error(self) -> str:
        """The code of the service's internal errors (Glue: InternalServiceException)."""
        for name, shape in sorted(self.shapes.items()):
            if shape.get("exception") and shape.get("fault"):
                return name
        return "InternalFailure"

    @property
    def statuses(self) -> dict[str, int]:
        """The HTTP status of each modelled error that has one, by its code in answers."""
        errors = {name: shape["error"] for name, shape in self.shapes.items() if "httpStatusCode" in shape.get("error", {})}
        return {error.get("code", name): error["httpStatusCode"] for name, error in errors.items()}

    @property
    def rest(self) -> bool:
        """Whether its operations are paths, each a POST with a JSON body."""
        return self.target_prefix.startswith(REST)

    @property
    def global_service(self) -> bool:
        """Whether the service is one for all regions, so that its requests may always be signed for us-east-1."""
        return self.name in _GLOBAL

    @property
    def message_keys(self) -> dict[str, str]:
        """How each modelled error spells the member with its message."""
        return {
            name: "Message"
            for name, shape in self.shapes.items()
            if shape.get("exception") and "Message" in shape["members"]
        }


@cache
def load_model(service: str) -> ServiceModel:
    """Return the model of a service in :data:`SERVICES`; raise :class:`EnvironmentProblem` if botocore lacks it."""
    raw = _read(service)
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
        target_prefix=_target_prefix(service, metadata),
        query=metadata["protocol"] == "query",
        xml_namespace=metadata.get("xmlNamespace", ""),
        operations=raw["operations"],
        shapes=raw["shapes"],
    )


def _target_prefix(service: str, metadata: Mapping[str, Any]) -> str:
    if metadata["protocol"] == "rest-json":
        return f"{REST}{service}"
    return str(metadata.get("targetPrefix", f"{QUERY}{metadata['apiVersion']}"))


def _read(service: str) -> dict[str, Any]:
    """Return the newest service-2.json of ``service``, without botocore's additions, which are about its own clients."""
    package = find_spec("botocore")
    folders = list(package.submodule_search_locations or ()) if package is not None else []
    files = [file for folder in folders for file in Path(folder, "data", service).glob("*/service-2.json*")]
    if not files:
        raise EnvironmentProblem(
            f"botocore's model of {service} was not found.", remedy="Install Penstock again: its botocore is incomplete."
        )
    # API versions are dates, and name the folder.
    newest = max(files, key=lambda file: file.parent.name)
    content = newest.read_bytes()
    model: dict[str, Any] = orjson.loads(gzip.decompress(content) if newest.suffix == ".gz" else content)
    return model
