"""Glue's registry operations: each reads a request's shape, calls the registry's service, and returns a response's shape."""

from typing import Any

from penstock.api.aws.protocol.operations import AnyHandler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, present
from penstock.api.aws.registry.resources import TagOwner, policy_handlers, tag_handlers
from penstock.api.aws.registry.shapes import number_of, registry_of, schema_of, timestamp
from penstock.api.aws.registry.versions import version_handlers
from penstock.registry.identity import DEFAULT_REGISTRY
from penstock.registry.model import AVAILABLE, Registry, Schema, SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.schema.compatibility import CompatibilityMode

__all__ = ["operations"]

# Answered from memory or by one or two indexed reads.
_INLINE = frozenset({"GetRegistry", "GetSchema", "GetSchemaVersion", "GetTags"})
_MISPLACED = {
    "UpdateSchema": {
        "SchemaDefinition": "UpdateSchema takes no SchemaDefinition: it changes a schema's compatibility, checkpoint and "
        "description only. Register the new definition as the next version: RegisterSchemaVersion, which is "
        "register_schema_version in boto3."
    }
}
_DELETING = "DELETING"
_PAGE = 25


def operations(service: RegistryService, *, tag_owners: tuple[TagOwner, ...] = ()) -> OperationSet:
    """Return the 20 registry operations, the three on tags and the four on resource policies.

    ``tag_owners`` keep tags for ARNs of other kinds (databases, connections, crawlers); the first that owns an ARN is used.
    """
    schemas, registries = _Schemas(service), _Registries(service)
    handlers: dict[str, AnyHandler] = {
        "CreateRegistry": registries.create,
        "GetRegistry": registries.get,
        "ListRegistries": registries.list,
        "UpdateRegistry": registries.update,
        "DeleteRegistry": registries.delete,
        "CreateSchema": schemas.create,
        "GetSchema": schemas.get,
        "ListSchemas": schemas.list,
        "UpdateSchema": schemas.update,
        "DeleteSchema": schemas.delete,
        **version_handlers(service),
        **tag_handlers((service.tags, *tag_owners)),
        **policy_handlers(service.resource_policies),
    }
    return OperationSet(service="glue", handlers=handlers, inline=_INLINE, misplaced=_MISPLACED)


class _Registries:
    """Operations on registries."""

    def __init__(self, service: RegistryService) -> None:
        self._service = service
        self._registries = service.registries

    def create(self, request: Request, _: RequestContext) -> Request:
        tags = request.get("Tags")
        registry = self._registries.create(request["RegistryName"], description=request.get("Description"), tags=tags)
        return present(**self._named(registry.name), Description=registry.description, Tags=tags or {})

    def get(self, request: Request, _: RequestContext) -> Request:
        return self._shape(self._registries.get(registry_of(self._service.identity, request["RegistryId"])))

    def list(self, request: Request, _: RequestContext) -> Request:
        page = self._registries.list(token=request.get("NextToken"), size=request.get("MaxResults", _PAGE))
        return present(Registries=[self._shape(registry) for registry in page.items], NextToken=page.next_token)

    def update(self, request: Request, _: RequestContext) -> Request:
        name = registry_of(self._service.identity, request["RegistryId"])
        self._registries.update(name, description=request["Description"])
        return self._named(name)

    def delete(self, request: Request, _: RequestContext) -> Request:
        name = registry_of(self._service.identity, request["RegistryId"])
        self._service.configs.check_deletable(name)
        self._registries.delete(name)
        return {**self._named(name), "Status": _DELETING}

    def _named(self, name: str) -> dict[str, Any]:
        return {"RegistryName": name, "RegistryArn": self._service.identity.registry_arn(name)}

    def _shape(self, registry: Registry) -> Request:
        return present(
            **self._named(registry.name),
            Description=registry.description,
            Status=AVAILABLE,
            CreatedTime=timestamp(registry.created),
            UpdatedTime=timestamp(registry.updated),
        )


class _Schemas:
    """Operations on schemas."""

    def __init__(self, service: RegistryService) -> None:
        self._service = service
        self._schemas = service.schemas

    def create(self, request: Request, _: RequestContext) -> Request:
        identity, registry_id = self._service.identity, request.get("RegistryId")
        # The Java serde sends an empty RegistryId if it has no registry name.
        registry_name = registry_of(identity, registry_id) if registry_id else None
        # The default registry is created on demand even if it is named: serdes name it without creating it first.
        registry = None if registry_name == DEFAULT_REGISTRY else registry_name
        key = SchemaKey(registry or DEFAULT_REGISTRY, request["SchemaName"])
        self._service.configs.check_writable(key, with_id="SchemaDefinition" not in request)
        schema, version = self._schemas.create(
            NewSchema(
                name=request["SchemaName"],
                registry=registry,
                data_format=request["DataFormat"],
                compatibility=CompatibilityMode(request.get("Compatibility", CompatibilityMode.NONE)),
                description=request.get("Description"),
                definition=request.get("SchemaDefinition"),
                tags=request.get("Tags"),
            )
        )
        return present(
            **self._named(schema.key),
            **self._policy(schema),
            RegistryArn=identity.registry_arn(schema.key.registry),
            Description=schema.description,
            Tags=request.get("Tags") or {},
            SchemaVersionId=version.id if version else None,
            SchemaVersionStatus=version.status if version else None,
        )

    def get(self, request: Request, _: RequestContext) -> Request:
        schema = self._schemas.get(schema_of(self._service.identity, request["SchemaId"]))
        registry_arn = self._service.identity.registry_arn(schema.key.registry)
        return present(**self._shape(schema), **self._policy(schema), RegistryArn=registry_arn)

    def list(self, request: Request, _: RequestContext) -> Request:
        registry_id = request.get("RegistryId")
        registry = registry_of(self._service.identity, registry_id) if registry_id else None
        page = self._schemas.list(registry, token=request.get("NextToken"), size=request.get("MaxResults", _PAGE))
        shown = [{**self._shape(schema), "SchemaStatus": AVAILABLE} for schema in page.items]
        return present(Schemas=shown, NextToken=page.next_token)

    def update(self, request: Request, _: RequestContext) -> Request:
        key = schema_of(self._service.identity, request["SchemaId"])
        checkpoint, mode = request.get("SchemaVersionNumber"), request.get("Compatibility")
        number = number_of(checkpoint) if checkpoint else None
        self._service.configs.check_writable(key)
        self._schemas.update(
            key,
            compatibility=CompatibilityMode(mode) if mode else None,
            checkpoint=number,
            latest=bool(checkpoint) and number is None,
            description=request.get("Description"),
        )
        return self._named(key)

    def delete(self, request: Request, _: RequestContext) -> Request:
        key = schema_of(self._service.identity, request["SchemaId"])
        self._service.configs.check_writable(key)
        self._schemas.delete(key)
        return {"SchemaArn": self._service.identity.schema_arn(key), "SchemaName": key.name, "Status": _DELETING}

    def _named(self, key: SchemaKey) -> dict[str, Any]:
        return {"RegistryName": key.registry, "SchemaName": key.name, "SchemaArn": self._service.identity.schema_arn(key)}

    def _shape(self, schema: Schema) -> dict[str, Any]:
        return present(
            **self._named(schema.key),
            Description=schema.description,
            CreatedTime=timestamp(schema.created),
            UpdatedTime=timestamp(schema.updated),
        )

    def _policy(self, schema: Schema) -> dict[str, Any]:
        return {
            "DataFormat": schema.data_format,
            "Compatibility": self._schemas.effective(schema).value,
            "SchemaCheckpoint": schema.checkpoint,
            "LatestSchemaVersion": schema.latest,
            "NextSchemaVersion": schema.next_number,
            "SchemaStatus": AVAILABLE,
        }
