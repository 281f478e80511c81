"""Wires the jobs of an account, and answers the runs themselves: their credentials and their bookmarks.

A run shows its token, which it got in its environment; the store has only the token's hash, and only while it runs. Clients
of AWS ask for credentials as containers do (IAM user guide, "Container credential provider"): a GET of a URL with the token
as its Authorization.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from penstock.access.sts import TokenService
from penstock.api.aws import logs
from penstock.api.aws.catalog.tags import Tagged
from penstock.api.aws.jobs import jobs as job_operations
from penstock.api.aws.jobs import runs as run_operations
from penstock.api.aws.jobs import security, sessions, triggers, workflows
from penstock.api.aws.protocol.operations import OperationSet
from penstock.bounded_json import read_json
from penstock.crawl.model import Crawler
from penstock.crawl.service import CrawlService
from penstock.errors import AccessDenied, InvalidInput, NotFound, PenstockError
from penstock.glue.launch import INTERACTIVE
from penstock.jobs.bookmarks import MAX_DOCUMENT, Bookmark, BookmarkService
from penstock.jobs.definitions import JobService
from penstock.jobs.model import RUNNING, RUNS, JobRun
from penstock.jobs.runs import RunService
from penstock.jobs.security import SecurityService
from penstock.jobs.sessions import SessionService
from penstock.jobs.store import JobStore
from penstock.jobs.triggers import TriggerService
from penstock.jobs.workflows import WorkflowService
from penstock.runs.firing import TriggerRunner
from penstock.runs.folders import machine_of
from penstock.runs.plans import RunSettings
from penstock.runs.runner import JobRunner
from penstock.server.isolation import JobSurroundings, isolation_of
from penstock.server.tenants import ServedTenants
from penstock.settings.server import ServerSettings

__all__ = ["GLUE", "RUN_PATH", "TenantJobs", "run_routes"]

RUN_PATH = "/penstock/run"
GLUE = "glue.amazonaws.com"
_MAX_BODY = 4 * MAX_DOCUMENT
# A bookmark is a text of its own; the output of a statement is text, too.
_MAX_VALUES = 50_000
_MAX_DEPTH = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantJobs:
    """The jobs of one account: ``operations`` and ``tagged`` for the API, ``runner`` if this server runs jobs."""

    store: JobStore
    tokens: TokenService
    operations: tuple[OperationSet, ...]
    tagged: Mapping[str, Tagged]
    runner: JobRunner | None
    sessions: SessionService

    @classmethod
    def of(
        cls,
        store: JobStore,
        settings: ServerSettings,
        around: JobSurroundings,
        *,
        tokens: TokenService,
        crawls: CrawlService,
    ) -> "TenantJobs":
        """Return the jobs of an account over ``store``; nothing runs before :meth:`begin`."""
        runner = _runner(store, settings, around, tokens)
        wake = runner.wake if runner is not None else lambda: None
        runs = RunService(store, enabled=runner is not None, wake=wake)
        flows = WorkflowService(store, enabled=runner is not None, wake=wake)
        crawlers = _CrawlsOfService(crawls)
        firing = TriggerRunner(store, runs, flows, crawlers)
        interactive = SessionService(store, script=str(INTERACTIVE), enabled=runner is not None, wake=wake)
        starters = TriggerService(store, fire=firing.fire, is_crawler=crawlers.known)
        if runner is not None:
            runner.on_end(runs.try_again)
            runner.on_end(firing.ended)
            runner.on_tick(firing.tick)
        jobs = JobService(store)
        folder = None if settings.jobs is None else settings.jobs.folder / around.account
        return cls(
            store=store,
            tokens=tokens,
            operations=(
                sessions.operations(interactive),
                triggers.operations(starters),
                workflows.operations(flows, store),
                security.operations(SecurityService(store)),
                job_operations.operations(jobs),
                run_operations.operations(runs, BookmarkService(store)),
                logs.operations(folder),
            ),
            tagged={"job": jobs, "trigger": starters, "workflow": flows, "session": interactive},
            runner=runner,
            sessions=interactive,
        )

    def begin(self) -> None:
        """Run jobs from now on."""
        if self.runner is not None:
            self.runner.begin()

    def close(self) -> None:
        """Stop watching runs, which go on."""
        if self.runner is not None:
            self.runner.close()


class _CrawlsOfService:
    """The crawlers that triggers start and wait for."""

    def __init__(self, service: CrawlService) -> None:
        self._service = service

    def known(self, name: str) -> bool:
        return self._find(name) is not None

    def start(self, name: str, crawl_id: str) -> None:
        self._service.start(name, run_id=crawl_id)

    def last(self, name: str) -> tuple[str, str] | None:
        crawler = self._find(name)
        latest = crawler.history[0] if crawler is not None and crawler.history else None
        return (latest.run_id, latest.last.status) if latest is not None else None

    def state(self, name: str, crawl_id: str) -> str | None:
        crawler = self._find(name)
        if crawler is None:
            return None
        if crawler.run_id == crawl_id:
            return "RUNNING"
        return next((each.last.status for each in crawler.history if each.run_id == crawl_id), None)

    def _find(self, name: str) -> Crawler | None:
        try:
            return self._service.get(name)
        except NotFound:
            return None


def _runner(store: JobStore, settings: ServerSettings, around: JobSurroundings, tokens: TokenService) -> JobRunner | None:
    if settings.jobs is None:
        return None
    account = around.account
    how = RunSettings(
        folder=settings.jobs.folder / account,
        endpoint_url=settings.url,
        s3_endpoint_url=settings.s3_endpoint_url,
        account=account,
        region=settings.region,
        lake=around.lake.root if settings.jobs.lake_folder and settings.s3_endpoint_url is None else None,
        bucket=settings.results_location.removeprefix("s3://").partition("/")[0],
        master=settings.jobs.master,
        at_once=settings.jobs.at_once,
        environment=settings.jobs.environment,
        cache=settings.jobs.cache,
        modules=settings.jobs.folder / "python-modules" / account,
        python_index=settings.jobs.python_index,
    )

    def credentials(run: JobRun) -> Mapping[str, str]:
        if how.renews:
            return {}
        found = _credentials(settings, tokens, run, account)
        names = {"AccessKeyId": "ACCESS_KEY_ID", "SecretAccessKey": "SECRET_ACCESS_KEY", "Token": "SESSION_TOKEN"}
        return {f"AWS_{name}": found[member] for member, name in names.items() if found.get(member)}

    def check(run: JobRun) -> None:
        _credentials(settings, tokens, run, account)

    host = machine_of(settings.jobs.folder)
    isolation = isolation_of(settings, settings.jobs, around)
    return JobRunner(store, how, host=host, check=check, isolation=isolation, credentials=credentials)


def _credentials(settings: ServerSettings, tokens: TokenService, run: JobRun, account: str) -> dict[str, str]:
    if not settings.authenticate:
        return {"AccessKeyId": "penstock", "SecretAccessKey": "penstock", "Expiration": "2099-01-01T00:00:00Z"}
    # At most 64 characters.
    name = f"GlueJobRunnerSession-{run.id[-40:]}"
    key = tokens.assume_role_as_service(GLUE, run.settings["Role"], name, account=account, region=settings.region)
    return {
        "RoleArn": key.caller.arn_for_policies,
        "AccessKeyId": key.access_key_id,
        "SecretAccessKey": key.secret_access_key,
        "Token": key.token,
        "Expiration": key.expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


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
    return _credentials(settings, jobs.tokens, run, account)


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
