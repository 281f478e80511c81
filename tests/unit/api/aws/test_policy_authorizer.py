"""The authorizer on the event loop, where it must not read a store, and how long it caches policies."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock.access.authorize import Authorizer
from penstock.access.entities import EntityKind, User
from penstock.access.errors import NotAuthorized, UnrecognizedClient
from penstock.access.principals import Caller, SessionContext, root_arn
from penstock.api.access_checker import AccessChecker
from penstock.api.aws.authorization.policy_authorizer import PolicyAuthorizer
from penstock.api.aws.protocol.operations import Handler, RequestContext, RunOnThread
from penstock.api.tenants import Tenant
from penstock.registry.policies.resources import PolicyCache
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.store.sql.sealing import Sealer
from penstock.testing.sqlite import new_database
from tests.unit.api.handlers import called
from tests.unit.api.memory_tenant import memory_tenant

A, B = "111122223333", "444455556666"
ANA = Caller(account=A, principal=f"arn:aws:iam::{A}:user/ana", user_id="AIDAANA")
SCHEMA = {"SchemaId": {"RegistryName": "r", "SchemaName": "s"}}
SECONDS = 5.0


def allow(action: str, **more: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": action, "Resource": "*"} | more})


class Tenants:
    """Two accounts; the second one is started on demand."""

    def __init__(self, clock: Any) -> None:
        self.first = tenant(A, clock)
        self._second = tenant(B, clock)
        self.started = False

    def running(self, account: str) -> Tenant | None:
        return self.first if account == A else self._second if self.started and account == B else None

    def get(self, account: str) -> Tenant | None:
        self.started = self.started or account == B
        return self.running(account)

    def handler(self, account: str, service: str, operation: str) -> Handler:
        return lambda _request, _context: {"of": account}


def tenant(account: str, clock: Any) -> Tenant:
    store = SqlRegistryStore(new_database())
    service = RegistryService(store, region="us-east-1", account=account)
    service.registries.create("r")
    service.schemas.create(NewSchema(registry="r", name="s", data_format="AVRO", definition='"int"'))
    service.resource_policies.cache = PolicyCache(store.resource_policies, clock=clock)
    return memory_tenant(service)


@dataclass(frozen=True)
class Endpoint:
    def handler(self, _request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        return {"of": A}


class World:
    def __init__(self) -> None:
        self.now = 0.0
        self.store = SqlAccessStore(new_database(), Sealer(bytes(32)))
        user = User(account=A, name="ana", id="AIDAANA", created=datetime.now(UTC), inline={"p": allow("glue:GetSchema")})
        self.store.add_entity(user, "CreateUser", limit=10)
        self.tenants = Tenants(lambda: self.now)
        self.policies = Authorizer(self.store, ttl=SECONDS, clock=lambda: self.now)
        access_checker = AccessChecker(self.policies, region="us-east-1")
        self.authorizer = PolicyAuthorizer(access_checker, self.tenants, self.store, region="us-east-1", first=A)

    def ask(self, caller: Caller = ANA, request: Any = None, *, on_loop: bool = False, operation: str = "GetSchema") -> Any:
        context = RequestContext(
            service="glue",
            operation=operation,
            account=caller.account,
            region="us-east-1",
            principal=caller.principal,
            request_id="1",
            on_loop=on_loop,
            caller=caller,
        )
        handler, context = self.authorizer.authorize(Endpoint(), request or SCHEMA, context)
        return called(handler, SCHEMA, context)["of"], context.account


@pytest.fixture
def world() -> World:
    return World()


def test_on_the_event_loop_it_decides_only_by_cached_policies(world: World) -> None:
    with pytest.raises(RunOnThread):
        world.ask(on_loop=True)
    assert world.ask() == (A, A)
    assert world.ask(on_loop=True) == (A, A)
    with pytest.raises(NotAuthorized):
        world.ask(operation="DeleteSchema", on_loop=True)
    world.now = SECONDS
    with pytest.raises(RunOnThread):
        world.ask(on_loop=True)


def test_the_first_accounts_root_passes_at_once(world: World) -> None:
    root = Caller(account=A, principal=root_arn(A), user_id=A)
    assert world.ask(root, on_loop=True) == (A, A)


def test_another_account_is_started_on_a_thread(world: World) -> None:
    root = Caller(account=B, principal=root_arn(B), user_id=B)
    with pytest.raises(RunOnThread):
        world.ask(root, on_loop=True)
    assert world.ask(root) == (B, B)
    assert world.ask(root, on_loop=True) == (B, B)


def test_a_request_on_another_accounts_arn_is_authorized_by_that_accounts_policies(world: World) -> None:
    named = {"SchemaId": {"SchemaArn": f"arn:aws:glue:us-east-1:{B}:schema/r/s"}}
    with pytest.raises(NotAuthorized, match="no resource-based policy allows the glue:GetSchema action"):
        world.ask(request=named)
    theirs = world.tenants.get(B)
    assert theirs is not None
    theirs.schemas.resource_policies.put(None, allow("glue:GetSchema", Principal={"AWS": A}))
    assert world.ask(request=named) == (B, B)
    theirs.schemas.resource_policies.delete(None)
    with pytest.raises(NotAuthorized):
        world.ask(request=named)


def test_a_missing_account_is_refused_like_a_closed_one(world: World) -> None:
    named = {"SchemaId": {"SchemaArn": "arn:aws:glue:us-east-1:999999999999:schema/r/s"}}
    with pytest.raises(NotAuthorized, match="no resource-based policy"):
        world.ask(request=named)


def test_what_another_process_changes_holds_after_five_seconds(world: World) -> None:
    assert world.ask() == (A, A)
    world.store.change_entity(EntityKind.USER, A, "ana", "DeleteUserPolicy", _bare)
    world.now = SECONDS - 0.1
    assert world.ask() == (A, A)
    world.now = SECONDS
    with pytest.raises(NotAuthorized):
        world.ask()


def test_what_this_process_changes_holds_at_once(world: World) -> None:
    assert world.ask() == (A, A)
    world.store.change_entity(EntityKind.USER, A, "ana", "DeleteUserPolicy", _bare)
    world.policies.forget()
    with pytest.raises(NotAuthorized):
        world.ask()


def test_a_decision_that_depends_on_the_request_is_not_cached(world: World) -> None:
    text = allow("glue:GetSchema", Condition={"StringEquals": {"aws:UserAgent": "good"}})
    world.store.change_entity(EntityKind.USER, A, "ana", "PutUserPolicy", lambda user: _with(user, text))
    for agent, allowed in (("good", True), ("bad", False), ("good", True)):
        context = RequestContext(
            service="glue",
            operation="GetSchema",
            account=A,
            region="us-east-1",
            principal=ANA.principal,
            request_id="1",
            caller=ANA,
            user_agent=agent,
        )
        if allowed:
            world.authorizer.authorize(Endpoint(), SCHEMA, context)
        else:
            with pytest.raises(NotAuthorized):
                world.authorizer.authorize(Endpoint(), SCHEMA, context)


def _bare(user: Any) -> Any:
    return _with(user, None)


def _with(user: Any, text: str | None) -> Any:
    return User(
        account=user.account,
        name=user.name,
        id=user.id,
        created=user.created,
        inline={} if text is None else {"p": text},
    )


def test_athenas_reads_of_the_catalog_are_authorized_when_it_reads(world: World) -> None:
    text = allow("athena:*"), allow("glue:GetTable")
    statements = [json.loads(name)["Statement"] for name in text]
    both = json.dumps({"Version": "2012-10-17", "Statement": statements})
    world.store.change_entity(EntityKind.USER, A, "ana", "PutUserPolicy", lambda user: _with(user, both))
    context = _athena(ANA)
    catalog_access = world.authorizer.authorize(Endpoint(), {"QueryString": "SELECT 1"}, context)[1].catalog_access
    assert catalog_access is not None
    catalog_access.check("GetTable", {"DatabaseName": "d", "Name": "t"})
    with pytest.raises(NotAuthorized, match=rf"glue:GetDatabase on resource: arn:aws:glue:us-east-1:{A}:catalog"):
        catalog_access.check("GetDatabase", {"Name": "d"})
    world.store.change_entity(EntityKind.USER, A, "ana", "DeleteUserPolicy", _bare)
    world.now = SECONDS
    with pytest.raises(NotAuthorized):
        catalog_access.check("GetTable", {"DatabaseName": "d", "Name": "t"})


def test_an_accounts_own_root_reads_all_of_its_catalog(world: World) -> None:
    for account in (A, B):
        root = Caller(account=account, principal=root_arn(account), user_id=account)
        assert world.authorizer.authorize(Endpoint(), {"QueryString": "SELECT 1"}, _athena(root))[1].catalog_access is None


def _athena(caller: Caller) -> RequestContext:
    return RequestContext(
        service="athena",
        operation="StartQueryExecution",
        account=caller.account,
        region="us-east-1",
        principal=caller.principal,
        request_id="1",
        caller=caller,
    )


@pytest.mark.parametrize("action", ["logs:FilterLogEvents", "logs:GetLogEvents"])
def test_a_search_of_logs_leaves_the_events_of_a_denied_stream_out(world: World, action: str) -> None:
    resource = f"arn:aws:logs:us-east-1:{A}:log-group:/aws-glue/jobs/output:"
    deny = {"Effect": "Deny", "Action": action, "Resource": f"{resource}log-stream:jr_hidden"}
    statements = [{"Effect": "Allow", "Action": "logs:*", "Resource": f"{resource}*"}, deny]
    text = json.dumps({"Version": "2012-10-17", "Statement": statements})
    world.store.change_entity(EntityKind.USER, A, "ana", "PutUserPolicy", lambda user: _with(user, text))
    context = _athena(ANA)._replace(service="logs", operation="FilterLogEvents")
    request = {"logGroupName": "/aws-glue/jobs/output"}
    handler, _ = world.authorizer.authorize(Events(), request, context)
    answer = called(handler, request, context)
    assert [event["logStreamName"] for event in answer["events"]] == ["jr_shown"]
    assert answer["nextToken"] == "m/2:1"


def test_denied_groups_and_streams_of_logs_are_not_in_lists(world: World) -> None:
    group = f"arn:aws:logs:us-east-1:{A}:log-group:/aws-glue/jobs"
    denied = [f"{group}/error:*", f"{group}/output:log-stream:jr_hidden"]
    deny = {"Effect": "Deny", "Action": ["logs:DescribeLogStreams", "logs:GetLogEvents"], "Resource": denied}
    statements = [{"Effect": "Allow", "Action": "logs:*", "Resource": "*"}, deny]
    text = json.dumps({"Version": "2012-10-17", "Statement": statements})
    world.store.change_entity(EntityKind.USER, A, "ana", "PutUserPolicy", lambda user: _with(user, text))
    request = {"logGroupName": "/aws-glue/jobs/output"}
    shown = {}
    for operation in ("DescribeLogGroups", "DescribeLogStreams"):
        context = _athena(ANA)._replace(service="logs", operation=operation)
        handler, _ = world.authorizer.authorize(Lists(), request, context)
        shown[operation] = called(handler, request, context)
    assert [log_group["logGroupName"] for log_group in shown["DescribeLogGroups"]["logGroups"]] == ["/aws-glue/jobs/output"]
    assert [log_stream["arn"] for log_stream in shown["DescribeLogStreams"]["logStreams"]] == [
        f"{group}/output:log-stream:jr_shown"
    ]


@dataclass(frozen=True)
class Lists:
    def handler(self, _request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        stream = f"arn:aws:logs:us-east-1:{A}:log-group:/aws-glue/jobs/output:log-stream"
        return {
            "logGroups": [{"logGroupName": f"/aws-glue/jobs/{name}"} for name in ("error", "output")],
            "logStreams": [{"arn": f"{stream}:{name}"} for name in ("jr_hidden", "jr_shown")],
        }


@dataclass(frozen=True)
class Events:
    def handler(self, _request: Mapping[str, Any], _context: RequestContext) -> Mapping[str, Any]:
        names = ("jr_hidden", "jr_shown", "jr_hidden")
        return {"events": [{"logStreamName": name, "message": "x"} for name in names], "nextToken": "m/2:1"}


def test_iam_takes_no_session_token_of_users_nor_of_root(world: World) -> None:
    session = SessionContext(issued=0, expires=2**40)
    role = SessionContext(issued=0, expires=2**40, role=f"arn:aws:iam::{A}:role/r", session_name="s")
    root = Caller(account=A, principal=root_arn(A), user_id=A)
    for caller in (root, ANA):
        for service in ("iam", "sts", "organizations"):
            asked = _athena(replace(caller, session=session))._replace(service=service, operation="GetUser")
            if service == "iam":
                with pytest.raises(UnrecognizedClient, match="security token included in the request is invalid"):
                    world.authorizer.authorize(Endpoint(), {}, asked)
            elif service == "sts" or caller is root:
                world.authorizer.authorize(Endpoint(), {}, asked)
    world.authorizer.authorize(Endpoint(), {}, _athena(root)._replace(service="iam", operation="GetUser"))
    with pytest.raises(UnrecognizedClient, match="invalid"):
        # A role's session passes this authorizer, and finds here that its role is not there.
        world.authorizer.authorize(
            Endpoint(), {}, _athena(replace(ANA, session=role))._replace(service="iam", operation="GetUser")
        )
