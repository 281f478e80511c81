"""Glue's operations on crawlers."""

import statistics
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from penstock.api.aws.catalog.crawl_targets import other_shapes, other_targets
from penstock.api.aws.catalog.crawls import history_handlers, schedule_handlers, starter_of
from penstock.api.aws.catalog.operations import own_catalog
from penstock.api.aws.protocol.handlers import batch_get, call, listing, paged, under
from penstock.api.aws.protocol.operations import Handler, OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.crawl.model import Crawler, LastCrawl, S3Target, SchemaChangePolicy
from penstock.crawl.service import CrawlService
from penstock.errors import InvalidInput

__all__ = ["operations"]

_PAGE = 100
_EPOCH = datetime.fromtimestamp(0, UTC)
_STORED_WHOLE = ("LineageConfiguration",)


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
            starter=starter_of(request, context),
        )
        service.create(replace(_changed(blank, request), tags=request.get("Tags") or {}))
        return {}

    def update(request: Request, context: RequestContext) -> Response:
        starter = starter_of(request, context)
        service.update(request["Name"], lambda crawler: replace(_changed(crawler, request), starter=starter))
        return {}

    return {
        "CreateCrawler": own_catalog(create),
        "UpdateCrawler": own_catalog(update),
        "DeleteCrawler": call(service.delete, "Name"),
        "StartCrawler": call(service.start, "Name", starter=starter_of),
        "StopCrawler": call(service.stop, "Name"),
    }


def _readers(service: CrawlService, now: Callable[[], datetime]) -> dict[str, Handler]:
    def shape(crawler: Crawler) -> dict[str, Any]:
        return _shape(crawler, now())

    def metrics(crawler: Crawler) -> dict[str, Any]:
        return _metrics(crawler, now())

    def list_names(request: Request, _context: RequestContext) -> Response:
        tags = dict(request.get("Tags") or {}).items()
        page = service.page(limit=request.get("MaxResults") or _PAGE, token=request.get("NextToken"))
        return paged(page, CrawlerNames=[crawler.name for crawler in page.items if tags <= dict(crawler.tags).items()])

    all_metrics = listing("CrawlerMetricsList", metrics, service.page, size=_PAGE)

    def get_metrics(request: Request, context: RequestContext) -> Response:
        if names := request.get("CrawlerNameList"):
            return {"CrawlerMetricsList": [metrics(service.get(name)) for name in names]}
        return all_metrics(request, context)

    return {
        "GetCrawler": call(service.get, "Name", answer=under("Crawler", shape)),
        "GetCrawlers": listing("Crawlers", shape, service.page, size=_PAGE),
        "ListCrawlers": list_names,
        "BatchGetCrawlers": batch_get("Crawlers", shape, service.get, "CrawlerNames", missing="CrawlersNotFound"),
        "GetCrawlerMetrics": get_metrics,
    }


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
    extra = {**crawler.extra, **{member: request[member] for member in _STORED_WHOLE if member in request}}
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
