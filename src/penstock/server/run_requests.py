"""Answers the runs of jobs themselves: their credentials, their bookmarks and the statements of sessions.

A run shows its token, which it got in its environment; the store has only the token's hash, and only while it runs. Clients
of AWS ask for credentials as containers do (IAM user guide, "Container credential provider"): a GET of a URL with the token
as its Authorization.
"""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from penstock.bounded_json import read_json
from penstock.errors import AccessDenied, InvalidInput, PenstockError
from penstock.jobs.bookmarks import MAX_DOCUMENT, Bookmark, BookmarkService
from penstock.jobs.model import RUNNING, RUNS, JobRun
from penstock.server.jobs import TenantJobs, run_credentials
from penstock.server.tenants import ServedTenants
from penstock.settings.server import ServerSettings

__all__ = ["RUN_PATH", "run_routes"]

RUN_PATH = "/penstock/run"
_MAX_BODY = 4 * MAX_DOCUMENT
# A bookmark is a text of its own; the output of a statement is text, too.
_MAX_VALUES = 50_000
_MAX_DEPTH = 50


def run_routes(settings: ServerSettings, tenants: ServedTenants) -> list[Route]:
    """Return the routes below :data:`RUN_PATH`."""

    async def credentials(request: Request) -> Response:
        return await _answer(lambda: _credentials_of(settings, tenants, request))

    async def bookmark(request: Request) -> Response:
        return await _answer_body(tenants, request, _bookmark)

    async def statement(request: Request) -> Response:
        return await _answer_body(tenants, request, _statement)

    return [
        Route(f"{RUN_PATH}/credentials", credentials, methods=["GET"]),
        Route(f"{RUN_PATH}/statement", statement, methods=["GET", "PUT"]),
        Route(f"{RUN_PATH}/bookmark", bookmark, methods=["GET", "PUT"]),
    ]


async def _answer(answer: Any) -> Response:
    try:
        return JSONResponse(await run_in_threadpool(answer))
    except PenstockError as error:
        return _refusal(error)


async def _answer_body(tenants: ServedTenants, request: Request, answer: Any) -> Response:
    """Answer a request that may have a body, which is read only of a run's own process, and within a bound."""
    try:
        jobs, run, _ = await run_in_threadpool(_authenticated, tenants, request)
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > _MAX_BODY:
                raise InvalidInput(f"The request has more than {_MAX_BODY} bytes.")
        return JSONResponse(await run_in_threadpool(answer, jobs, run, request.method, bytes(body)))
    except PenstockError as error:
        return _refusal(error)


def _refusal(error: PenstockError) -> Response:
    return JSONResponse({"code": error.aws_code, "message": str(error)}, error.http_status)


def _credentials_of(settings: ServerSettings, tenants: ServedTenants, request: Request) -> Mapping[str, Any]:
    jobs, run, account = _authenticated(tenants, request)
    return run_credentials(settings, jobs.tokens, run, account)


def _bookmark(jobs: TenantJobs, run: JobRun, method: str, body: bytes) -> Mapping[str, Any]:
    service = BookmarkService(jobs.store)
    if method == "GET":
        return _shape(service.read(run.job))
    try:
        sent = read_json(body, most=_MAX_VALUES, deepest=_MAX_DEPTH)
        version, document = sent["version"], sent["document"]
        if not isinstance(version, int) or not isinstance(document, str):
            raise TypeError
    except (ValueError, TypeError, KeyError):
        raise InvalidInput("A bookmark is sent as an object with version, a number, and document, a text.") from None
    return _shape(service.commit(run.job, run.id, document, version=version, attempt=run.attempt))


def _statement(jobs: TenantJobs, run: JobRun, method: str, body: bytes) -> Mapping[str, Any]:
    if method == "GET":
        return jobs.sessions.take(run)
    try:
        sent = read_json(body, most=_MAX_VALUES, deepest=_MAX_DEPTH)
        number, output = int(sent["id"]), dict(sent["output"])
        cancelled = bool(sent["cancelled"])
    except (ValueError, TypeError, KeyError):
        raise InvalidInput("An output is sent as an object with id, output and cancelled.") from None
    jobs.sessions.answer(run, number, output, cancelled=cancelled)
    return {}


def _shape(bookmark: Bookmark) -> Mapping[str, Any]:
    return {"job": bookmark.job, "version": bookmark.version, "document": bookmark.document}


def _authenticated(tenants: ServedTenants, request: Request) -> tuple[TenantJobs, JobRun, str]:
    """Return the run whose token the request shows; raise :class:`AccessDenied`."""
    token = request.headers.get("authorization", "")
    account, _, rest = token.partition(".")
    run_id = rest.partition(".")[0]
    tenant = tenants.get(account) if len(token) < 1_000 else None
    run = tenant.jobs.store.get(RUNS, run_id) if tenant is not None else None
    digest = hashlib.sha256(token.encode()).hexdigest()
    if run is None or run.state not in RUNNING or not hmac.compare_digest(run.token or "", digest):
        raise AccessDenied("The token is not that of a job run that is running.")
    assert tenant is not None
    return tenant.jobs, run, account
