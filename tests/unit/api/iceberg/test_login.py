"""Tokens are taken where nobody else can read them, and only from keys that are still right."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock.access.authenticate import Authenticator, KeyCache
from penstock.access.bearer import BearerTokens
from penstock.access.errors import ExpiredToken, UnrecognizedClient
from penstock.access.keys import AccessKey
from penstock.access.principals import SessionContext, root_arn
from penstock.access.sessions import Sessions
from penstock.api.iceberg.errors import PlainCredentials
from penstock.api.iceberg.login import IcebergLogin
from penstock.api.limits import Limits
from penstock.api.workers import Workers
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.sealing import Sealer
from penstock.testing.sqlite import new_database

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
ACCOUNT = "111122223333"
KEY = AccessKey(
    access_key_id="AKIATESTTESTTESTTEST",
    secret_access_key="a secret",
    account=ACCOUNT,
    principal=root_arn(ACCOUNT),
    created=NOW,
)


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(clock: Clock) -> BearerTokens:
    seal = Sealer(bytes(32))
    return BearerTokens(seal=seal, sessions=Sessions(seal), now=clock)


def changed(**changes: Any) -> AccessKey:
    given = {name: getattr(KEY, name) for name in KEY.__slots__}
    return AccessKey(**{**given, **changes})


def test_a_token_is_for_its_key_with_its_secret(tokens: BearerTokens) -> None:
    token, seconds = tokens.issue(KEY)
    opened = tokens.open(token)
    assert (opened.access_key_id, opened.caller, seconds) == (KEY.access_key_id, None, 3600)
    assert opened.fits(KEY)
    assert not opened.fits(None)
    assert not opened.fits(changed(active=False))
    assert not opened.fits(changed(secret_access_key="another"))
    assert KEY.secret_access_key not in token


def test_a_token_ends_after_an_hour(tokens: BearerTokens, clock: Clock) -> None:
    token, _ = tokens.issue(KEY)
    clock.now += timedelta(seconds=3599)
    tokens.open(token)
    clock.now += timedelta(seconds=1)
    with pytest.raises(ExpiredToken):
        tokens.open(token)


def test_a_sessions_token_ends_with_the_session(tokens: BearerTokens, clock: Clock) -> None:
    issued = int(NOW.timestamp())
    session = SessionContext(issued=issued, expires=issued + 900, role="arn:aws:iam::111122223333:role/r")
    key = tokens.sessions.issue(ACCOUNT, "arn:aws:sts::111122223333:assumed-role/r/s", session, user_id="x:s")
    token, seconds = tokens.issue(key)
    assert seconds == 900
    assert tokens.open(token).caller == key.caller
    clock.now += timedelta(seconds=900)
    with pytest.raises(ExpiredToken):
        tokens.open(token)


def test_a_token_of_another_server_or_for_another_purpose_is_refused(tokens: BearerTokens) -> None:
    seal = Sealer(bytes([1]) * 32)
    other = BearerTokens(seal=seal, sessions=Sessions(seal))
    for made_up in (other.issue(KEY)[0], "", "x", "\N{SNOWMAN}", "A" * 100_000):
        with pytest.raises(UnrecognizedClient):
            tokens.open(made_up)
    # A session token is not secret: it is sent with each request.
    session = SessionContext(issued=0, expires=2**32)
    key = tokens.sessions.issue(ACCOUNT, KEY.principal, session, user_id=ACCOUNT)
    with pytest.raises(UnrecognizedClient):
        tokens.open(key.token)


@pytest.mark.parametrize(
    ("scope", "private"),
    [
        ({"scheme": "https", "server": ("192.0.2.1", 443)}, True),
        ({"scheme": "http", "server": ("127.0.0.1", 80)}, True),
        ({"scheme": "http", "server": ("/run/socket", None)}, True),
        ({"scheme": "http", "server": ("192.0.2.1", 80)}, False),
    ],
)
def test_credentials_need_a_private_connection(tokens: BearerTokens, scope: dict[str, Any], private: bool) -> None:
    keys = KeyCache(SqlAccessStore(new_database(), Sealer(bytes(32))))
    workers = Workers(1, name="test")
    made = [
        IcebergLogin(Authenticator(keys=keys, region="us-east-1"), tokens, Limits(), workers, insecure=insecure)
        for insecure in (False, True)
    ]
    made[1].check_private(scope)
    if private:
        made[0].check_private(scope)
    else:
        with pytest.raises(PlainCredentials):
            made[0].check_private(scope)
    workers.close()
