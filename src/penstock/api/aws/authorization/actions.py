"""Which resources an action is authorized on: ARNs from a checked request.

Source: the service authorization reference, and "Overview of managing access permissions" in Glue's developer guide: an
action on a schema is also authorized on its registry, and an action on a table on its database and the catalog. Lists are
authorized on ``registry/*``, ``crawler/*`` and the like, so that a caller who may read one of them does not see the names
of all. Lists of databases and tables are authorized on their container, and then on each member (:mod:`.containers`).
"""

from collections.abc import Mapping, Sequence

from penstock.api.aws.authorization.glue_resources import GLUE
from penstock.api.aws.authorization.identity_resources import IAM, ORGANIZATIONS, STS
from penstock.api.aws.authorization.other_resources import ATHENA, LOGS, SECRETS
from penstock.api.aws.authorization.resource_context import EVERYTHING, Builder, ResourceContext
from penstock.api.aws.protocol.values import Request
from penstock.names import account_of

__all__ = ["action_name", "named_account", "resources_of"]

# Services whose actions have another prefix than their name in botocore: service authorization reference.
_PREFIXES = {"resourcegroupstaggingapi": "tag"}
_BUILDERS: Mapping[str, Mapping[str, Builder]] = {
    "athena": ATHENA,
    "glue": GLUE,
    "iam": IAM,
    "logs": LOGS,
    "organizations": ORGANIZATIONS,
    "secretsmanager": SECRETS,
    "sts": STS,
}


def named_account(service: str, request: Request) -> str | None:
    """Return the account that a request names by an ARN or a CatalogId; None if it names none."""
    if service == "glue":
        catalog = request.get("CatalogId")
        if catalog is not None and len(catalog) == 12 and catalog.isdigit():
            return str(catalog)
        for container, member in (("SchemaId", "SchemaArn"), ("RegistryId", "RegistryArn")):
            found = request.get(container)
            if found:
                text = found.get(member)
                return None if text is None else account_of(text)
        text = request.get("ResourceArn")
    else:
        text = request.get("SecretId") if service == "secretsmanager" else None
    return account_of(text) if text is not None else None


def action_name(service: str, operation: str) -> str:
    """Return the action of an operation, as policies write it."""
    return f"{_PREFIXES.get(service, service)}:{operation}"


def resources_of(service: str, operation: str, request: Request, context: ResourceContext) -> Sequence[str]:
    """Return the ARNs, or :data:`EVERYTHING`."""
    builders = _BUILDERS.get(service)
    if builders is None:
        return EVERYTHING
    builder = builders.get(operation)
    return EVERYTHING if builder is None else builder(request, context)
