"""Authorization of AWS operations: whether the caller may call one, and which account's handler answers it."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from penstock.access.audit.event import OUTCOMES, AuditEvent, is_reading, render_parameters
from penstock.access.audit.log import AuditSink, NullAuditSink
from penstock.access.authorize import denial
from penstock.access.context_keys import Origin
from penstock.access.errors import NotAuthorized, UnrecognizedClient
from penstock.access.keys import AccessStore
from penstock.access.policies.evaluate import Decision
from penstock.access.principals import ANONYMOUS, Caller
from penstock.access.sessions import UNRECOGNIZED
from penstock.api.access_checker import AccessChecker
from penstock.api.aws.authorization.actions import action_name, named_account, resources_of
from penstock.api.aws.authorization.callers_files import CallersFiles
from penstock.api.aws.authorization.containers import DELETED, LISTED, ListedMembers, filter_members
from penstock.api.aws.authorization.extra_actions import (
    PASS_ROLE,
    PUT_OBJECT,
    extra_actions,
    iam_condition_keys,
    passed_to_service,
    result_objects,
)
from penstock.api.aws.authorization.governed_files import GovernedFiles
from penstock.api.aws.authorization.lake_permissions import CallersLake
from penstock.api.aws.authorization.resource_context import EVERYTHING, ResourceContext
from penstock.api.aws.authorization.stored_names import StoredNames
from penstock.api.aws.authorization.visible_columns import hide_columns
from penstock.api.aws.protocol.operations import AnyHandler, BatchHandler, RequestContext, RunOnThread, ServedOperation
from penstock.api.aws.protocol.values import Request
from penstock.api.tenants import Tenant, Tenants
from penstock.crawl.access import Starter
from penstock.errors import AccessDenied
from penstock.lake.permitted import TableKey
from penstock.lakeformation.decisions import TableAccess

__all__ = ["PolicyAuthorizer"]

# Services whose operations work on the caller's own account, in one store for all accounts.
_SHARED = frozenset({"iam", "organizations", "sts"})
# Services whose answers have tables and their columns.
_WITH_TABLES = frozenset({"athena", "glue", "lakeformation"})
# Operations that carry out others of their service, each of which is authorized separately.
_BATCHES = frozenset(
    {
        ("secretsmanager", "BatchGetSecretValue"),
        # Arguments that bring code need the right to update the job.
        *(("glue", operation) for operation in ("StartJobRun", "CreateTrigger", "UpdateTrigger")),
    }
)
# Operations of Glue that may write files of the lake.
_WRITING = frozenset({("glue", "CreateTable")})
# Crawlers act for the caller who creates, updates or starts them.
_CRAWLING = frozenset({"CreateCrawler", "StartCrawler", "StartCrawlerSchedule", "UpdateCrawler", "UpdateCrawlerSchedule"})
_CRAWLER_ACTIONS = ("glue:CreateTable", "glue:UpdateTable", "glue:DeleteTable", "glue:BatchCreatePartition")


class ServingTenants(Tenants, Protocol):
    """The tenants of the server, with the handlers of their operations."""

    def handler(self, account: str, service: str, operation: str) -> AnyHandler:
        """Return the handler of a running tenant."""


class PolicyAuthorizer:
    """An :class:`~penstock.api.aws.protocol.operations.OperationAuthorizer` by the policies of IAM and of resources."""

    def __init__(
        self,
        access_checker: AccessChecker,
        tenants: ServingTenants,
        store: AccessStore,
        *,
        region: str,
        first: str,
        audit: AuditSink | None = None,
        role_of_glue: Callable[[str, str, str], Caller | None] = lambda *_: None,
    ) -> None:
        """``first`` is the server's first account.

        ``role_of_glue`` assumes a role for Glue, by account, role and session's name; None if Glue may not.
        """
        self._role_of_glue = role_of_glue
        self._access = access_checker
        self._audit: AuditSink = audit or NullAuditSink()
        self._tenants = tenants
        self._store = store
        self._region = region
        self._first = first
        self._names: dict[str, StoredNames] = {}

    def authorize(
        self, endpoint: ServedOperation, request: Mapping[str, Any], context: RequestContext
    ) -> tuple[AnyHandler, RequestContext]:
        """See the protocol. No policy is evaluated for the root of the first account."""
        caller, service = context.caller, context.service
        assert caller is not None
        if service == "iam" and caller.session is not None and caller.session.role is None:
            # This holds for root, too: STS API reference, GetSessionToken.
            raise UnrecognizedClient(UNRECOGNIZED, remedy="IAM takes no credentials of GetSessionToken: assume a role.")
        shared = service in _SHARED
        owner = caller.account if shared else named_account(service, request) or caller.account
        own_root = caller.is_root and owner == caller.account
        if own_root and (shared or owner == self._first):
            return endpoint.handler, context
        tenant = None if shared else self._tenant(owner, context)
        of_first = shared or owner == self._first
        handler = endpoint.handler if of_first else self._tenants.handler(owner, service, context.operation)
        if not own_root:
            decisions = self._decisions(caller, context, owner, tenant)
            self._check(request, context, decisions)
            context = self._with_checks(context, decisions)
            handler = _filtered(handler, context, decisions)
        if owner != context.account and not shared:
            context = context.for_account(owner)
        return handler, context

    def resources(self, request: Mapping[str, Any], context: RequestContext) -> Sequence[str]:
        """See the protocol."""
        caller, service = context.caller, context.service
        assert caller is not None
        if service == "sts":
            return [request["RoleArn"]] if "RoleArn" in request else ()
        shared = service in _SHARED
        owner = caller.account if shared else named_account(service, request) or caller.account
        names = self._stored_names(owner, None if shared else self._tenants.running(owner))
        resource_context = ResourceContext(self._region, owner, names, user=caller.user_name)
        return [
            name for name in resources_of(service, context.operation, request, resource_context) if name != EVERYTHING[0]
        ]

    def check_operation(
        self, service: str, context: RequestContext, decisions: "_Decisions", operation: str, request: Request
    ) -> None:
        """Raise :class:`~penstock.access.errors.NotAuthorized` unless the caller may also call ``operation``.

        The decision has its own audit event, besides that of the request of ``context``.
        """
        resources = resources_of(service, operation, request, decisions.resource_context)
        event = self._event(context, decisions, service, operation, request)._replace(resources=_named(resources))
        try:
            decisions.check(action_name(service, operation), resources)
            if service == "glue" and decisions.lake is not None:
                decisions.lake.check(operation, request)
        except AccessDenied as error:
            code = getattr(error, "aws_code", NotAuthorized.aws_code)
            self._audit.write(event._replace(outcome=OUTCOMES[1], code=code, message=error.message))
            raise
        if self._audit.records_reads or not is_reading(operation):
            self._audit.write(event)

    def file_denied(
        self, context: RequestContext, decisions: "_Decisions", action: str, uris: Sequence[str], error: AccessDenied
    ) -> None:
        """Write the audit event of a file of the lake that the caller of ``context`` was refused."""
        service, _, operation = action.partition(":")
        event = self._event(context, decisions, service, operation, {"files": len(uris)})
        resources = [f"arn:aws:s3:::{uri.partition('://')[2]}" for uri in uris[:1]]
        code = getattr(error, "aws_code", NotAuthorized.aws_code)
        self._audit.write(event._replace(resources=resources, outcome=OUTCOMES[1], code=code, message=error.message))

    def _event(
        self, context: RequestContext, decisions: "_Decisions", service: str, operation: str, request: Request
    ) -> AuditEvent:
        """Return the event of an operation that belongs to the request of ``context``, allowed and without resources."""
        return AuditEvent(
            time=time.time(),
            service=service,
            operation=operation,
            outcome=OUTCOMES[0],
            region=self._region,
            account=decisions.caller.account,
            request_id=context.request_id,
            client=context.client,
            user_agent=context.user_agent,
            caller=decisions.caller,
            secure=context.secure,
            parameters=render_parameters(request),
        )

    def catalog_access(self, context: RequestContext, owner: str) -> "_CallerCatalogAccess":
        """Return what the caller of ``context`` may do in the data catalog of the account ``owner``; may read stores."""
        assert context.caller is not None
        decisions = self._decisions(context.caller, context, owner, self._tenants.get(owner))
        return _CallerCatalogAccess(self, context, decisions)

    def crawl_access(self, account: str, starter: Starter, crawler: str, role: str, run_id: str) -> "_CrawlAccess":
        """Return what a crawl of ``account`` may do: see :data:`penstock.crawl.access.AccessOf`."""
        caller = starter.caller
        context = RequestContext(
            service="glue",
            operation=starter.action,
            account=account,
            region=self._region,
            principal=ANONYMOUS if caller is None else caller.principal,
            request_id=run_id,
            client=starter.client,
            caller=caller,
            secure=starter.secure,
            user_agent=starter.user_agent,
        )
        if caller is None:
            return _CrawlAccess(self._audit, context, None, crawler)
        tenant = self._tenants.get(account)
        own, assumed = self._decisions(caller, context, account, tenant), self._role_of_glue(account, role, "AWS-Crawler")
        readers = [own] if assumed is None else [own, self._decisions(assumed, context, account, tenant)]
        return _CrawlAccess(self._audit, context, own, crawler, readers=readers)

    def _decisions(self, caller: Caller, context: RequestContext, owner: str, tenant: Tenant | None) -> "_Decisions":
        names = self._stored_names(owner, tenant)
        resource_context = ResourceContext(self._region, owner, names, user=caller.user_name)
        lake = None if tenant is None else CallersLake(tenant.lake_formation, tenant.tables, caller)
        return _Decisions(self._access, caller, tenant, context.origin, resource_context, lake)

    def _with_checks(self, context: RequestContext, decisions: "_Decisions") -> RequestContext:
        """Return ``context`` with checks for the handler to call on what it reads."""
        if context.service == "athena" or (context.service, context.operation) in _WRITING:
            return context._replace(catalog_access=_CallerCatalogAccess(self, context, decisions))
        if (context.service, context.operation) in _BATCHES:
            return context._replace(check_operation=partial(self.check_operation, context.service, context, decisions))
        return context

    def _tenant(self, owner: str, context: RequestContext) -> Tenant | None:
        tenant = self._tenants.running(owner)
        if tenant is None:
            if context.on_loop:
                raise RunOnThread
            tenant = self._tenants.get(owner)
        return tenant

    def _check(self, request: Mapping[str, Any], context: RequestContext, decisions: "_Decisions") -> None:
        service, operation = context.service, context.operation
        if service == "sts" and operation != "GetFederationToken":
            # Every caller with credentials may ask who it is; for AssumeRole, the role's trust policy decides.
            return
        if context.on_loop and not decisions.cached:
            raise RunOnThread
        resource_context = decisions.resource_context
        resources = resources_of(service, operation, request, resource_context)
        keys = iam_condition_keys(operation, request, resource_context) if service == "iam" else None
        decisions.check(action_name(service, operation), resources, keys)
        for action, its_resources in extra_actions(service, operation, request, resource_context):
            keys = {"iam:passedtoservice": passed_to_service(service)} if action == PASS_ROLE else None
            decisions.check(action, its_resources, keys)
        if service == "glue" and decisions.lake is not None:
            decisions.lake.check(operation, request)
        _check_deleted_members(request, context, decisions)
        _check_crawled_tables(request, context, decisions)
        _check_result_objects(request, context, decisions)

    def _stored_names(self, account: str, tenant: Tenant | None) -> StoredNames:
        names = self._names.get(account)
        if names is None or names.tenant is not tenant:
            names = StoredNames(account, tenant, self._store)
            if tenant is not None:
                self._names[account] = names
        return names


class _Decisions(NamedTuple):
    """What all decisions on one request have in common."""

    access: AccessChecker
    caller: Caller
    tenant: Tenant | None
    origin: Origin
    resource_context: ResourceContext
    lake: CallersLake | None = None

    @property
    def cached(self) -> bool:
        """Whether all policies that the decisions evaluate are in memory."""
        return self.access.is_cached(self.caller, self.tenant)

    def check(self, action: str, resources: Sequence[str], extra: Mapping[str, str] | None = None) -> None:
        """As :meth:`AccessChecker.check`."""
        owner = self.resource_context.account
        self.access.check(self.caller, action, resources, self.origin, owner=owner, tenant=self.tenant, extra=extra)

    def files(self) -> CallersFiles:
        """Return what decides on the lake's files."""
        governed = None if self.lake is None or self.tenant is None else GovernedFiles(self.lake, self.tenant.tables)
        return CallersFiles(self.access, self.caller, self.origin, owner=self.resource_context.account, governed=governed)

    def member_denial(
        self, actions: Sequence[str], resources: Sequence[str], *, allowed: str | None = None
    ) -> Decision | None:
        """As :meth:`AccessChecker.member_denial`."""
        owner = self.resource_context.account
        return self.access.member_denial(
            self.caller, actions, resources, self.origin, owner=owner, tenant=self.tenant, allowed=allowed
        )

    def is_visible(self, listed: ListedMembers, member: Any, request: Request) -> bool:
        """Return whether the caller may see ``member`` in the answer of a listing."""
        resources = listed.resources(member, request, self.resource_context)
        if self.lake is not None and not self.lake.is_visible(listed.action.rpartition(":")[2], member):
            return False
        allowed = listed.action if listed.allowed else None
        return self.member_denial((listed.action, listed.single), resources, allowed=allowed) is None


class _CallerCatalogAccess:
    """A :class:`~penstock.query.ports.CatalogAccess`: authorizes Glue's operations for a caller, even after the answer."""

    def __init__(self, authorizer: PolicyAuthorizer, context: RequestContext, decisions: _Decisions) -> None:
        self._check = partial(authorizer.check_operation, "glue", context, decisions)
        self._check_athena = partial(authorizer.check_operation, "athena", context, decisions)
        self._decisions = decisions
        self._files = decisions.files()
        self._file_denied = partial(authorizer.file_denied, context, decisions)

    def check(self, operation: str, request: Request, /) -> None:
        self._check(operation, request)

    def reading(self, database: str, table: str, columns: Sequence[str], /) -> TableAccess | None:
        lake = self._decisions.lake
        return None if lake is None else lake.reading(database, table, columns)

    def hides_columns(self) -> bool:
        return self._decisions.lake is not None and self._decisions.lake.hides_columns

    def visible_columns(self, database: str, table: str, columns: Sequence[str], /) -> frozenset[str] | None:
        lake = self._decisions.lake
        return None if lake is None else lake.visible_columns(database, table, columns)

    def check_writing(self, database: str, table: str, permissions: Sequence[str], /) -> None:
        if self._decisions.lake is not None:
            self._decisions.lake.check_table(database, table, *permissions)

    def created(self, database: str, table: str | None, /) -> None:
        if self._decisions.lake is not None:
            self._decisions.lake.created(database, table)

    def check_athena(self, operation: str, request: Request, /) -> None:
        self._check_athena(operation, request)

    def allows(self, operation: str, request: Request, /) -> bool:
        """Return whether :meth:`check` would pass; writes no audit event."""
        resources = resources_of("glue", operation, request, self._decisions.resource_context)
        try:
            self._decisions.check(f"glue:{operation}", resources)
            if self._decisions.lake is not None:
                self._decisions.lake.check(operation, request)
        except AccessDenied:
            return False
        return True

    def check_files(self, action: str, uris: Sequence[str], table: TableKey | None = None, /) -> Sequence[str]:
        try:
            return self._files.check(action, uris, table)
        except AccessDenied as error:
            self._file_denied(action, uris, error)
            raise

    def is_visible(self, operation: str, item: Request, /) -> bool:
        return all(self._decisions.is_visible(listed, item, item) for listed in LISTED["glue", operation])


class _CrawlAccess:
    """A :class:`~penstock.crawl.access.CrawlAccess`; ``decisions`` None allows everything (--no-auth)."""

    def __init__(
        self,
        audit: AuditSink,
        context: RequestContext,
        decisions: _Decisions | None,
        crawler: str,
        *,
        readers: Sequence[_Decisions] = (),
    ) -> None:
        """``readers`` are those whose files the crawl may open: who started it, and the crawler's role."""
        self._lakes = [reader.lake for reader in readers if reader.lake is not None]
        self._files = [reader.files() for reader in readers]
        self._audit = audit
        self._context = context
        self._decisions = decisions
        self._crawler = crawler

    def check_start(self) -> None:
        """See the protocol."""
        if self._decisions is not None:
            crawler = self._decisions.resource_context.glue(f"crawler/{self._crawler}")
            self._decisions.check(f"glue:{self._context.operation}", (crawler,))

    def check(self, operation: str, request: Request) -> None:
        """See the protocol. Nothing is changed that could not be recorded."""
        self._audit.check()
        if self._decisions is not None:
            _check_crawl(self._decisions, operation, request)
        _first_allowed([partial(lake.check, operation, request) for lake in self._lakes])

    def check_files(self, action: str, uris: Sequence[str], table: TableKey | None = None, /) -> Sequence[str]:
        """See the protocol."""
        if not self._files:
            return ["s3://"]
        # What both may read is not known as a whole, so that no folders are returned.
        folders = _first_allowed([partial(file.check, action, uris, table) for file in self._files])
        return folders if len(self._files) == 1 else []

    def changed(self, operation: str, request: Request) -> None:
        """See the protocol. The event's request id is that of the crawl, as in ListCrawls."""
        context = self._context
        resources = (
            () if self._decisions is None else resources_of("glue", operation, request, self._decisions.resource_context)
        )
        self._audit.write(
            AuditEvent(
                time=time.time(),
                service="glue",
                operation=operation,
                outcome=OUTCOMES[0],
                region=context.region,
                account=context.account,
                request_id=context.request_id,
                client=context.client,
                user_agent=f"penstock-crawler/{self._crawler}",
                caller=context.caller,
                secure=context.secure,
                parameters=render_parameters(request),
                resources=_named(resources),
            )
        )


def _named(resources: Sequence[str]) -> Sequence[str]:
    """Return ``resources`` for an audit event: none if the action has no resource types."""
    return [resource for resource in resources if resource not in EVERYTHING]


def _filtered(handler: AnyHandler, context: RequestContext, decisions: _Decisions) -> AnyHandler:
    """Return ``handler`` with answers that leave out the members that the caller may not see."""
    lists = LISTED.get((context.service, context.operation), ())
    lake = decisions.lake
    hides = lake is not None and context.service in _WITH_TABLES and lake.hides_columns
    # Operations that are answered in batches list nothing.
    if isinstance(handler, BatchHandler) or not (lists or hides):
        return handler

    def filtered(request: Mapping[str, Any], context: RequestContext) -> Mapping[str, Any]:
        answer = handler(request, context)
        for listed in lists:
            answer = filter_members(answer, listed.member, partial(decisions.is_visible, listed, request=request))
        return (
            hide_columns(context.operation, request, answer, lake.visible_columns) if lake is not None and hides else answer
        )

    return filtered


def _first_allowed(checks: Sequence[Callable[[], Any]]) -> Any:
    """Return what the first check returns that passes; raise the error of the last if none does."""
    for number, check in enumerate(checks, 1):
        try:
            return check()
        except AccessDenied:
            if number == len(checks):
                raise
    return None


def _check_crawl(decisions: _Decisions, operation: str, request: Request) -> None:
    """Raise if the caller who started a crawl is denied ``operation`` on a table that the crawl is about to change."""
    action, resources = f"glue:{operation}", resources_of("glue", operation, request, decisions.resource_context)
    denied = decisions.member_denial((action,), resources)
    if denied is not None:
        raise denial(decisions.caller, action, resources[-1], denied.reason)


def _check_deleted_members(request: Request, context: RequestContext, decisions: _Decisions) -> None:
    """Raise if the caller is denied to delete a member of the container to be deleted; the error names no member."""
    deleted = DELETED.get((context.service, context.operation))
    if deleted is None:
        return
    action = f"{context.service}:{context.operation}"
    for resource in deleted.resources(request, decisions.resource_context):
        denied = decisions.member_denial((action, deleted.single), (resource,), allowed=action if deleted.allowed else None)
        if denied is not None:
            container = resources_of(context.service, context.operation, request, decisions.resource_context)
            raise denial(decisions.caller, action, container[min(1, len(container) - 1)], denied.reason)


def _check_crawled_tables(request: Request, context: RequestContext, decisions: _Decisions) -> None:
    """Raise if a crawler may change tables that the caller who creates, updates or starts it is denied to change."""
    if context.service != "glue" or context.operation not in _CRAWLING:
        return
    resource_context = decisions.resource_context
    names = resource_context.lookup
    databases = {request.get("DatabaseName"), names.crawled_database(request.get("CrawlerName") or request["Name"])} - {
        None,
        "",
    }
    for database in sorted(str(name).lower() for name in databases):
        its_arn = resource_context.glue(f"database/{database}")
        tables = [resource_context.glue(f"table/{database}/{name}") for name in names.tables_of(database)]
        for resource in (its_arn, *tables):
            denied = decisions.member_denial(_CRAWLER_ACTIONS, (resource,))
            if denied is not None:
                raise denial(decisions.caller, f"glue:{context.operation}", its_arn, denied.reason)


def _check_result_objects(request: Request, context: RequestContext, decisions: _Decisions) -> None:
    """Raise if a statement would write its result to a location where the caller is denied to put objects."""
    for result in result_objects(context.service, context.operation, request):
        denied = decisions._replace(tenant=None).member_denial((PUT_OBJECT,), (result,))
        if denied is not None:
            raise denial(decisions.caller, PUT_OBJECT, result, denied.reason)
