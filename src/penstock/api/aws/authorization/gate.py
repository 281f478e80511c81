"""Says who may do what, and whose handler answers: between a checked request and its operation."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from penstock.access.audit.event import OUTCOMES, AuditEvent, render_parameters
from penstock.access.audit.log import AuditSink, NoAudit
from penstock.access.authorize import denial
from penstock.access.errors import NotAuthorized, UnrecognizedClient
from penstock.access.facts import Origin
from penstock.access.keys import AccessStore
from penstock.access.principals import Caller
from penstock.access.sessions import UNRECOGNIZED
from penstock.api.access_checker import Realm, Realms, Warden
from penstock.api.aws.authorization.actions import Place, Request, named_account, resources_of
from penstock.api.aws.authorization.containers import DELETED, SHOWN, Shown, kept_of
from penstock.api.aws.authorization.extra_actions import PASS_ROLE, PUT_OBJECT, also_needed, iam_keys, passed_to, results_of
from penstock.api.aws.authorization.stored_names import StoredNames
from penstock.api.aws.iam.sts import origin_of
from penstock.api.aws.protocol.operations import Endpointed, Handler, RequestContext, RunOnThread
from penstock.errors import AccessDenied

__all__ = ["PolicyGate"]

# Their operations work on the caller's own account, out of one store.
_SHARED = frozenset({"iam", "organizations", "sts"})
# Operations that do others of their service, each judged by itself.
_DOING_OTHERS = frozenset({("secretsmanager", "BatchGetSecretValue")})
# What a crawler does on behalf of whoever sets it up or starts it, and to which tables.
_CRAWLING = frozenset({"CreateCrawler", "StartCrawler", "UpdateCrawler"})
_CRAWLERS_ACTIONS = ("glue:CreateTable", "glue:UpdateTable", "glue:DeleteTable", "glue:BatchCreatePartition")


class HandlingRealms(Realms, Protocol):
    """The accounts of the server, with the handlers of their operations."""

    def handler(self, account: str, service: str, operation: str) -> Handler:
        """The handler of a running account."""


class PolicyGate:
    """A :class:`~penstock.api.aws.protocol.operations.Gate` over the accounts of the server."""

    def __init__(
        self, warden: Warden, realms: HandlingRealms, store: AccessStore, *, region: str, audit: AuditSink | None = None
    ) -> None:
        self._warden = warden
        self._audit: AuditSink = audit or NoAudit()
        self._realms = realms
        self._store = store
        self._region = region
        self._first = realms.first.account
        self._places: dict[str, StoredNames] = {}

    def admit(
        self, endpoint: Endpointed, request: Mapping[str, Any], context: RequestContext
    ) -> tuple[Handler, RequestContext]:
        """As the protocol says; the root of the first account passes without a look at any policy."""
        caller, service = context.caller, context.service
        assert caller is not None
        if service == "iam" and caller.session is not None and caller.session.role is None:
            # Root's, too: STS API reference, GetSessionToken.
            raise UnrecognizedClient(UNRECOGNIZED, remedy="IAM takes no credentials of GetSessionToken: assume a role.")
        shared = service in _SHARED
        owner = caller.account if shared else named_account(service, request) or caller.account
        own_root = caller.is_root and owner == caller.account
        if own_root and (shared or owner == self._first):
            return endpoint.handler, context
        realm = None if shared else self._realm(owner, context)
        if not own_root:
            self._check(caller, request, context, owner=owner, realm=realm)
        if service == "athena" and not own_root:
            context = context._replace(permit=_CatalogPermit(self, caller, context, owner, realm))
        if (service, context.operation) in _DOING_OTHERS and not own_root:
            context = context._replace(may=self._others(service, self.asking(caller, context, owner, realm), context))
        if (service, context.operation) == ("glue", "StartCrawler") and not own_root:
            context = context._replace(may=self._crawling(self.asking(caller, context, owner, realm)))
        at_home = shared or owner == self._first
        handler = endpoint.handler if at_home else self._realms.handler(owner, service, context.operation)
        if not own_root:
            handler = self._showing(handler, caller, context, owner=owner, realm=realm)
        if owner != context.account and not shared:
            context = context.for_account(owner)
        return handler, context

    def resources(self, request: Mapping[str, Any], context: RequestContext) -> Sequence[str]:
        """As the protocol says."""
        caller, service = context.caller, context.service
        assert caller is not None
        shared = service in _SHARED
        owner = caller.account if shared else named_account(service, request) or caller.account
        place = self._place(caller, owner, None if shared else self._realms.running(owner))
        if service == "sts":
            return [request["RoleArn"]] if "RoleArn" in request else ()
        return [each for each in resources_of(service, context.operation, request, place) if each != "*"]

    def shows(self, shown: Shown, item: Any, request: Request, asking: "_Asking") -> bool:
        """Whether the caller is shown ``item`` in an answer."""
        held_back = self._warden.holds_back(
            asking.caller,
            (shown.action, shown.single),
            shown.resources(item, request, asking.place),
            asking.origin,
            owner=asking.owner,
            realm=asking.realm,
            allowed=shown.action if shown.allowed else None,
        )
        return held_back is None

    def asking(self, caller: Caller, context: RequestContext, owner: str, realm: Realm | None) -> "_Asking":
        """What its decisions are made for."""
        return _Asking(caller, owner, realm, origin_of(context), self._place(caller, owner, realm))

    def judge(self, service: str, operation: str, request: Request, asking: "_Asking", context: RequestContext) -> None:
        """Raise :class:`~penstock.access.errors.NotAuthorized` unless the caller may call the ``operation``, too.

        Beside the request of ``context`` it is a decision of its own, and recorded as one.
        """
        resources = resources_of(service, operation, request, asking.place)
        record = AuditEvent(
            time=time.time(),
            service=service,
            operation=operation,
            outcome=OUTCOMES[0],
            region=self._region,
            account=asking.caller.account,
            request_id=context.request_id,
            client=context.client,
            user_agent=context.user_agent,
            caller=asking.caller,
            secure=context.secure,
            parameters=render_parameters(request),
            resources=[each for each in resources if each != "*"],
        )
        try:
            self._warden.check(
                asking.caller, f"{service}:{operation}", resources, asking.origin, owner=asking.owner, realm=asking.realm
            )
        except AccessDenied as error:
            code = getattr(error, "aws_code", NotAuthorized.aws_code)
            self._audit.note(record._replace(outcome=OUTCOMES[1], code=code, message=error.message))
            raise
        self._audit.note(record)

    def _others(self, service: str, asking: "_Asking", context: RequestContext) -> Callable[[str, Request], None]:
        """What judges further operations of ``service`` for the caller."""

        def may(operation: str, request: Request) -> None:
            self.judge(service, operation, request, asking, context)

        return may

    def _crawling(self, asking: "_Asking") -> Callable[[str, Request], None]:
        """What judges the tables that a crawl is about to make or change: those that its starter is denied."""

        def may(operation: str, request: Request) -> None:
            action, resources = f"glue:{operation}", resources_of("glue", operation, request, asking.place)
            held_back = self._warden.holds_back(
                asking.caller, (action,), resources, asking.origin, owner=asking.owner, realm=asking.realm
            )
            if held_back is not None:
                raise denial(asking.caller, action, resources[-1], held_back.why)

        return may

    def _showing(
        self, handler: Handler, caller: Caller, context: RequestContext, *, owner: str, realm: Realm | None
    ) -> Handler:
        """``handler``, whose answers leave out the members that the caller may not know of."""
        lists = SHOWN.get((context.service, context.operation))
        if lists is None:
            return handler
        asking = self.asking(caller, context, owner, realm)

        def showing(request: Mapping[str, Any], context: RequestContext) -> Mapping[str, Any]:
            answer = handler(request, context)
            for shown in lists:
                answer = kept_of(answer, shown.member, partial(self.shows, shown, request=request, asking=asking))
            return answer

        return showing

    def _realm(self, owner: str, context: RequestContext) -> Realm | None:
        realm = self._realms.running(owner)
        if realm is None:
            if context.on_loop:
                raise RunOnThread
            realm = self._realms.get(owner)
        return realm

    def _check(
        self, caller: Caller, request: Mapping[str, Any], context: RequestContext, *, owner: str, realm: Realm | None
    ) -> None:
        service, operation = context.service, context.operation
        if service == "sts" and operation != "GetFederationToken":
            # Whoever has credentials may ask who it is, and AssumeRole asks the role.
            return
        if context.on_loop and not self._warden.ready(caller, realm):
            raise RunOnThread
        origin = origin_of(context)
        place = self._place(caller, owner, realm)
        resources = resources_of(service, operation, request, place)
        extra = iam_keys(operation, request, place) if service == "iam" else None
        self._warden.check(caller, f"{service}:{operation}", resources, origin, owner=owner, realm=realm, extra=extra)
        for action, needed in also_needed(service, operation, request, place):
            extra = {"iam:passedtoservice": passed_to(service)} if action == PASS_ROLE else None
            self._warden.check(caller, action, needed, origin, owner=owner, realm=realm, extra=extra)
        asking = self.asking(caller, context, owner, realm)
        self._check_members(f"{service}:{operation}", request, context, asking)
        self._check_crawled(request, context, asking)
        self._check_written(request, context, asking)

    def _check_members(self, action: str, request: Request, context: RequestContext, asking: "_Asking") -> None:
        """What is deleted with a container is asked for, too; the refusal names no member."""
        deleted = DELETED.get((context.service, context.operation))
        if deleted is None:
            return
        for resource in deleted.resources(request, asking.place):
            held_back = self._warden.holds_back(
                asking.caller,
                (action, deleted.single),
                (resource,),
                asking.origin,
                owner=asking.owner,
                realm=asking.realm,
                allowed=action if deleted.allowed else None,
            )
            if held_back is not None:
                container = resources_of(context.service, context.operation, request, asking.place)
                raise denial(asking.caller, action, container[min(1, len(container) - 1)], held_back.why)

    def _check_crawled(self, request: Request, context: RequestContext, asking: "_Asking") -> None:
        """A crawler changes tables for whoever sets it up or starts it: not those that the caller is denied to change."""
        if context.service != "glue" or context.operation not in _CRAWLING:
            return
        lookup = asking.place.lookup
        databases = {request.get("DatabaseName"), lookup.crawled_database(request["Name"])} - {None, ""}
        for database in sorted(str(name).lower() for name in databases):
            tables = [asking.place.glue(f"table/{database}/{name}") for name in lookup.tables_of(database)]
            for resource in (asking.place.glue(f"database/{database}"), *tables):
                held_back = self._warden.holds_back(
                    asking.caller,
                    _CRAWLERS_ACTIONS,
                    (resource,),
                    asking.origin,
                    owner=asking.owner,
                    realm=asking.realm,
                )
                if held_back is not None:
                    where = asking.place.glue(f"database/{database}")
                    raise denial(asking.caller, f"glue:{context.operation}", where, held_back.why)

    def _check_written(self, request: Request, context: RequestContext, asking: "_Asking") -> None:
        """A statement puts its result where its caller says: not where the caller is denied to put objects."""
        for result in results_of(context.service, context.operation, request):
            held_back = self._warden.holds_back(
                asking.caller, (PUT_OBJECT,), (result,), asking.origin, owner=asking.owner, realm=None
            )
            if held_back is not None:
                raise denial(asking.caller, PUT_OBJECT, result, held_back.why)

    def _place(self, caller: Caller, owner: str, realm: Realm | None) -> Place:
        return Place(self._region, owner, self._lookup(owner, realm), user=caller.user_name)

    def _lookup(self, account: str, realm: Realm | None) -> "StoredNames":
        known = self._places.get(account)
        if known is None or known.realm is not realm:
            known = StoredNames(account, realm, self._store)
            if realm is not None:
                self._places[account] = known
        return known


class _Asking(NamedTuple):
    """Who asks for what is decided, and where."""

    caller: Caller
    owner: str
    realm: Realm | None
    origin: Origin
    place: Place


class _CatalogPermit:
    """Judges Glue's operations on behalf of a caller, also when its request has been answered."""

    def __init__(self, gate: PolicyGate, caller: Caller, context: RequestContext, owner: str, realm: Realm | None) -> None:
        self._gate = gate
        self._context = context
        self._asking = gate.asking(caller, context, owner, realm)

    def __call__(self, operation: str, request: Request, /) -> None:
        self._gate.judge("glue", operation, request, self._asking, self._context)

    def shows(self, operation: str, item: Request, /) -> bool:
        return all(self._gate.shows(shown, item, item, self._asking) for shown in SHOWN["glue", operation])
