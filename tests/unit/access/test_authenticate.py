"""Authentication of signed requests: cached keys, refused tokens."""

from datetime import UTC, datetime

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from penstock.access.authenticate import Authenticator, Caller, KeyCache
from penstock.access.errors import UnrecognizedClient
from penstock.access.keys import AccessKey
from penstock.access.sigv4 import SignedRequest
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.sealing import Sealer
from penstock.testing.sqlite import new_database

KEY = AccessKey(
    access_key_id="AKIAIOSFODNN7EXAMPLE",
    secret_access_key="a secret of thirty characters.",
    account="111122223333",
    principal="arn:aws:iam::111122223333:user/ana",
    created=datetime(2026, 1, 1, tzinfo=UTC),
)


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def request(token: str | None = None, key_id: str = KEY.access_key_id) -> SignedRequest:
    made = AWSRequest("POST", "http://localhost/", data=b"{}")
    SigV4Auth(Credentials(key_id, KEY.secret_access_key, token), "glue", "us-east-1").add_auth(made)
    headers = {name.lower(): value for name, value in made.headers.items()} | {"host": "localhost"}
    return SignedRequest(method="POST", path="/", query="", headers=headers, body=b"{}")


@pytest.fixture
def store() -> SqlAccessStore:
    store = SqlAccessStore(new_database(), Sealer(bytes(32)))
    store.add(KEY)
    return store


def test_authenticates_the_caller(store: SqlAccessStore) -> None:
    authenticator = Authenticator(keys=KeyCache(store), region="us-east-1")
    signed = request()
    claim = authenticator.claim(signed, service="glue")
    caller = authenticator.authenticate(claim, signed, authenticator.keys.fetch(claim.access_key_id))
    assert caller == Caller(account=KEY.account, principal=KEY.principal)


def test_refuses_another_key(store: SqlAccessStore) -> None:
    authenticator = Authenticator(keys=KeyCache(store), region="us-east-1")
    signed = request(key_id="AKIASOMEBODYELSES000")
    claim = authenticator.claim(signed, service="glue")
    with pytest.raises(UnrecognizedClient, match="security token included in the request is invalid"):
        authenticator.authenticate(claim, signed, authenticator.keys.fetch(claim.access_key_id))


def test_refuses_session_tokens_and_says_what_to_do(store: SqlAccessStore) -> None:
    authenticator = Authenticator(keys=KeyCache(store), region="us-east-1")
    claim = authenticator.claim(request(token="FwoGZXIvYXdzEBY"), service="glue")
    with pytest.raises(UnrecognizedClient, match="unset AWS_SESSION_TOKEN"):
        authenticator.temporary(claim)


def test_caches_a_key_and_forgets_a_removed_one(store: SqlAccessStore) -> None:
    clock = Clock()
    cache = KeyCache(store, ttl=5, clock=clock)
    assert cache.fresh(KEY.access_key_id) is None
    assert cache.fetch(KEY.access_key_id) == KEY
    store.remove(KEY.access_key_id)
    clock.seconds = 4.9
    assert cache.fresh(KEY.access_key_id) == KEY
    clock.seconds = 5.0
    assert cache.fresh(KEY.access_key_id) is None
    assert cache.fetch(KEY.access_key_id) is None


def test_a_key_that_was_removed_while_it_was_read_is_not_kept() -> None:
    class Slow(SqlAccessStore):
        def get(self, access_key_id: str) -> AccessKey | None:
            access_key = super().get(access_key_id)
            self.remove(access_key_id)
            cache.forget(access_key_id)
            return access_key

    store = Slow(new_database(), Sealer(bytes(32)))
    store.add(KEY)
    cache = KeyCache(store)
    assert cache.fetch(KEY.access_key_id) == KEY
    assert cache.fresh(KEY.access_key_id) is None


def test_never_shows_a_secret() -> None:
    assert KEY.secret_access_key not in repr(KEY)
