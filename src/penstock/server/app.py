"""The ASGI application of one process: AWS's endpoint at /, Confluent's paths, health and metrics."""

import asyncio
import contextlib
import gc
import secrets
from collections.abc import AsyncIterator, Callable, Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock import __version__
from penstock.access.authenticate import Authenticator
from penstock.api.aws.protocol.dispatch import AwsApp
from penstock.api.aws.protocol.endpoints import EndpointTable
from penstock.api.aws.protocol.unserved import UnservedServices
from penstock.api.confluent.app import SERVICE as CONFLUENT
from penstock.api.confluent.app import ConfluentApp
from penstock.api.confluent.auth import BasicLogin, check_private
from penstock.api.confluent.errors import render
from penstock.api.iceberg.routes import ROOT
from penstock.api.limits import Limits
from penstock.errors import AccessDenied, PenstockError
from penstock.server.auditing import open_audit
from penstock.server.http.protocol import draining
from penstock.server.iceberg import build_iceberg
from penstock.server.observe import AccessLog, Metrics, registry_metrics
from penstock.server.run_requests import RUN_PATH, run_routes
from penstock.server.wiring import Services, wire
from penstock.settings.server import ServerSettings
from penstock.store.sql.registry.store import count_versions

__all__ = ["build_app"]

_FLUSH_SECONDS = 0.5
_ICEBERG = f"{ROOT}/"
_BESIDE = frozenset({"/healthz", "/readyz", "/metrics"})


def build_app(settings: ServerSettings) -> ASGIApp:
    """Return the application for ``settings``, whose store has been prepared (:func:`penstock.server.wiring.prepare`)."""
    audit, close_audit = open_audit(settings)
    services = wire(settings, audit)
    metrics = Metrics(AccessLog() if settings.access_log else None, folder=settings.metrics_folder)
    directory, authorizer = services.directory, services.authorizer
    keys = directory.keys
    authenticator = Authenticator(keys=keys, region=settings.region, sessions=directory.sessions)
    limits = Limits.of_process(settings.requests_per_second, processes=settings.workers)
    aws = AwsApp(
        EndpointTable(services.operations),
        authenticator=authenticator if settings.authenticate else None,
        account=settings.account,
        region=settings.region,
        observer=metrics,
        authorizer=authorizer if settings.authenticate else None,
        limits=limits,
        audit=audit,
    )
    confluent = ConfluentApp(
        services.schemas,
        keys=keys if settings.authenticate else None,
        account=settings.account,
        observer=metrics,
        access_checker=services.access_checker,
        tenants=services.tenants,
        limits=limits,
        insecure_basic_auth=settings.insecure_basic_auth,
        audit=audit,
    )
    iceberg = build_iceberg(
        settings,
        services,
        authenticator=authenticator,
        authorizer=authorizer,
        seal=services.seal,
        observer=metrics,
        limits=limits,
        audit=audit,
    )
    unserved = UnservedServices(metrics)
    login = BasicLogin(keys, limits.failures, lambda key_id: asyncio.to_thread(keys.fetch, key_id))
    guard = None if settings.metrics_without_key or not settings.authenticate else _MetricsLogin(login, settings)
    runs = run_routes(settings, services.tenants)
    operational = _operational_app(services, metrics, guard, runs, [aws.close, confluent.close, iceberg.close, close_audit])

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        # Routing costs more than verifying a signature: requests of the two APIs bypass the router.
        if scope["type"] == "http" and scope["path"].startswith(_ICEBERG):
            await iceberg(scope, receive, send)
        elif scope["type"] == "http" and unserved.takes(scope):
            await unserved(scope, receive, send)
        elif scope["type"] == "http" and (_is_aws(scope) or unserved.has_paths(scope)):
            await aws(scope, receive, send)
        elif scope["type"] == "http" and scope["path"] not in _BESIDE and not scope["path"].startswith(RUN_PATH):
            await confluent(scope, receive, send)
        else:
            await operational(scope, receive, send)

    return app


def _is_aws(scope: Scope) -> bool:
    # Confluent's root answers a GET without a query; one with a query may be a request that AWS's clients signed.
    return scope["path"] == "/" and (scope["method"] not in {"GET", "HEAD"} or bool(scope["query_string"]))


class _MetricsLogin:
    """Accepts only keys of the server's own account, because metrics count the requests of all accounts."""

    def __init__(self, login: BasicLogin, settings: ServerSettings) -> None:
        self._login = login
        self._account = settings.account
        self._insecure = settings.insecure_basic_auth

    async def check(self, request: Request) -> None:
        """Raise :class:`AccessDenied` for other callers."""
        if not self._insecure:
            check_private(request.scope)
        client = request.client.host if request.client else "-"
        caller = await self._login.caller(request.headers.get("authorization", ""), client)
        if caller.account != self._account:
            raise AccessDenied("Metrics are for the server's own account.", remedy=f"Send a key of account {self._account}.")


def _operational_app(
    services: Services,
    metrics: Metrics,
    guard: _MetricsLogin | None,
    further: Sequence[Route],
    closing: Sequence[Callable[[], None]],
) -> Starlette:
    async def alive(_request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__})

    async def ready(_request: Request) -> Response:
        if draining.is_set():
            return JSONResponse({"status": "draining"}, status_code=503)
        problems = await asyncio.to_thread(services.readiness.problems)
        if problems:
            return JSONResponse({"status": "unavailable", **problems}, status_code=503)
        return JSONResponse({"status": "ready", "version": __version__})

    async def expose(request: Request) -> Response:
        try:
            if guard is not None:
                await guard.check(request)
        except PenstockError as error:
            refused = render(error, request_id=secrets.token_hex(16), extras=True)
            headers = {name.decode(): value.decode() for name, value in refused.headers}
            return Response(refused.body, refused.status, headers, media_type="application/json")
        succeeded, failed = metrics.answered(CONFLUENT)
        versions = await asyncio.to_thread(count_versions, services.database)
        of_registry = registry_metrics(versions, succeeded=succeeded, failed=failed)
        return Response(metrics.exposition() + of_registry, media_type="text/plain; version=0.0.4")

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        # Objects built until now stay: the garbage collector need not traverse them with every full collection.
        gc.collect()
        gc.freeze()
        flusher = asyncio.create_task(_flush_often(metrics))
        # The server answers meanwhile.
        beginning = asyncio.create_task(asyncio.to_thread(services.begin))
        try:
            yield
        finally:
            flusher.cancel()
            for close in closing:
                await asyncio.to_thread(close)
            await asyncio.to_thread(services.close)
            await beginning  # it ends with them
            metrics.flush()

    routes = [Route("/healthz", alive), Route("/readyz", ready), Route("/metrics", expose), *further]
    return Starlette(routes=routes, lifespan=lifespan)


async def _flush_often(metrics: Metrics) -> None:
    while True:
        await asyncio.sleep(_FLUSH_SECONDS)
        metrics.flush()
