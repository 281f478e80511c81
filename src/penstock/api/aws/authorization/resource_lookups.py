"""The resources of operations that name them by an ARN in part, by an id, or not at all: what no template writes."""

from collections.abc import Sequence
from functools import lru_cache

from penstock.access.identities.accounts import account_arn
from penstock.api.aws.authorization.resource_context import EVERYTHING, ResourceContext
from penstock.api.aws.protocol.values import Request
from penstock.names import arn, canonical
from penstock.registry.identity import DEFAULT_REGISTRY, registry_resource, schema_resource
from penstock.registry.model import SchemaKey

__all__ = [
    "account",
    "athena_tagged",
    "glue_named",
    "linked_role",
    "log_search",
    "log_stream_resource",
    "logs_tagged",
    "new_oidc_provider",
    "new_schema",
    "optimized_tables",
    "registry",
    "registry_or_all",
    "schema",
    "schema_version",
    "secret",
    "secret_or_all",
    "work_groups_of",
]

_NAMING_ACCOUNTS = ("AccountId", "ChildId", "CreateAccountRequestId", "ResourceId", "TargetId")


def registry(request: Request, context: ResourceContext) -> Sequence[str]:
    """The registry of ``RegistryId``, the default one without it."""
    registry_id = request.get("RegistryId") or {}
    text = registry_id.get("RegistryArn")
    if text:
        return (canonical(text),)
    return (context.glue(registry_resource(registry_id.get("RegistryName") or DEFAULT_REGISTRY)),)


def registry_or_all(request: Request, context: ResourceContext) -> Sequence[str]:
    """The registry of ``RegistryId``, all without it."""
    return registry(request, context) if request.get("RegistryId") else (context.glue("registry/*"),)


def schema(request: Request, context: ResourceContext) -> Sequence[str]:
    """The schema of ``SchemaId``, and its registry."""
    schema_id = request.get("SchemaId") or {}
    text = schema_id.get("SchemaArn")
    if not text:
        key = SchemaKey(schema_id.get("RegistryName", ""), schema_id.get("SchemaName", ""))
        return _arns_of_schema(context.region, context.account, key)
    text = canonical(text)
    head, _, resource = text.rpartition(":")
    parts = resource.split("/")
    # The handler rejects an ARN that is not a schema's; here it is authorized as it is.
    return (f"{head}:{registry_resource(parts[1])}", text) if len(parts) == 3 else (text,)


@lru_cache(maxsize=4096)
def _arns_of_schema(region: str, account: str, key: SchemaKey) -> Sequence[str]:
    # Called for each read by id: to authorize it, and for its audit event.
    return tuple(
        arn("glue", region, account, resource) for resource in (registry_resource(key.registry), schema_resource(key))
    )


def new_schema(request: Request, context: ResourceContext) -> Sequence[str]:
    """The schema that is to be created, and its registry."""
    (its_registry,) = registry(request, context)
    head, _, resource = its_registry.rpartition(":")
    name = resource.partition("/")[2]
    return (its_registry, f"{head}:{schema_resource(SchemaKey(name, request['SchemaName']))}")


def schema_version(request: Request, context: ResourceContext) -> Sequence[str]:
    """The schema of a version that is named by its id, or by schema and number."""
    version_id = request.get("SchemaVersionId")
    if not version_id:
        return schema(request, context)
    key = context.lookup.schema_of_version(version_id)
    # An unknown id is authorized on all schemas, so that a caller who may not read them all cannot find out which exist.
    return (context.glue("schema/*"),) if key is None else _arns_of_schema(context.region, context.account, key)


def glue_named(request: Request, context: ResourceContext) -> Sequence[str]:
    """The resource of ``ResourceArn``, the catalog without it. A schema's registry belongs to it, as where it is named."""
    text = request.get("ResourceArn")
    if not text:
        return (context.glue("catalog"),)
    text = canonical(text)
    head, _, resource = text.rpartition(":")
    parts = resource.split("/")
    return (f"{head}:{registry_resource(parts[1])}", text) if parts[0] == "schema" and len(parts) == 3 else (text,)


def optimized_tables(request: Request, context: ResourceContext) -> Sequence[str]:
    """The tables of ``Entries``, with their databases and the catalog."""
    resources = ["catalog"]
    for entry in request.get("Entries") or ():
        database, table = entry.get("databaseName", "*"), entry.get("tableName", "*")
        resources += [f"database/{database}".lower(), f"table/{database}/{table}".lower()]
    return [context.glue(resource) for resource in dict.fromkeys(resources)]


def linked_role(request: Request, context: ResourceContext) -> Sequence[str]:
    """The roles that are linked to a service, which a deletion's task id names."""
    task = str(request.get("DeletionTaskId", "")).split("/")
    service = request.get("AWSServiceName") or (task[2] if len(task) > 2 else "*")
    return (arn("iam", "", context.account, f"role/aws-service-role/{service}/*"),)


def new_oidc_provider(request: Request, context: ResourceContext) -> Sequence[str]:
    """The provider that is to be created."""
    return (arn("iam", "", context.account, f"oidc-provider/{request['Url'].removeprefix('https://')}"),)


def account(request: Request, context: ResourceContext) -> Sequence[str]:
    """The account that a request to Organizations names; its root and units are named by the same members."""
    account_id = next(filter(None, map(request.get, _NAMING_ACCOUNTS))).removeprefix("car-")
    return (account_arn(account_id, context.account),) if account_id.isdigit() else EVERYTHING


def work_groups_of(request: Request, context: ResourceContext) -> Sequence[str]:
    """The work groups of the statements or named queries of a request; of unknown ones, any."""
    ids: list[str] = []
    for member in ("QueryExecutionId", "NamedQueryId"):
        ids += [request[member]] if member in request else []
    ids += request.get("QueryExecutionIds") or request.get("NamedQueryIds") or []
    names = {context.lookup.work_group_of(any_id) or "*" for any_id in ids} or {"*"}
    return [arn("athena", context.region, context.account, f"workgroup/{name}") for name in sorted(names)]


def athena_tagged(request: Request, _context: ResourceContext) -> Sequence[str]:
    """The resource of ``ResourceARN``."""
    return (canonical(request["ResourceARN"]),)


def secret(request: Request, context: ResourceContext) -> Sequence[str]:
    """The secret of ``SecretId``, which is its name or its ARN in part."""
    secret_id = request["SecretId"]
    stored_arn = context.lookup.secret_arn(secret_id)
    if stored_arn is None and not secret_id.startswith("arn:"):
        return (arn("secretsmanager", context.region, context.account, f"secret:{secret_id}"),)
    return (stored_arn or secret_id,)


def secret_or_all(request: Request, context: ResourceContext) -> Sequence[str]:
    """The secret of ``SecretId``; the policy that is checked may belong to none."""
    return secret(request, context) if "SecretId" in request else EVERYTHING


def log_stream_resource(group: str | None, stream: str, context: ResourceContext) -> str:
    """Return the ARN of a log's stream; that of its group, as AWS's decisions name it, for an empty ``stream``."""
    return arn("logs", context.region, context.account, f"log-group:{group or '*'}:log-stream:{stream}")


def logs_tagged(request: Request, context: ResourceContext) -> Sequence[str]:
    """The log group of ``resourceArn``, as operations have it that name the group."""
    parts = str(request["resourceArn"]).split(":", 6)
    name = parts[6].removesuffix(":*") if parts[5:6] == ["log-group"] and len(parts) == 7 else "*"
    return (log_stream_resource(name, "", context),)


def log_search(request: Request, context: ResourceContext) -> Sequence[str]:
    """The group, on which alone AWS authorizes a search, and the streams: a search of one that is denied is denied, too."""
    names = ("", *(request.get("logStreamNames") or ()))
    return [log_stream_resource(request.get("logGroupName"), name, context) for name in names]
