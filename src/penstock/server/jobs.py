"""Wires the jobs of an account: the operations, and what runs them."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.access.principals import Caller
from penstock.access.sts import TokenService
from penstock.api.aws import logs
from penstock.api.aws.catalog.tags import Tagged
from penstock.api.aws.jobs import jobs as job_operations
from penstock.api.aws.jobs import runs as run_operations
from penstock.api.aws.jobs import security, sessions, triggers, workflows
from penstock.api.aws.protocol.operations import OperationSet
from penstock.crawl.model import Crawler
from penstock.crawl.service import CrawlService
from penstock.errors import NotFound, PenstockError
from penstock.jobs.bookmarks import BookmarkService
from penstock.jobs.definitions import JobService
from penstock.jobs.model import JobRun
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
from penstock.server.isolation import JobPlatform, isolation_of
from penstock.settings.server import ServerSettings

__all__ = ["TenantJobs", "role_of_glue", "run_credentials"]

_GLUE = "glue.amazonaws.com"


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
        platform: JobPlatform,
        *,
        tokens: TokenService,
        crawls: CrawlService,
    ) -> "TenantJobs":
        """Return the jobs of an account over ``store``; nothing runs before :meth:`begin`."""
        runner = _runner(store, settings, platform, tokens)
        wake = runner.wake if runner is not None else lambda: None
        runs = RunService(store, enabled=runner is not None, wake=wake)
        flows = WorkflowService(store, enabled=runner is not None, wake=wake)
        crawlers = _CrawlsOfService(crawls)
        firing = TriggerRunner(store, runs, flows, crawlers)
        interactive = SessionService(store, enabled=runner is not None, wake=wake)
        starters = TriggerService(store, fire=firing.fire, is_crawler=crawlers.exists)
        if runner is not None:
            runner.on_end(runs.try_again)
            runner.on_end(firing.ended)
            runner.on_tick(firing.tick)
        jobs = JobService(store)
        folder = None if settings.jobs is None else settings.jobs.folder / platform.account
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

    def wake(self) -> None:
        """Look for what is to be done now."""
        if self.runner is not None:
            self.runner.wake()

    def close(self) -> None:
        """Stop watching runs, which go on."""
        if self.runner is not None:
            self.runner.close()


class _CrawlsOfService:
    """The crawlers that triggers start and wait for."""

    def __init__(self, service: CrawlService) -> None:
        self._service = service

    def exists(self, name: str) -> bool:
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
        return next((crawl_record.last.status for crawl_record in crawler.history if crawl_record.run_id == crawl_id), None)

    def _find(self, name: str) -> Crawler | None:
        try:
            return self._service.get(name)
        except NotFound:
            return None


def _runner(store: JobStore, settings: ServerSettings, platform: JobPlatform, tokens: TokenService) -> JobRunner | None:
    if settings.jobs is None:
        return None
    account = platform.account
    how = RunSettings(
        folder=settings.jobs.folder / account,
        endpoint_url=settings.url,
        s3_endpoint_url=settings.s3_endpoint_url,
        account=account,
        region=settings.region,
        lake=platform.lake.root if settings.jobs.lake_folder and settings.s3_endpoint_url is None else None,
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
        members = run_credentials(settings, tokens, run, account)
        names = {"AccessKeyId": "ACCESS_KEY_ID", "SecretAccessKey": "SECRET_ACCESS_KEY", "Token": "SESSION_TOKEN"}
        return {f"AWS_{name}": members[member] for member, name in names.items() if members.get(member)}

    def check(run: JobRun) -> None:
        run_credentials(settings, tokens, run, account)

    host = machine_of(settings.jobs.folder)
    isolation = isolation_of(settings, settings.jobs, platform)
    return JobRunner(store, how, host=host, check=check, isolation=isolation, credentials=credentials)


def run_credentials(settings: ServerSettings, tokens: TokenService, run: JobRun, account: str) -> dict[str, str]:
    """Return the credentials of a run, as containers get them; raise :class:`AccessDenied` unless Glue may take its role."""
    if not settings.authenticate:
        return {"AccessKeyId": "penstock", "SecretAccessKey": "penstock", "Expiration": "2099-01-01T00:00:00Z"}
    # At most 64 characters.
    name = f"GlueJobRunnerSession-{run.id[-40:]}"
    key = tokens.assume_role_as_service(_GLUE, run.settings["Role"], name, account=account, region=settings.region)
    return {
        "RoleArn": key.caller.arn_for_policies,
        "AccessKeyId": key.access_key_id,
        "SecretAccessKey": key.secret_access_key,
        "Token": key.token,
        "Expiration": key.expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def role_of_glue(tokens: TokenService, region: str, account: str, role: str, session: str) -> Caller | None:
    """Return a session of a role that Glue may assume; None if there is no such role."""
    try:
        return tokens.assume_role_as_service(_GLUE, role, session, account=account, region=region).caller
    except PenstockError:
        return None
