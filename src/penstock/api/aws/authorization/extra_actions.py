"""The actions that a request needs besides its own: its caller has to be allowed each of them.

Sources: the service authorization reference for a passed role; Athena user guide, "Configure access to databases and tables
in the AWS Glue Data Catalog", for what Athena reads of Glue's catalog. What a statement reads is authorized when it is
read, by the ``catalog_access`` of its request's context.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from penstock.access.errors import NotAuthorized
from penstock.api.aws.authorization.actions import resources_of
from penstock.api.aws.authorization.resource_context import ResourceContext
from penstock.api.aws.protocol.values import Request
from penstock.names import account_of, arn, canonical
from penstock.registry.identity import DEFAULT_REGISTRY
from penstock.registry.versions.references import declared_references

__all__ = [
    "PASS_ROLE",
    "PUT_OBJECT",
    "ExtraActions",
    "extra_actions",
    "iam_condition_keys",
    "passed_to_service",
    "result_objects",
]

PASS_ROLE = "iam:PassRole"
PUT_OBJECT = "s3:PutObject"

ExtraActions = Sequence[tuple[str, Sequence[str]]]
"""Actions, each with the ARNs that it is authorized on."""

# Prefixes of operations that take a table, a partition or tags.
_WRITING = ("BatchCreate", "BatchUpdate", "Create", "Update", "TagResource")
_DECLARING = {"CreateSchema": "Tags", "TagResource": "TagsToAdd"}
_WITH_ROLE: Mapping[str, Callable[[Request], str | None]] = {
    **dict.fromkeys(("CreateCrawler", "UpdateCrawler"), lambda request: request.get("Role")),
    **dict.fromkeys(("CreateJob", "CreateSession"), lambda request: request["Role"]),
    "UpdateJob": lambda request: request["JobUpdate"].get("Role"),
    **dict.fromkeys(
        ("CreateTableOptimizer", "UpdateTableOptimizer"),
        lambda request: request["TableOptimizerConfiguration"].get("roleArn"),
    ),
}
"""Operations of Glue that pass a role to it, and the role's name or ARN."""

_BOUNDED: Mapping[str, str] = {
    operation.format(entity_type.capitalize()): entity_type
    for entity_type in ("user", "role")
    for operation in (
        *("Create{}", "Put{}PermissionsBoundary", "Delete{}PermissionsBoundary"),
        *("Put{}Policy", "Delete{}Policy", "Attach{}Policy", "Detach{}Policy"),
    )
}
"""Operations of IAM with the condition key iam:PermissionsBoundary, and the kind of their entity."""

_METADATA: Mapping[str, Callable[[Request], tuple[str, Request]]] = {
    "GetDatabase": lambda request: ("GetDatabase", {"Name": request["DatabaseName"]}),
    "ListDatabases": lambda _request: ("GetDatabases", {}),
    "GetTableMetadata": lambda request: (
        "GetTable",
        {"DatabaseName": request["DatabaseName"], "Name": request["TableName"]},
    ),
    "ListTableMetadata": lambda request: ("GetTables", {"DatabaseName": request["DatabaseName"]}),
}
"""Athena's operations on the catalog, and Glue's that correspond."""

_TAGGED = {"TagResources": "TagResource", "UntagResources": "UntagResource"}
_TAGGING: Mapping[str, Callable[[str], str]] = {
    "athena": lambda _operation: "TagResource",
    "glue": lambda _operation: "TagResource",
    "iam": lambda operation: operation.replace("Create", "Tag", 1),
    "logs": lambda _operation: "TagResource",
    "organizations": lambda _operation: "TagResource",
    "secretsmanager": lambda _operation: "TagResource",
}
"""By service, the action that sets the tags of a new resource."""


def extra_actions(service: str, operation: str, request: Request, context: ResourceContext) -> ExtraActions:
    """Return the further actions of a request.

    Creating a resource with tags needs the action of tagging, because conditions read tags. A table that refers to a schema
    returns the schema's columns, and a schema whose tags name the schemas that it builds on returns their definitions: the
    caller has to be allowed to read the schemas that the request names. A crawler's role is passed to Glue, and the
    connections that it reads through are its caller's to read; a role of another account raises
    :class:`~penstock.access.errors.NotAuthorized`.
    """
    if service == "lakeformation" and operation.startswith("GetTemporaryGlue"):
        # The answer tells where the table is.
        database, _, name = str(request["TableArn"]).partition(":table/")[2].partition("/")
        return [("glue:GetTable", resources_of("glue", "GetTable", {"DatabaseName": database, "Name": name}, context))]
    if service == "resourcegroupstaggingapi" and operation in _TAGGED:
        # The service's own action on each resource, as at AWS.
        action = _TAGGED[operation]
        owners = [(text.split(":", 3)[2], text) for text in request["ResourceARNList"] if text.count(":") >= 5]
        return [(f"{owner}:{action}", resources_of(owner, action, _naming(text), context)) for owner, text in owners]
    return [*_tags_set(service, operation, request, context), *_named_in(service, operation, request, context)]


def _naming(text: str) -> Request:
    """Return a request on the resource of an ARN, by the members that the services name it by."""
    return dict.fromkeys(("ResourceArn", "ResourceARN", "resourceArn", "SecretId"), text)


def _tags_set(service: str, operation: str, request: Request, context: ResourceContext) -> ExtraActions:
    if not (request.get("Tags") or request.get("tags")) or service not in _TAGGING or not operation.startswith("Create"):
        return ()
    new_resource = resources_of(service, operation, request, context)[-1]
    # The same resources as TagResource is authorized on later: for a schema also its registry.
    resources = (
        resources_of("glue", "TagResource", {"ResourceArn": new_resource}, context) if service == "glue" else (new_resource,)
    )
    return [(f"{service}:{_TAGGING[service](operation)}", resources)]


def _named_in(service: str, operation: str, request: Request, context: ResourceContext) -> ExtraActions:
    """Return the actions on other resources that a request names."""
    if service == "athena" and operation in _METADATA:
        name, glue_request = _METADATA[operation](request)
        return [(f"glue:{name}", resources_of("glue", name, glue_request, context))]
    function = request.get("RotationLambdaARN") if service == "secretsmanager" else None
    if function:
        return [("lambda:InvokeFunction", (function,))]
    if service == "iam" and operation == "AddRoleToInstanceProfile":
        return [(PASS_ROLE, (_role_arn(request["RoleName"], context),))]
    if service != "glue" or not operation.startswith(_WRITING):
        return ()
    if operation in _WITH_ROLE:
        role = _WITH_ROLE[operation](request)
        passed = [] if role is None else [(PASS_ROLE, (_role_arn(role, context),))]
        return [*passed, *_connections_crawled(request, context)]
    needed = [_read("GetSchemaVersion", reference, context) for reference in _schema_references(request)]
    member = _DECLARING.get(operation)
    tags = request.get(member) if member is not None else None
    if tags:
        registry = resources_of(service, operation, request, context)[0].rpartition(":")[2].split("/")[1:2]
        for reference in declared_references(tags, registry[0] if registry else DEFAULT_REGISTRY):
            key = {"RegistryName": reference.key.registry, "SchemaName": reference.key.name}
            needed.append(_read("GetSchema", {"SchemaId": key}, context))
    started = _started(request.get("TriggerUpdate") or request, context) if operation.endswith("Trigger") else ()
    return [*started, *(("glue:GetSchemaVersion", resources) for resources in needed)]


def _connections_crawled(request: Request, context: ResourceContext) -> ExtraActions:
    """Return the right to read each connection, with its login, that a crawler's targets name."""
    names = {jdbc_target.get("ConnectionName") for jdbc_target in (request.get("Targets") or {}).get("JdbcTargets") or ()}
    return [
        ("glue:GetConnection", resources_of("glue", "GetConnection", {"Name": name}, context))
        for name in sorted(name for name in names if name)
    ]


def _started(trigger: Request, context: ResourceContext) -> ExtraActions:
    """Return the actions of starting what a trigger starts: it would do so without its author later."""
    actions: list[tuple[str, Sequence[str]]] = []
    for action in trigger.get("Actions") or ():
        if action.get("JobName"):
            actions.append(("glue:StartJobRun", (context.glue(f"job/{action['JobName']}"),)))
        if action.get("CrawlerName"):
            actions.append(("glue:StartCrawler", (context.glue(f"crawler/{action['CrawlerName']}"),)))
    return actions


def result_objects(service: str, operation: str, request: Request) -> Sequence[str]:
    """Return ARNs of the objects that a request writes to a location that it names. A result's id is not known yet."""
    if (service, operation) != ("athena", "StartQueryExecution"):
        return ()
    _, scheme, location = request.get("ResultConfiguration", {}).get("OutputLocation", "").partition("://")
    return (
        tuple(f"arn:aws:s3:::{location.rstrip('/')}/{UUID(int=0)}.{ending}" for ending in ("csv", "txt")) if scheme else ()
    )


def passed_to_service(service: str) -> str:
    """Return ``iam:PassedToService``: the service that a request passes a role to; for an instance profile it is EC2."""
    return "ec2.amazonaws.com" if service == "iam" else f"{service}.amazonaws.com"


def iam_condition_keys(operation: str, request: Request, context: ResourceContext) -> Mapping[str, str]:
    """Return the condition keys of a request to IAM: the policy that it names, and a permissions boundary.

    Source: service authorization reference, "Condition keys for AWS Identity and Access Management": an operation that
    creates or bounds a user or role has the boundary in the request; one that changes its policies has its current boundary.
    """
    keys = {"iam:policyarn": request["PolicyArn"]} if "PolicyArn" in request else {}
    entity_type = _BOUNDED.get(operation)
    if entity_type is not None:
        name = request["UserName" if entity_type == "user" else "RoleName"]
        setting = operation.startswith(("Create", "Put")) and not operation.endswith("Policy")
        boundary = request.get("PermissionsBoundary") if setting else context.lookup.boundary_of(entity_type, name)
        if boundary is not None:
            keys["iam:permissionsboundary"] = boundary
    return keys


def _read(operation: str, request: Request, context: ResourceContext) -> Sequence[str]:
    return resources_of("glue", operation, request, context)


def _schema_references(value: Any) -> Sequence[Request]:
    """Return every SchemaReference within the tables and partitions of a request."""
    if isinstance(value, Mapping):
        # In a table's parameters, the same key may have a string as its value.
        own = [value["SchemaReference"]] if isinstance(value.get("SchemaReference"), Mapping) else []
        return [*own, *(reference for item in value.values() for reference in _schema_references(item))]
    return [reference for item in value for reference in _schema_references(item)] if isinstance(value, list) else []


def _role_arn(role: str, context: ResourceContext) -> str:
    """Return the ARN of a role that is given by ARN or by name."""
    if not role.startswith("arn:"):
        stored_arn = context.lookup.entity_arn("role", role.rpartition("/")[2])
        return stored_arn or arn("iam", "", context.account, f"role/{role}")
    if account_of(role) != context.account:
        raise NotAuthorized("Cross-account pass role is not allowed.", remedy=f"Give a role of account {context.account}.")
    return canonical(role)
