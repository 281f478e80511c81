"""Authorization of Confluent's requests by Glue's actions: the same policies hold for both APIs.

A request on an alias is authorized on the alias and on the subject that it stands for. A request by id is authorized on the
subjects that have the id: a caller who may read one of them may read the text, which is the same in all of them. A caller
who may read all of them may read their names.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.access.context_keys import Origin
from penstock.access.errors import NotAuthorized
from penstock.access.principals import Caller
from penstock.api.access_checker import AccessChecker
from penstock.api.confluent.configs import config_members
from penstock.api.confluent.requests import Request, read_references
from penstock.api.tenants import Tenant
from penstock.errors import PenstockError
from penstock.names import arn
from penstock.registry.errors import RegistryNotFound, SchemaNotFound
from penstock.registry.identity import DEFAULT_REGISTRY, registry_resource, schema_resource
from penstock.registry.model import SchemaKey
from penstock.registry.subjects.configs import SubjectConfigs
from penstock.registry.subjects.errors import SchemaTextNotFound
from penstock.registry.subjects.ids import SubjectIds
from penstock.registry.subjects.model import Listing
from penstock.registry.subjects.names import SubjectName, parse_subject
from penstock.registry.subjects.service import Subjects

__all__ = ["UNRESTRICTED", "Permissions"]

UNRESTRICTED = frozenset({"root", "list_types", "cluster", "version"})
"""Routes that reveal nothing that is stored: every caller with a key may call them."""

RequiredActions = Sequence[tuple[str, Sequence[str]]]


class Permissions:
    """Authorizes the requests to one account's registry."""

    def __init__(self, access_checker: AccessChecker, tenant: Tenant) -> None:
        self._access = access_checker
        self._tenant = tenant
        self._configs = SubjectConfigs(tenant.schemas)
        self._ids = SubjectIds(tenant.schemas)
        self._subjects = Subjects(tenant.schemas)

    def is_cached(self, caller: Caller) -> bool:
        """Return whether all policies that :meth:`check` evaluates are in memory."""
        return self._access.is_cached(caller, self._tenant)

    def check(self, caller: Caller, route: str, request: Request, origin: Origin) -> None:
        """Raise :class:`NotAuthorized` unless the caller may send this request to the route."""
        if route in UNRESTRICTED or (caller.is_root and caller.account == self._tenant.account):
            return
        origin = replace(origin, region=self._tenant.schemas.identity.region)
        if route in _BY_ID:
            schemas = self._schemas_with_id(route, request)
            if route in _NAMING_ALL:
                for key in schemas:
                    self._check(caller, "GetSchemaVersion", self.schema(key), origin)
            if route not in _NAMING_ALL or not schemas:
                self._check_any(caller, schemas, origin)
            return
        for action, resources in _REQUIRED_ACTIONS[route](self, request):
            self._check(caller, action, resources, origin)

    def named(self, route: str, request: Request) -> Sequence[str]:
        """Return the ARNs that a request is authorized on, for the audit log."""
        if route in UNRESTRICTED:
            return ()
        if route in _BY_ID:
            keys = self._schemas_with_id(route, request)
            return list(dict.fromkeys(text for key in keys for text in self.schema(key)))
        try:
            arns = [text for _, resources in _REQUIRED_ACTIONS[route](self, request) for text in resources]
        except PenstockError:
            # The body cannot be read or was not retained, so the path has to do.
            arns = list(self.subject(request.subject)) if "subject" in request.parts else []
        return list(dict.fromkeys(arns))

    def shown(self, caller: Caller, route: str, answer: Any, origin: Origin) -> Any:
        """Return ``answer``; if it is a list, without the items that the caller may not see."""
        resources = _NAMED.get(route)
        if resources is None or (caller.is_root and caller.account == self._tenant.account):
            return answer
        actions, name, allowed = resources
        origin = replace(origin, region=self._tenant.schemas.identity.region)
        owner = self._tenant.account
        return [
            entry
            for entry in answer
            if self._access.member_denial(
                caller, actions, name(self, entry), origin, owner=owner, tenant=self._tenant, allowed=allowed
            )
            is None
        ]

    def _check(self, caller: Caller, action: str, resources: Sequence[str], origin: Origin) -> None:
        owner = self._tenant.account
        self._access.check(caller, f"glue:{action}", resources, origin, owner=owner, tenant=self._tenant)

    def _check_any(self, caller: Caller, keys: Sequence[SchemaKey], origin: Origin) -> None:
        refusal: NotAuthorized | None = None
        for key in keys:
            try:
                self._check(caller, "GetSchemaVersion", self.schema(key), origin)
            except NotAuthorized as error:
                refusal = refusal or error
            else:
                return
        if refusal is not None:
            raise refusal
        # An unknown id is authorized on all schemas, so that callers cannot find out which ids exist.
        self._check(caller, "GetSchemaVersion", [self.glue("schema/*")], origin)

    def _schemas_with_id(self, route: str, request: Request) -> Sequence[SchemaKey]:
        """Return the schemas that have the path's id, in the order in which they are tried."""
        try:
            if "guid" in request.parts:
                return [self._ids.by_uuid(request.parts["guid"]).key]
            within = self._ids.resolve_alias(request.within)
            if route in _READING_ONE and within.name:
                # The version that the handler returns.
                return [self._ids.schema(request.schema_id, within).key]
            heads = self._ids.versions(request.schema_id, within, Listing(deleted=True))
        except SchemaTextNotFound:
            return []
        return list(dict.fromkeys(head.key for head in heads))

    def glue(self, resource: str) -> str:
        """Return a Glue ARN of the account."""
        return arn("glue", self._tenant.schemas.identity.region, self._tenant.account, resource)

    def registry(self, name: str | None) -> Sequence[str]:
        """Return the ARN of a registry; for None, of all registries."""
        return [self.glue(registry_resource(name or "*"))]

    def schema(self, key: SchemaKey) -> Sequence[str]:
        """Return the ARNs that an action on a schema is authorized on."""
        return [self.glue(registry_resource(key.registry)), self.glue(schema_resource(key))]

    def subject(self, subject: SubjectName) -> Sequence[str]:
        """Return the ARNs of a subject and, if it is an alias, of the subject that it stands for."""
        keys = dict.fromkeys([subject.key, self._configs.resolve_alias(subject).key])
        return [text for key in keys for text in self.schema(key)]

    def registering(self, request: Request) -> RequiredActions:
        """Return the actions of a new version: registering it, creating a missing subject or context, reading references."""
        resources = self.subject(request.subject)
        required: list[tuple[str, Sequence[str]]] = [("RegisterSchemaVersion", resources)]
        key = self._configs.resolve_alias(request.subject).key
        try:
            self._tenant.schemas.schemas.get(key)
        except SchemaNotFound:
            required.append(("CreateSchema", resources))
            try:
                self._tenant.schemas.registries.get(key.registry)
            except RegistryNotFound:
                required.append(("CreateRegistry", self.registry(key.registry)))
        return [*required, *self.referring(request)]

    def referring(self, request: Request) -> RequiredActions:
        """Return reading of each subject that the body's schema refers to, in the context of the path's resolved subject."""
        references = read_references(request.body)
        context = self._configs.resolve_alias(request.subject).context
        subjects = [parse_subject(reference.subject, context=context) for reference in references]
        return [("GetSchemaVersion", self.subject(subject)) for subject in subjects]

    def listing_texts(self, request: Request) -> RequiredActions:
        """Return reading of all schemas; :meth:`shown` leaves out those that the caller may not read."""
        registry = request.prefix.registry or "*"
        return [("GetSchemaVersion", [*self.registry(registry), self.glue(f"schema/{registry}/*")])]

    def configuring(self, request: Request) -> RequiredActions:
        """Return changing of the settings and, for an alias, reading of the subject that it would stand for."""
        required = self.on_scope(request, "UpdateSchema", "UpdateRegistry")
        scope, alias = request.scope, config_members(request.body).get("alias")
        if scope is None or not alias:
            return required
        return [*required, ("GetSchemaVersion", self.schema(parse_subject(alias, context=scope.context).key))]

    def on_scope(self, request: Request, on_schema: str, on_registry: str) -> RequiredActions:
        """Return an action on the path's subject, else on its context, else on all registries."""
        scope = request.scope
        if scope is not None and scope.name and scope.registry is not None:
            return [(on_schema, self.subject(scope))]
        return [(on_registry, self.registry(scope.registry if scope is not None else None))]


def _on_subject(action: str) -> Callable[[Permissions, Request], RequiredActions]:
    return lambda permissions, request: [(action, permissions.subject(request.subject))]


def _listed(permissions: Permissions, request: Request) -> RequiredActions:
    return [("ListSchemas", permissions.registry(request.prefix.registry))]


def _contexts(permissions: Permissions, _request: Request) -> RequiredActions:
    return [("ListRegistries", permissions.registry(None))]


def _context(permissions: Permissions, request: Request) -> RequiredActions:
    context = parse_subject("", context=request.parts["name"].strip(":"))
    return [("DeleteRegistry", permissions.registry(context.registry))]


def _tested(permissions: Permissions, request: Request) -> RequiredActions:
    # Messages about conflicts quote the schema that the new one is compared with.
    return [("GetSchemaVersion", permissions.subject(request.subject)), *permissions.referring(request)]


def _looked_up(permissions: Permissions, request: Request) -> RequiredActions:
    return [("GetSchemaByDefinition", permissions.subject(request.subject)), *permissions.referring(request)]


def _read_settings(permissions: Permissions, request: Request) -> RequiredActions:
    return permissions.on_scope(request, "GetSchema", "GetRegistry")


def _written_settings(permissions: Permissions, request: Request) -> RequiredActions:
    return permissions.on_scope(request, "UpdateSchema", "UpdateRegistry")


def _subject_named(permissions: Permissions, text: str) -> Sequence[str]:
    return permissions.schema(parse_subject(text, context=".").key)


def _context_named(permissions: Permissions, text: str) -> Sequence[str]:
    return permissions.registry(parse_subject("", context=text).registry or DEFAULT_REGISTRY)


def _schema_listed(permissions: Permissions, entry: Mapping[str, Any]) -> Sequence[str]:
    return _subject_named(permissions, entry["subject"])


_READS = "glue:GetSchemaVersion"
_NAMED: Mapping[str, tuple[Sequence[str], Callable[[Permissions, Any], Sequence[str]], str | None]] = {
    "list_subjects": (("glue:ListSchemas", "glue:GetSchema"), _subject_named, None),
    "list_contexts": (("glue:ListRegistries", "glue:GetRegistry"), _context_named, None),
    "list_schemas": ((_READS,), _schema_listed, _READS),
}
"""Routes that answer lists: the actions that show an item, the function for its ARNs, the action to be allowed on them."""

_READING_ONE = frozenset({"get_by_id", "get_text_by_id"})
_NAMING_ALL = frozenset({"list_subjects_of_id", "list_versions_of_id"})
_BY_ID = _READING_ONE | _NAMING_ALL | {"get_by_guid", "list_ids_of_guid"}
_REQUIRED_ACTIONS: Mapping[str, Callable[[Permissions, Any], RequiredActions]] = {
    "list_subjects": _listed,
    "list_schemas": Permissions.listing_texts,
    "list_contexts": _contexts,
    "delete_context": _context,
    "look_up": _looked_up,
    "register": Permissions.registering,
    "test_all": _tested,
    "test_one": _tested,
    "list_versions": _on_subject("ListSchemaVersions"),
    "get_version": _on_subject("GetSchemaVersion"),
    "get_with_metadata": _on_subject("GetSchemaVersion"),
    "get_text": _on_subject("GetSchemaVersion"),
    "list_referencing": _on_subject("GetSchemaVersion"),
    "delete_subject": _on_subject("DeleteSchema"),
    "delete_version": _on_subject("DeleteSchemaVersions"),
    "get_config": _read_settings,
    "get_mode": _read_settings,
    "set_config": Permissions.configuring,
    "set_mode": _written_settings,
    "delete_config": _written_settings,
    "delete_mode": _written_settings,
}
