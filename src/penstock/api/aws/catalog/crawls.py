"""Glue's operations on crawlers' schedules and on their latest crawls."""

import json
import operator
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from penstock.api.aws.protocol.handlers import call, member
from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.crawl.access import Starter
from penstock.crawl.model import Crawler, CrawlRecord, LastCrawl, Tally
from penstock.crawl.service import CrawlService
from penstock.errors import InvalidInput

__all__ = ["history_handlers", "schedule_handlers", "starter_of"]

_STATES = {"SUCCEEDED": "COMPLETED", "CANCELLED": "STOPPED", "FAILED": "FAILED"}
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    **{"GT": operator.gt, "GE": operator.ge, "LT": operator.lt},
    **{"LE": operator.le, "EQ": operator.eq, "NE": operator.ne},
}
_TIMES = {"START_TIME": "StartTime", "END_TIME": "EndTime"}
_TEXTS = {"CRAWL_ID": "CrawlId", "STATE": "State"}


def starter_of(_request: Request, context: RequestContext) -> Starter:
    """Return who sends the request, for the crawls that it starts."""
    return Starter(
        caller=context.caller,
        action=context.operation,
        client=context.client,
        secure=context.secure,
        user_agent=context.user_agent,
    )


def schedule_handlers(service: CrawlService) -> dict[str, Handler]:
    """Return the handlers of schedules by operation name."""
    name, schedule = "CrawlerName", member("Schedule", default=None)
    return {
        "UpdateCrawlerSchedule": call(service.set_schedule, name, schedule, starter=starter_of),
        "StartCrawlerSchedule": call(service.start_schedule, name, starter=starter_of),
        "StopCrawlerSchedule": call(service.stop_schedule, name),
    }


def history_handlers(service: CrawlService) -> dict[str, Handler]:
    """Return the handler of ListCrawls. A crawler keeps so few crawls that they are one page."""

    def crawls(request: Request, _context: RequestContext) -> Response:
        filters = [_filter(filter_) for filter_ in request.get("Filters") or ()]
        crawler = service.get(request["CrawlerName"])
        shapes = [*_running(crawler), *map(_shape, crawler.history)]
        return {"Crawls": [shape for shape in shapes if all(test(shape) for test in filters)]}

    return {"ListCrawls": crawls}


def _running(crawler: Crawler) -> list[dict[str, Any]]:
    if crawler.state == "READY" or crawler.run_id is None:
        return []
    return [{"CrawlId": crawler.run_id, "State": "RUNNING", "StartTime": crawler.started}]


def _shape(record: CrawlRecord) -> dict[str, Any]:
    last: LastCrawl = record.last
    return present(
        CrawlId=record.run_id,
        State=_STATES[last.status],
        StartTime=last.start_time,
        EndTime=last.end_time,
        Summary=_summary(last.tally),
        ErrorMessage=last.message,
        DPUHour=0.0,
    )


def _summary(tally: Tally) -> str:
    """Return the tables and partitions that a crawl changed, as JSON."""
    tables: dict[str, Any] = {}
    counts = {"ADD": tally.tables_created, "UPDATE": tally.tables_updated, "DELETE": tally.tables_deleted}
    for change, count in counts.items():
        if count:
            names = [name for its_change, name in tally.changes if its_change == change]
            tables[change] = {"Count": count, "Details": {"names": names}}
    partitions = {"ADD": tally.partitions_added, "DELETE": tally.partitions_deleted}
    return json.dumps(
        {"TABLE": tables, "PARTITION": {change: {"Count": count} for change, count in partitions.items() if count}}
    )


def _filter(criterion: Request) -> Callable[[Mapping[str, Any]], bool]:
    """Return the test of a CrawlsFilter over shapes of crawls."""
    field, text = criterion.get("FieldName", ""), criterion.get("FieldValue", "")
    compare = _COMPARISONS[criterion.get("FilterOperator", "EQ")]
    if field in _TEXTS:
        return lambda shape: compare(shape[_TEXTS[field]], text)
    if field not in _TIMES:
        raise InvalidInput(
            f"Crawls cannot be filtered by {field}.", remedy="Filter by CRAWL_ID, STATE, START_TIME or END_TIME."
        )
    limit = _time(text)
    return lambda shape: shape.get(_TIMES[field]) is not None and compare(shape[_TIMES[field]], limit)


def _time(text: str) -> datetime:
    """Return the time in milliseconds since 1970, as Glue's filters have it."""
    if not text.isdecimal() or len(text) > 14:
        raise InvalidInput(f"'{text[:50]}' is not a time in milliseconds since 1970.")
    return datetime.fromtimestamp(int(text) / 1000, UTC)
