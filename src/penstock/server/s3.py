"""The S3 endpoint as a process of its own: wires lakes, authenticator and application, and serves them."""

import signal
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import inspect
from sqlalchemy.exc import DBAPIError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.access.authenticate import KeyCache
from penstock.access.authorize import Authorizer
from penstock.access.keys import AccessKey, AccessStore
from penstock.access.principals import root_arn
from penstock.access.sessions import Sessions
from penstock.api.limits import Limits
from penstock.api.s3.call import Lake
from penstock.api.s3.identity import S3Authenticator
from penstock.api.s3.work import Work
from penstock.lake.objects.store import LakeStore
from penstock.lake.objects.uploads import Uploads
from penstock.server.auditing import open_audit
from penstock.server.directory import connect_store
from penstock.server.http.hosts import host_of
from penstock.server.http.serving import Listening, check_listening, leave, listen, serve_app, url_of
from penstock.server.lakes import Lakes
from penstock.settings.server import BootstrapKey, ServerSettings
from penstock.store.sql.access import SqlAccessStore
from penstock.store.sql.database import Database
from penstock.store.sql.rotation import sealer_of
from penstock.store.sql.sealing import Sealer

__all__ = ["ALIVE_PATH", "BootstrapKeys", "build_s3_app", "serve_s3"]

ALIVE_PATH = "/-/healthz"  # no bucket's name begins with a dash
_ALIVE = JSONResponse({"status": "ok"})


class BootstrapKeys:
    """The server's access store. Until a server has prepared it, only ``key`` of the first account's root is known.

    From then on the store decides: a root key that was deactivated or deleted in it is refused.
    """

    def __init__(self, database: Database, sealer: Sealer, key: BootstrapKey | None, account: str) -> None:
        self._database = database
        self._store: AccessStore = SqlAccessStore(database, sealer)
        self._root = None
        if key is not None:
            self._root = AccessKey(
                access_key_id=key.access_key_id,
                secret_access_key=key.secret_access_key,
                account=account,
                principal=root_arn(account),
                created=datetime.now(UTC),
            )

    def get(self, access_key_id: str) -> AccessKey | None:
        """Return the key, or None."""
        try:
            return self._store.get(access_key_id)
        except DBAPIError:
            if _has_keys(self._database):
                raise
        return self._root if self._root is not None and access_key_id == self._root.access_key_id else None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def _has_keys(database: Database) -> bool:
    with database.read() as connection:
        return inspect(connection).has_table("access_keys")


def serve_s3(settings: ServerSettings, *, announce: Callable[[str], None]) -> None:
    """Serve S3 until SIGTERM or SIGINT; ``announce`` is called with the URL when the socket listens.

    Raises :class:`EnvironmentProblem` if the port is taken or a lake cannot be used.
    """
    signal.signal(signal.SIGTERM, leave)
    listening = Listening.of(settings)
    check_listening(listening)
    with listen(listening) as listener:
        lakes = Lakes.under(settings)
        lakes.check_apart()
        lakes.make(settings.account)
        announce(url_of(listener, listening))
        from penstock.server.http.s3 import UploadProtocol  # noqa: PLC0415

        serve_app(lambda: build_s3_app(settings), listener, listening, protocol=UploadProtocol)


def build_s3_app(settings: ServerSettings) -> ASGIApp:
    """Return the ASGI application for ``settings``. :data:`ALIVE_PATH` needs no authentication and is not audited."""
    from penstock.api.s3.app import S3App  # noqa: PLC0415

    lakes, work = Lakes.under(settings), Work()
    lakes_by_account = _OpenLakes(lakes)
    authenticator = None
    if settings.authenticate:
        database = connect_store(settings.store_url)
        sealer = sealer_of(settings.master_key_file, database)
        store: Any = BootstrapKeys(database, sealer, settings.bootstrap_key, settings.account)
        authenticator = S3Authenticator(
            region=settings.region,
            keys=KeyCache(store),
            sessions=Sessions(sealer),
            authorizer=Authorizer(store),
            run=work.run,
        )
    domains = (
        ".localhost",
        *(allowed_host.lower() for allowed_host in settings.allowed_hosts if allowed_host.startswith(".")),
    )
    audit, close_audit = open_audit(settings)
    s3 = S3App(
        lakes_by_account.of,
        authenticator,
        limits=Limits.of_process(settings.requests_per_second, processes=1),
        work=work,
        first=settings.account,
        region=settings.region,
        domains=domains,
        audit=audit,
        close=close_audit,
        accounts=lakes.accounts,
    )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == ALIVE_PATH and not _names_bucket(scope, domains):
            await _ALIVE(scope, receive, send)
        else:
            await s3(scope, receive, send)

    return app


def _names_bucket(scope: Scope, domains: tuple[str, ...]) -> bool:
    """Return whether the host name contains a bucket, so that any path is a key."""
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    return (host_of(host) or "").endswith(domains)


class _OpenLakes:
    """The lakes that were used since the start."""

    def __init__(self, lakes: Lakes) -> None:
        self._lakes = lakes
        self._known: dict[str, Lake] = {}

    def of(self, account: str) -> Lake:
        """Return the account's lake, created with its first bucket if missing."""
        lake = self._known.get(account)
        if lake is None:
            store = LakeStore(self._lakes.make(account))
            lake = self._known.setdefault(account, Lake(account=account, store=store, uploads=Uploads(store)))
        return lake
