"""The behaviour of every :class:`~penstock.access.keys.AccessStore`."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from penstock.access.entities import (
    Account,
    AccountExists,
    DeleteConflict,
    Entity,
    EntityExists,
    EntityKind,
    Group,
    InstanceProfile,
    ManagedPolicy,
    NoSuchEntity,
    PolicyVersion,
    Role,
    User,
)
from penstock.access.keys import AccessKey, AccessKeyExists, AccessKeyNotFound, AccessStore, EntityReader
from penstock.errors import LimitExceeded

__all__ = ["AccessStoreSuite"]

KEY = AccessKey(
    access_key_id="AKIAIOSFODNN7EXAMPLE",
    secret_access_key="wJalrXUtnFEMI-Zürich",
    account="111122223333",
    principal="arn:aws:iam::111122223333:user/ana",
    created=datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC),
)
CREATED = datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC)
USER = User(
    account=KEY.account,
    name="Ana",
    id="AIDAANA",
    created=CREATED,
    path="/team/",
    tags={"team": "Zürich"},
    inline={"one": '{"Version": "2012-10-17"}'},
    attached=("arn:aws:iam::aws:policy/AdministratorAccess",),
    boundary="arn:aws:iam::aws:policy/IAMFullAccess",
    groups=("Readers", "writers"),
)
GROUP = Group(account=KEY.account, name="Ana", id="AGPAANA", created=CREATED, inline={"one": "{}"}, attached=USER.attached)
PROFILE = InstanceProfile(account=KEY.account, name="Ana", id="AIPAANA", created=CREATED, tags={"a": "b"}, role="Ana")
ROLE = Role(account=KEY.account, name="Ana", id="AROAANA", created=CREATED, trust="{}", description="a", max_session=7200)
POLICY = ManagedPolicy(
    account=KEY.account,
    name="read",
    id="ANPAREAD",
    created=CREATED,
    updated=CREATED,
    versions=(PolicyVersion(number=1, document="{}", created=CREATED),),
    default=1,
    next_number=2,
)


def add(store: AccessStore, *entities: Entity) -> None:
    for entity in entities:
        store.add_entity(entity, "Create", limit=100)


class AccessStoreSuite:
    """Fixture ``store`` is an empty :class:`~penstock.access.keys.AccessStore`."""

    def test_returns_what_was_added(self, store: AccessStore) -> None:
        store.add(KEY)
        assert store.get(KEY.access_key_id) == KEY
        assert store.get("AKIANOBODY") is None

    def test_takes_an_id_once(self, store: AccessStore) -> None:
        store.add(KEY)
        with pytest.raises(AccessKeyExists, match=KEY.access_key_id):
            store.add(replace(KEY, secret_access_key="another"))
        assert store.get(KEY.access_key_id) == KEY

    def test_puts_a_new_secret_in_place_of_the_old(self, store: AccessStore) -> None:
        store.put(KEY)
        newer = replace(KEY, secret_access_key="another")
        store.put(newer)
        assert store.list(KEY.account) == [newer]

    def test_what_was_switched_off_or_removed_is_not_put_back(self, store: AccessStore) -> None:
        assert store.put(KEY)
        store.set_active(KEY.access_key_id, False)
        assert not store.put(KEY)
        key = store.get(KEY.access_key_id)
        assert key is not None
        assert not key.active
        store.remove(KEY.access_key_id)
        assert not store.put(KEY)
        assert store.get(KEY.access_key_id) is None
        assert store.list(KEY.account) == []
        with pytest.raises(AccessKeyNotFound):
            store.set_active(KEY.access_key_id, True)
        with pytest.raises(AccessKeyExists):
            store.add(KEY)

    def test_removes(self, store: AccessStore) -> None:
        store.add(KEY)
        store.remove(KEY.access_key_id)
        assert store.get(KEY.access_key_id) is None
        with pytest.raises(AccessKeyNotFound):
            store.remove(KEY.access_key_id)

    def test_lists_an_account_by_id(self, store: AccessStore) -> None:
        keys = [replace(KEY, access_key_id=f"AKIA{number}") for number in (3, 1, 2)]
        for key in [*keys, replace(KEY, access_key_id="AKIA0", account="444455556666")]:
            store.add(key)
        assert [key.access_key_id for key in store.list(KEY.account)] == ["AKIA1", "AKIA2", "AKIA3"]

    def test_switches_a_key_off_and_on(self, store: AccessStore) -> None:
        store.add(replace(KEY, owner_id="AIDAANA"))
        store.set_active(KEY.access_key_id, False)
        assert store.get(KEY.access_key_id) == replace(KEY, owner_id="AIDAANA", active=False)
        store.set_active(KEY.access_key_id, True)
        assert store.list(KEY.account) == [replace(KEY, owner_id="AIDAANA")]
        with pytest.raises(AccessKeyNotFound, match="AKIANOBODY"):
            store.set_active("AKIANOBODY", True)

    def test_gives_back_every_kind_as_it_was(self, store: AccessStore) -> None:
        add(store, USER, ROLE, POLICY, GROUP, PROFILE)
        assert store.get_entity(EntityKind.GROUP, KEY.account, "ANA") == GROUP
        assert store.get_entity(EntityKind.PROFILE, KEY.account, "ANA") == PROFILE
        assert store.get_entity(EntityKind.USER, KEY.account, "ANA") == USER
        assert store.get_entity(EntityKind.ROLE, KEY.account, "Ana") == ROLE
        assert store.get_entity(EntityKind.POLICY, KEY.account, "read") == POLICY
        assert store.get_entity(EntityKind.USER, "444455556666", "Ana") is None
        assert store.get_entity(EntityKind.POLICY, KEY.account, "Ana") is None

    def test_a_name_is_taken_in_any_spelling(self, store: AccessStore) -> None:
        add(store, USER, replace(USER, account="444455556666"))
        with pytest.raises(EntityExists, match="User with name ANA already exists"):
            add(store, replace(USER, name="ANA", id="AIDAOTHER"))
        assert store.get_entity(EntityKind.USER, KEY.account, "ana") == USER

    def test_an_account_holds_so_many_of_a_kind(self, store: AccessStore) -> None:
        add(store, ROLE)
        for number in range(2):
            store.add_entity(replace(USER, name=f"user-{number}"), "Create", limit=2)
        with pytest.raises(LimitExceeded, match="has 2 of its kind"):
            store.add_entity(replace(USER, name="user-3"), "Create", limit=2)

    def test_lists_one_kind_of_one_account_by_name(self, store: AccessStore) -> None:
        users = [replace(USER, name=name, id=name) for name in ("b", "A", "c")]
        add(store, *users, ROLE, replace(USER, account="444455556666"))
        assert [user.name for user in store.list_entities(EntityKind.USER, KEY.account)] == ["A", "b", "c"]

    def test_lists_users_roles_and_groups_of_one_account(self, store: AccessStore) -> None:
        users = [replace(USER, name=name, id=name) for name in ("b", "A")]
        add(store, GROUP, PROFILE, ROLE, POLICY, *users, replace(USER, account="444455556666"))
        assert store.list_identities(KEY.account) == [users[1], users[0], ROLE, GROUP]

    def test_a_change_looks_at_others_within_its_step(self, store: AccessStore) -> None:
        add(store, USER, POLICY)

        def look(entities: EntityReader) -> None:
            assert entities.list_identities(KEY.account) == [USER]
            if entities.get_entity(EntityKind.POLICY, KEY.account, "READ") is not None:
                raise DeleteConflict("no")

        for _ in range(2):
            with pytest.raises(DeleteConflict):
                store.change_entity(EntityKind.USER, KEY.account, "ana", "DeleteUser", lambda _: None, check=look)
        store.change_entity(EntityKind.POLICY, KEY.account, "read", "DeletePolicy", lambda _: None)
        store.change_entity(EntityKind.USER, KEY.account, "ana", "DeleteUser", lambda _: None, check=look)
        assert store.list_identities(KEY.account) == []

    def test_changes_in_one_step_or_not_at_all(self, store: AccessStore) -> None:
        add(store, USER)
        store.change_entity(EntityKind.USER, KEY.account, "ana", "Tag", lambda user: replace(user, tags={"x": "y"}))
        assert store.get_entity(EntityKind.USER, KEY.account, "Ana") == replace(USER, tags={"x": "y"})

        def refuse(_: Entity) -> Entity | None:
            raise DeleteConflict("no")

        with pytest.raises(DeleteConflict):
            store.change_entity(EntityKind.USER, KEY.account, "ana", "DeleteUser", refuse)
        assert store.get_entity(EntityKind.USER, KEY.account, "Ana") is not None
        store.change_entity(EntityKind.USER, KEY.account, "ana", "DeleteUser", lambda _: None)
        assert store.get_entity(EntityKind.USER, KEY.account, "Ana") is None
        with pytest.raises(NoSuchEntity, match="The user with name ana cannot be found"):
            store.change_entity(EntityKind.USER, KEY.account, "ana", "DeleteUser", lambda _: None)

    def test_keeps_accounts(self, store: AccessStore) -> None:
        two, one = (Account(id=number * 12, name="n", email="e@example.com", created=CREATED) for number in ("2", "1"))
        store.add_account(two)
        store.add_account(one)
        assert store.list_accounts() == [one, two]
        assert store.get_account("2" * 12) == two
        assert store.get_account("3" * 12) is None
        with pytest.raises(AccountExists):
            store.add_account(replace(one, name="again"))
