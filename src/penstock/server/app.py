"""The ASGI application of one process: AWS's endpoint at /, Confluent's paths, health and metrics beside it."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Callable, Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock import __version__
from penstock.access.authenticate import Authenticator
from penstock.api.aws.dispatch import AwsApp
from penstock.api.aws.endpoints import EndpointTable
from penstock.api.aws.gate import PolicyGate, Warden
from penstock.api.aws.throttle import Throttle
from penstock.api.aws.unserved import UnservedServices
from penstock.api.confluent.app import ConfluentApp
from penstock.api.limits import FAILURES_PER_SECOND, FailedLogins, Limits
from penstock.server.observe import AccessLog, Metrics
from penstock.server.wiring import Services, wire
from penstock.settings.server import ServerSettings

__all__ = ["build_app"]

_FLUSH_SECONDS = 0.5
_ROLES_PER_SECOND = 100  # an account may assume; each leaves a record
_BESIDE = frozenset({"/healthz", "/readyz", "/metrics"})


def build_app(settings: ServerSettings) -> ASGIApp:
    """The application for ``settings``, whose store has been prepared (:func:`penstock.server.wiring.prepare`)."""
    services = wire(settings)
    metrics = Metrics(AccessLog() if settings.access_log else None, folder=settings.metrics_folder)
    directory = services.directory
    keys = directory.keys
    authenticator = Authenticator(keys=keys, region=settings.region, sessions=directory.sessions)
    warden = Warden(directory.authorizer, region=settings.region)
    gate = PolicyGate(warden, services.tenants, directory.store, region=settings.region)
    limits = _limits(settings)
    aws = AwsApp(
        EndpointTable(services.operations),
        authenticator=authenticator if settings.authenticate else None,
        account=settings.account,
        region=settings.region,
        observer=metrics,
        gate=gate if settings.authenticate else None,
        limits=limits,
    )
    confluent = ConfluentApp(
        services.schemas,
        keys=keys if settings.authenticate else None,
        account=settings.account,
        observer=metrics,
        warden=warden,
        realms=services.tenants,
        limits=limits,
    )
    unserved = UnservedServices(metrics)
    beside = _beside(services, metrics, [aws.close, confluent.close])

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        # Routing costs more than verifying a signature: the two interfaces are picked out before the router.
        if scope["type"] == "http" and unserved.takes(scope):
            await unserved(scope, receive, send)
        elif scope["type"] == "http" and _is_aws(scope):
            await aws(scope, receive, send)
        elif scope["type"] == "http" and scope["path"] not in _BESIDE:
            await confluent(scope, receive, send)
        else:
            await beside(scope, receive, send)

    return app


def _limits(settings: ServerSettings) -> Limits:
    """Those of one process, its share of what the server as a whole takes."""
    workers, rate = settings.workers, settings.requests_per_second
    failures = FAILURES_PER_SECOND if rate is None else min(FAILURES_PER_SECOND, rate)
    return Limits(
        throttle=None if rate is None else Throttle(rate / workers),
        account_throttle=Throttle(_ROLES_PER_SECOND / workers, whose="An account", what="calls of AssumeRole"),
        failures=FailedLogins(failures / workers),
    )


def _is_aws(scope: Scope) -> bool:
    # Confluent's root answers a bare GET; a GET with a query may be one that AWS's clients signed.
    return scope["path"] == "/" and (scope["method"] not in {"GET", "HEAD"} or bool(scope["query_string"]))


def _beside(services: Services, metrics: Metrics, closing: Sequence[Callable[[], None]]) -> Starlette:
    async def alive(_request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__})

    async def ready(_request: Request) -> Response:
        problems = await asyncio.to_thread(services.readiness.problems)
        if problems:
            return JSONResponse({"status": "unavailable", **problems}, status_code=503)
        return JSONResponse({"status": "ready", "version": __version__})

    async def expose(_request: Request) -> Response:
        return Response(metrics.exposition(), media_type="text/plain; version=0.0.4")

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        # What was built until now stays: the collector need not walk it with every full collection.
        gc.collect()
        gc.freeze()
        flusher = asyncio.create_task(_flush_often(metrics))
        try:
            yield
        finally:
            flusher.cancel()
            for close in closing:
                await asyncio.to_thread(close)
            await asyncio.to_thread(services.close)
            metrics.flush()

    routes = [Route("/healthz", alive), Route("/readyz", ready), Route("/metrics", expose)]
    return Starlette(routes=routes, lifespan=lifespan)


async def _flush_often(metrics: Metrics) -> None:
    while True:
        await asyncio.sleep(_FLUSH_SECONDS)
        metrics.flush()
