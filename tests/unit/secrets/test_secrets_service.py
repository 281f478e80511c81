"""Secrets Manager's rules."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock.secrets.errors import (
    InvalidSecretName,
    InvalidSecretParameter,
    InvalidSecretRequest,
    SecretExists,
    SecretLimitExceeded,
    SecretNotFound,
)
from penstock.secrets.model import Secret, SecretValue
from penstock.secrets.service import SecretsService
from penstock.store.sql.sealing import Sealer
from penstock.store.sql.secrets import SqlSecretStore
from penstock.testing.sqlite import new_database

ACCOUNT = "111122223333"
ONE, TWO = SecretValue(text="one"), SecretValue(binary=b"two")


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(clock: Clock) -> SecretsService:
    return SecretsService(SqlSecretStore(new_database(), Sealer(bytes(32))), region="us-east-1", now=clock)


def stages(secret: Secret) -> dict[str, set[str]]:
    return {version.id: set(version.stages) for version in secret.versions}


def test_gives_an_arn_with_six_random_characters(service: SecretsService) -> None:
    secret, version = service.create(ACCOUNT, "a/b", value=ONE)
    head, _, suffix = secret.arn.rpartition("-")
    assert head == f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:a/b"
    assert len(suffix) == 6
    assert suffix.isalnum()
    assert version is not None
    assert version.stages == {"AWSCURRENT"}


def test_finds_by_name_whole_and_partial_arn(service: SecretsService) -> None:
    secret, _ = service.create(ACCOUNT, "a-b", value=ONE)
    for secret_id in ("a-b", secret.arn, secret.arn[:-7]):
        assert service.value(ACCOUNT, secret_id)[1].value == ONE
    for secret_id in ("a", f"{secret.arn}x", secret.arn.replace("us-east-1", "eu-west-1"), "arn:aws:nonsense"):
        with pytest.raises(SecretNotFound, match="can't find the specified secret"):
            service.value(ACCOUNT, secret_id)
    with pytest.raises(SecretNotFound):
        service.value("444455556666", secret.arn)


def test_moves_the_labels_with_each_version(service: SecretsService) -> None:
    service.create(ACCOUNT, "a", value=ONE, token="1")
    service.put(ACCOUNT, "a", TWO, token="2")
    secret, _ = service.put(ACCOUNT, "a", SecretValue(text="three"), token="3")
    assert stages(secret) == {"1": set(), "2": {"AWSPREVIOUS"}, "3": {"AWSCURRENT"}}
    assert service.value(ACCOUNT, "a", stage="AWSPREVIOUS")[1].value == TWO
    assert service.value(ACCOUNT, "a", version_id="1")[1].value == ONE


def test_puts_under_custom_labels(service: SecretsService) -> None:
    service.create(ACCOUNT, "a", value=ONE, token="1")
    secret, _ = service.put(ACCOUNT, "a", TWO, token="2", stages=["AWSPENDING"])
    assert stages(secret) == {"1": {"AWSCURRENT"}, "2": {"AWSPENDING"}}
    with pytest.raises(InvalidSecretRequest, match="not associated"):
        service.value(ACCOUNT, "a", version_id="1", stage="AWSPENDING")
    with pytest.raises(SecretNotFound, match="staging label: AWSNONE"):
        service.value(ACCOUNT, "a", stage="AWSNONE")
    with pytest.raises(SecretNotFound, match="VersionId: 9"):
        service.value(ACCOUNT, "a", version_id="9")


def test_the_first_version_is_current_whatever_its_labels(service: SecretsService) -> None:
    service.create(ACCOUNT, "a")
    with pytest.raises(SecretNotFound, match="AWSCURRENT"):
        service.value(ACCOUNT, "a")
    secret, _ = service.put(ACCOUNT, "a", ONE, token="1", stages=["mine"])
    assert stages(secret) == {"1": {"AWSCURRENT", "mine"}}


def test_a_token_makes_a_call_safe_to_repeat(service: SecretsService) -> None:
    first = service.create(ACCOUNT, "a", value=ONE, token="1")
    assert service.create(ACCOUNT, "a", value=ONE, token="1") == first
    with pytest.raises(SecretExists, match="the secret a already exists"):
        service.create(ACCOUNT, "a", value=TWO, token="1")
    with pytest.raises(SecretExists, match="the secret a already exists"):
        service.create(ACCOUNT, "a", value=ONE)
    assert service.put(ACCOUNT, "a", ONE, token="1")[0].revision == first[0].revision
    with pytest.raises(SecretExists, match="ClientRequestToken 1"):
        service.put(ACCOUNT, "a", TWO, token="1")


def test_updates_details_and_value(service: SecretsService) -> None:
    service.create(ACCOUNT, "a", value=ONE, token="1", description="old")
    secret, version = service.update(ACCOUNT, "a", description="new")
    assert (secret.description, version) == ("new", None)
    secret, version = service.update(ACCOUNT, "a", value=TWO, token="2")
    assert version is not None
    assert (secret.description, stages(secret)) == ("new", {"1": {"AWSPREVIOUS"}, "2": {"AWSCURRENT"}})


def test_a_deleted_secret_can_be_restored_until_its_day(service: SecretsService, clock: Clock) -> None:
    secret, _ = service.create(ACCOUNT, "a", value=ONE)
    assert service.delete(ACCOUNT, "a")[2] == clock.now + timedelta(days=30)
    with pytest.raises(InvalidSecretRequest, match="marked for deletion"):
        service.value(ACCOUNT, "a")
    with pytest.raises(InvalidSecretRequest, match="already scheduled for deletion"):
        service.create(ACCOUNT, "a", value=ONE)
    assert service.list(ACCOUNT) == []
    assert [item.name for item in service.list(ACCOUNT, include_deleted=True)] == ["a"]
    assert service.describe(ACCOUNT, "a").deletion is not None
    service.restore(ACCOUNT, "a")
    assert service.value(ACCOUNT, "a")[1].value == ONE

    service.delete(ACCOUNT, "a", recovery_days=7)
    clock.now += timedelta(days=7)
    with pytest.raises(SecretNotFound):
        service.restore(ACCOUNT, "a")
    assert service.create(ACCOUNT, "a", value=TWO)[0].arn != secret.arn


def test_forced_deletion_frees_the_name_at_once(service: SecretsService) -> None:
    service.create(ACCOUNT, "a", value=ONE)
    service.delete(ACCOUNT, "a")
    service.delete(ACCOUNT, "a", force=True)
    service.delete(ACCOUNT, "a", force=True)
    service.create(ACCOUNT, "a", value=TWO)
    with pytest.raises(SecretNotFound):
        service.delete(ACCOUNT, "b")


def test_refuses_an_invalid_recovery_window(service: SecretsService) -> None:
    service.create(ACCOUNT, "a")
    for days in (6, 31):
        with pytest.raises(InvalidSecretParameter, match="between 7 and 30 days"):
            service.delete(ACCOUNT, "a", recovery_days=days)
    with pytest.raises(InvalidSecretParameter, match="in conjunction with"):
        service.delete(ACCOUNT, "a", recovery_days=7, force=True)


@pytest.mark.parametrize("name", ["", "a b", "ä", "x" * 513, "a:b"])
def test_refuses_names_with_other_characters(service: SecretsService, name: str) -> None:
    with pytest.raises(InvalidSecretName, match="Invalid name"):
        service.create(ACCOUNT, name)


def test_removes_the_oldest_unlabelled_version_beyond_the_bound(service: SecretsService) -> None:
    service.create(ACCOUNT, "a", value=ONE, token="0")
    for number in range(1, 102):
        service.put(ACCOUNT, "a", SecretValue(text=str(number)), token=str(number))
    kept = [version.id for version in service.describe(ACCOUNT, "a").versions]
    assert kept == [str(number) for number in range(2, 102)]


def test_bounds_labels_and_tags(service: SecretsService) -> None:
    service.create(ACCOUNT, "a", value=ONE)
    with pytest.raises(SecretLimitExceeded, match="20 staging labels"):
        service.put(ACCOUNT, "a", TWO, stages=[f"label{number}" for number in range(20)])
    with pytest.raises(SecretLimitExceeded, match="50 tags"):
        service.tag(ACCOUNT, "a", add={str(number): "" for number in range(51)})
    with pytest.raises(InvalidSecretParameter, match="reserved"):
        service.tag(ACCOUNT, "a", add={"aws:x": ""})
    service.tag(ACCOUNT, "a", add={"x": "1", "y": "2"})
    service.tag(ACCOUNT, "a", remove=["x"])
    assert service.describe(ACCOUNT, "a").tags == {"y": "2"}


def test_stores_the_day_of_the_last_read(service: SecretsService, clock: Clock) -> None:
    service.create(ACCOUNT, "a", value=ONE)
    service.value(ACCOUNT, "a")
    read = service.describe(ACCOUNT, "a")
    assert read.accessed == datetime(2026, 11, 21, tzinfo=UTC)
    clock.now += timedelta(hours=2)
    service.value(ACCOUNT, "a")
    assert service.describe(ACCOUNT, "a") == read


def test_a_change_that_lost_a_race_is_retried(clock: Clock) -> None:
    class Racing(SqlSecretStore):
        """Another caller changes the secret once, between the read and the write."""

        rival: SecretsService | None = None

        def replace(self, secret: Secret) -> None:
            rival, self.rival = self.rival, None
            if rival is not None:
                rival.put(ACCOUNT, "a", TWO, token="rival")
            super().replace(secret)

    store = Racing(new_database(), Sealer(bytes(32)))
    service = SecretsService(store, region="us-east-1", now=clock)
    service.create(ACCOUNT, "a", value=ONE, token="0")
    store.rival = service
    secret, _ = service.put(ACCOUNT, "a", SecretValue(text="mine"), token="mine")
    assert stages(secret) == {"0": set(), "rival": {"AWSPREVIOUS"}, "mine": {"AWSCURRENT"}}
