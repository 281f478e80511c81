"""Glue's operations on crawlers."""

import statistics
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from penstock.api.aws.catalog.crawl_targets import other_shapes, other_targets
from penstock.api.aws.catalog.crawls import history_handlers, schedule_handlers, starter_of
from penstock.api.aws.catalog.operations import own_catalog
from penstock.api.aws.protocol.operations import Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.crawl.errors import CrawlerNotFound
from penstock.crawl.model import Crawler, LastCrawl, S3Target, SchemaChangePolicy
from penstock.crawl.service import CrawlService
from penstock.errors import InvalidInput
from penstock.paging import Page

__all__ = ["operations"]

_PAGE = 100
_EPOCH = datetime.fromtimestamp(0, UTC)
_KEPT = ("LineageConfiguration",)


def operations(service: CrawlService, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> OperationSet:
    """Return every operation of Glue on crawlers that ``service`` answers; ``now`` returns the time in UTC."""
    handlers = {**_writers(service), **_readers(service, now), **schedule_handlers(service), **history_handlers(service)}
    return OperationSet(service="glue", handlers=handlers)


def _writers(service: CrawlService) -> dict[str, Handler]:
    def create(request: Request, context: RequestContext) -> Response:
        blank = Crawler(
            name=request["Name"],
            role=request["Role"],
            creation_time=_EPOCH,
            last_updated=_EPOCH,
            starter=starter_of(context),
        )
        service.create(replace(_changed(blank, request), tags=request.get("Tags") or {}))
        return {}

    def update(request: Request, context: RequestContext) -> Response:
        starter = starter_of(context)
        service.update(request["Name"], lambda crawler: replace(_changed(crawler, request), starter=starter))
        return {}

    def delete(request: Request, _context: RequestContext) -> Response:
        service.delete(request["Name"])
        return {}

    def start(request: Request, context: RequestContext) -> Response:
        service.start(request["Name"], starter=starter_of(context))
        return {}

    def stop(request: Request, _context: RequestContext) -> Response:
        service.stop(request["Name"])
        return {}

    return {
        "CreateCrawler": own_catalog(create),
        "UpdateCrawler": own_catalog(update),
        "DeleteCrawler": delete,
        "StartCrawler": start,
        "StopCrawler": stop,
    }


def _readers(service: CrawlService, now: Callable[[], datetime]) -> dict[str, Handler]:
    def get(request: Request, _context: RequestContext) -> Response:
        return {"Crawler": _shape(service.get(request["Name"]), now())}

    def get_all(request: Request, _context: RequestContext) -> Response:
        page = service.page(limit=request.get("MaxResults") or _PAGE, token=request.get("NextToken"))
        return _page("Crawlers", [_shape(item, now()) for item in page.items], page)

    def names(request: Request, _context: RequestContext) -> Response:
        wanted = dict(request.get("Tags") or {}).items()
        page = service.page(limit=request.get("MaxResults") or _PAGE, token=request.get("NextToken"))
        return _page("CrawlerNames", [item.name for item in page.items if wanted <= dict(item.tags).items()], page)

    def get_several(request: Request, _context: RequestContext) -> Response:
        crawlers: list[dict[str, Any]] = []
        missing: list[str] = []
        for name in dict.fromkeys(request["CrawlerNames"]):
            try:
                crawlers.append(_shape(service.get(name), now()))
            except CrawlerNotFound:
                missing.append(name)
        return {"Crawlers": crawlers, "CrawlersNotFound": missing}

    def metrics(request: Request, _context: RequestContext) -> Response:
        if wanted := request.get("CrawlerNameList"):
            return {"CrawlerMetricsList": [_metrics(service.get(name), now()) for name in wanted]}
        page = service.page(limit=request.get("MaxResults") or _PAGE, token=request.get("NextToken"))
        return _page("CrawlerMetricsList", [_metrics(item, now()) for item in page.items], page)

    return {
        "GetCrawler": get,
        "GetCrawlers": get_all,
        "ListCrawlers": names,
        "BatchGetCrawlers": get_several,
        "GetCrawlerMetrics": metrics,
    }


def _page(member: str, items: list[Any], page: Page[Crawler]) -> Response:
    return {member: items, "NextToken": page.next_token} if page.next_token else {member: items}


def _changed(crawler: Crawler, request: Request) -> Crawler:
    """Return ``crawler`` with every setting in the request of CreateCrawler or UpdateCrawler."""
    changes: dict[str, Any] = {
        field: request[member]
        for member, field in {
            "Role": "role",
            "DatabaseName": "database",
            "Description": "description",
            "TablePrefix": "table_prefix",
            "Configuration": "configuration",
            "Schedule": "schedule",
            "Classifiers": "classifiers",
        }.items()
        if member in request
    }
    if "classifiers" in changes:
        changes["classifiers"] = tuple(changes["classifiers"])
    if changes.get("schedule") == "":
        changes["schedule"] = None
    if behavior := (request.get("RecrawlPolicy") or {}).get("RecrawlBehavior"):
        changes["recrawl"] = behavior
    if "Targets" in request:
        changes["targets"] = tuple(_target(s3_target) for s3_target in request["Targets"].get("S3Targets") or ())
        changes["others"] = other_targets(request["Targets"])
    if policy := request.get("SchemaChangePolicy"):
        changes["policy"] = SchemaChangePolicy(
            update=policy.get("UpdateBehavior", crawler.policy.update),
            delete=policy.get("DeleteBehavior", crawler.policy.delete),
        )
    extra = {**crawler.extra, **{member: request[member] for member in _KEPT if member in request}}
    return replace(crawler, **changes, extra=extra)


def _target(shape: Request) -> S3Target:
    if not shape.get("Path"):
        raise InvalidInput("An S3 target has no Path.", remedy="Set Path to s3://BUCKET/FOLDER/.")
    return S3Target(
        path=shape["Path"],
        exclusions=tuple(shape.get("Exclusions") or ()),
        extra={member: value for member, value in shape.items() if member not in {"Path", "Exclusions"}},
    )


def _shape(crawler: Crawler, now: datetime) -> dict[str, Any]:
    elapsed = (now - crawler.started).total_seconds() if crawler.started else 0.0
    shape = {
        "LineageConfiguration": {"CrawlerLineageSettings": "DISABLE"},
        **crawler.extra,
        "Classifiers": list(crawler.classifiers),
        "RecrawlPolicy": {"RecrawlBehavior": crawler.recrawl},
        "Schedule": _schedule(crawler),
        "Name": crawler.name,
        "Role": crawler.role,
        "Targets": {
            "S3Targets": [
                {**target.extra, "Path": target.path, "Exclusions": list(target.exclusions)} for target in crawler.targets
            ],
            **other_shapes(crawler.others),
        },
        "DatabaseName": crawler.database,
        "Description": crawler.description,
        "SchemaChangePolicy": {"UpdateBehavior": crawler.policy.update, "DeleteBehavior": crawler.policy.delete},
        "State": crawler.state,
        "TablePrefix": crawler.table_prefix or None,
        "CrawlElapsedTime": max(0, int(elapsed * 1000)),
        "CreationTime": crawler.creation_time,
        "LastUpdated": crawler.last_updated,
        "LastCrawl": _last_shape(crawler.name, crawler.last_crawl),
        "Version": crawler.version,
        "Configuration": crawler.configuration,
    }
    return {member: value for member, value in shape.items() if value is not None}


def _schedule(crawler: Crawler) -> dict[str, Any] | None:
    if crawler.schedule is None:
        return None
    return {
        "ScheduleExpression": crawler.schedule,
        "State": "NOT_SCHEDULED" if crawler.next_run is None else "SCHEDULED",
    }


def _last_shape(name: str, last: LastCrawl | None) -> dict[str, Any] | None:
    if last is None:
        return None
    shape = {
        "Status": last.status,
        "ErrorMessage": last.message,
        "LogGroup": "/aws-glue/crawlers",
        "LogStream": name.replace(":", "_").replace("*", "_"),
        "StartTime": last.start_time,
    }
    return {member: value for member, value in shape.items() if value is not None}


def _metrics(crawler: Crawler, now: datetime) -> dict[str, Any]:
    median = statistics.median(crawler.runtimes) if crawler.runtimes else 0.0
    remaining = max(0.0, median - (now - crawler.started).total_seconds()) if crawler.started else 0.0
    return {
        "CrawlerName": crawler.name,
        "TimeLeftSeconds": remaining,
        "StillEstimating": crawler.started is not None and not crawler.runtimes,
        "LastRuntimeSeconds": crawler.runtimes[-1] if crawler.runtimes else 0.0,
        "MedianRuntimeSeconds": median,
        "TablesCreated": crawler.totals.tables_created,
        "TablesUpdated": crawler.totals.tables_updated,
        "TablesDeleted": crawler.totals.tables_deleted,
    }
