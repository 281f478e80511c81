"""Managed policies and their attachments, with concurrent attaching and deleting."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.access.authorize import Authorizer
from penstock.access.entities import DeleteConflict, EntityKind, NoSuchEntity
from penstock.access.identities.identities import Identities
from penstock.access.identities.managed_policies import ManagedPolicies
from penstock.access.identities.roles import Roles
from penstock.access.identities.users import Users
from penstock.access.keys import AccessStore
from penstock.api.aws.iam.policies import policy_handlers
from penstock.api.aws.protocol.operations import RequestContext
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.sealing import Sealer
from penstock.testing.sqlite import new_database

A = "111122223333"
TEXT = '{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "glue:Get*", "Resource": "*"}}'
TRUST = '{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}}'
SECONDS = 20.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AccessStore]:
    # A file: several threads write to it at once.
    database = new_database(tmp_path / "store.db")
    yield SqlAccessStore(database, Sealer(bytes(32)))
    database.close()


class World:
    def __init__(self, store: AccessStore) -> None:
        authorizer = Authorizer(store)
        self.identities = Identities(store, authorizer)
        self.users = Users(store, self.identities, keys_changed=lambda _: None)
        self.roles = Roles(store, self.identities)
        self.policies = ManagedPolicies(store, authorizer)

    def attach(self, arn: str) -> None:
        self.identities.attach(EntityKind.USER, A, "ana", arn)


@pytest.fixture
def world(store: AccessStore) -> World:
    made = World(store)
    made.users.create(A, "ana")
    return made


def noted(looked: list[str], name: str, original: Callable[..., Any], *args: Any) -> Any:
    looked.append(name)
    return original(*args)


def outcome(call: Callable[[], Any]) -> type[Exception] | None:
    try:
        call()
    except (DeleteConflict, NoSuchEntity) as error:
        return type(error)
    return None


def run_together(
    ready: threading.Barrier, found: dict[str, type[Exception] | None], name: str, call: Callable[[], None]
) -> None:
    ready.wait()
    found[name] = outcome(call)


def test_a_policy_is_either_deleted_or_attached(world: World) -> None:
    for number in range(25):
        arn = world.policies.create(A, f"p{number}", TEXT).arn
        ready = threading.Barrier(2, timeout=SECONDS)
        results: dict[str, type[Exception] | None] = {}

        calls: dict[str, Callable[[], None]] = {
            "delete": partial(world.policies.delete, A, arn),
            "attach": partial(world.attach, arn),
        }
        threads = [threading.Thread(target=run_together, args=(ready, results, *call)) for call in calls.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        attached = arn in world.identities.get(EntityKind.USER, A, "ana").attached
        assert results == (
            {"delete": DeleteConflict, "attach": None} if attached else {"delete": None, "attach": NoSuchEntity}
        )
        assert (outcome(partial(world.policies.get, A, arn)) is None) == attached
        if attached:
            world.identities.detach(EntityKind.USER, A, "ana", arn)


def test_listing_policies_reads_their_identities_once(
    world: World, store: AccessStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.roles.create(A, "reader", TRUST)
    for number in range(5):
        world.policies.create(A, f"p{number}", TEXT)
    for kind, name, number in ((EntityKind.USER, "ana", 0), (EntityKind.ROLE, "reader", 0), (EntityKind.ROLE, "reader", 3)):
        world.identities.attach(kind, A, name, f"arn:aws:iam::{A}:policy/p{number}")
    context = RequestContext(
        service="iam",
        operation="ListPolicies",
        account=A,
        region="us-east-1",
        principal=f"arn:aws:iam::{A}:root",
        request_id="1",
    )
    looked: list[str] = []
    for name in ("list_entities", "list_identities"):
        monkeypatch.setattr(store, name, partial(noted, looked, name, getattr(store, name)))
    handlers = policy_handlers(world.policies)
    listed = handlers["ListPolicies"]({"Scope": "Local"}, context)["Policies"]
    assert [item["AttachmentCount"] for item in listed] == [2, 0, 0, 1, 0]
    assert looked == ["list_entities", "list_identities"]
    looked.clear()
    attached = handlers["ListPolicies"]({"Scope": "Local", "OnlyAttached": True}, context)["Policies"]
    assert [item["PolicyName"] for item in attached] == ["p0", "p3"]
    assert looked == ["list_entities", "list_identities"]
