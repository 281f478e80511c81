"""The behaviour of every :class:`~penstock.secrets.model.SecretStore`."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from penstock.secrets.errors import SecretChanged, SecretExists
from penstock.secrets.model import Rotation, Secret, SecretStore, SecretValue, SecretVersion

__all__ = ["SecretStoreSuite"]

NOW = datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC)
ACCOUNT = "111122223333"
TEXT = SecretVersion(id="v1", value=SecretValue(text="pässword"), stages=frozenset({"AWSPREVIOUS"}), created=NOW)
BINARY = SecretVersion(id="v2", value=SecretValue(binary=b"\x00\xff"), stages=frozenset({"AWSCURRENT", "x"}), created=NOW)
SECRET = Secret(
    arn=f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:db-AbCdEf",
    account=ACCOUNT,
    name="db",
    created=NOW,
    changed=NOW,
    description="of the broker",
    tags={"team": "data"},
    versions=(TEXT, BINARY),
)


class SecretStoreSuite:
    """Fixture ``store`` is an empty :class:`~penstock.secrets.model.SecretStore`."""

    def test_returns_what_was_created_by_arn_and_name(self, store: SecretStore) -> None:
        store.create(SECRET)
        assert store.by_arn(SECRET.arn) == SECRET
        assert store.by_name(ACCOUNT, "db") == SECRET
        assert store.by_name("444455556666", "db") is None
        assert store.by_arn(f"{SECRET.arn}x") is None

    def test_takes_a_name_once_an_account(self, store: SecretStore) -> None:
        store.create(SECRET)
        with pytest.raises(SecretExists):
            store.create(replace(SECRET, arn=f"{SECRET.arn}2"))
        store.create(replace(SECRET, arn=f"{SECRET.arn}3", account="444455556666"))

    def test_replaces_at_the_revision_it_was_read_at(self, store: SecretStore) -> None:
        store.create(SECRET)
        changed = replace(SECRET, description=None, versions=(BINARY,), deletion=NOW + timedelta(days=7), accessed=NOW)
        store.replace(changed)
        assert store.by_arn(SECRET.arn) == replace(changed, revision=1)
        with pytest.raises(SecretChanged):
            store.replace(replace(changed, description="too late"))
        assert store.by_arn(SECRET.arn) == replace(changed, revision=1)

    def test_lists_by_age_without_values(self, store: SecretStore) -> None:
        store.create(SECRET)
        store.create(replace(SECRET, arn=f"{SECRET.arn}0", name="older", created=NOW - timedelta(days=1), versions=()))
        older, newer = store.list(ACCOUNT)
        assert (older.name, newer.name) == ("older", "db")
        assert [(version.id, version.stages, version.value) for version in newer.versions] == [
            ("v1", TEXT.stages, SecretValue()),
            ("v2", BINARY.stages, SecretValue()),
        ]

    def test_purges(self, store: SecretStore) -> None:
        store.create(SECRET)
        store.purge(SECRET.arn)
        store.purge(SECRET.arn)
        assert store.by_name(ACCOUNT, "db") is None
        store.create(SECRET)
        assert store.by_arn(SECRET.arn) == SECRET

    def test_keeps_a_secrets_policy(self, store: SecretStore) -> None:
        store.create(replace(SECRET, policy="{}"))
        assert store.policy(SECRET.arn) == "{}"
        assert store.policy(f"{SECRET.arn}x") is None
        secret = store.by_arn(SECRET.arn)
        assert secret is not None
        assert secret.policy == "{}"
        store.replace(replace(secret, policy=None))
        assert store.policy(SECRET.arn) is None

    def test_keeps_how_a_secret_is_rotated_and_a_version_without_a_value(self, store: SecretStore) -> None:
        pending = SecretVersion(id="v3", value=SecretValue(), stages=frozenset({"AWSPENDING"}), created=NOW)
        empty = SecretVersion(id="v4", value=SecretValue(binary=b""), stages=frozenset({"y"}), created=NOW)
        function = "arn:aws:lambda:us-east-1:111122223333:function:f"
        rotated = replace(SECRET, rotation=Rotation(function=function, rotated=NOW), versions=(TEXT, BINARY, pending, empty))
        store.create(rotated)
        assert store.by_arn(SECRET.arn) == rotated
        assert store.list(ACCOUNT)[0].rotation == rotated.rotation
        rules = Rotation(function=function, rules={"AutomaticallyAfterDays": 30, "Duration": "3h"}, since=NOW)
        store.replace(replace(rotated, rotation=rules))
        ruled = store.by_arn(SECRET.arn)
        assert ruled is not None
        assert ruled.rotation == rules
        rotated = ruled
        store.replace(replace(rotated, rotation=Rotation(function=function, enabled=False)))
        secret = store.by_arn(SECRET.arn)
        assert secret is not None
        assert secret.rotation == Rotation(function=function, enabled=False)
