"""CloudWatch Logs' operations that read: over the logs of job runs, and nothing else.

Source: CloudWatch Logs API reference, "GetLogEvents", "FilterLogEvents", "DescribeLogGroups", "DescribeLogStreams"; Glue
developer guide, "Logging for AWS Glue jobs": standard output in the group ``/aws-glue/jobs/output``, standard error in
``/aws-glue/jobs/error``, a stream for each run.
"""

import hashlib
import heapq
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.errors import InvalidInput, NotFound
from penstock.names import arn
from penstock.paging import InvalidToken, Page, page
from penstock.runs.folders import RunFolder
from penstock.runs.logs import STREAMS, LogEvent, log_changed, log_events, log_written, read_log

__all__ = ["GROUPS", "describe_groups", "operations", "run_group"]

GROUPS = {f"/aws-glue/jobs/{stream}": stream for stream in STREAMS}
"""The groups of job runs, and the stream of a run's output that each has."""
_MOST = 10_000
_STREAM = re.compile(r"[A-Za-z0-9_-]{1,200}")
_MOST_LISTED = 50
_MOST_STREAMS = 100  # as many as logStreamNames may name
_DELAY = 1.0  # seconds in which a line that was read is in its log
_MOST_CHARACTERS = 1_000_000
_PAGE_START = re.compile(r"m/(\d{1,15}):(\d{1,9})")
_TOKEN = re.compile(r"([fb])/(\d{1,9}:\d{1,12})")


class _ResourceNotFound(NotFound):
    """The group or the stream does not exist."""

    aws_code = "ResourceNotFoundException"


class _InvalidParameter(InvalidInput):
    """The token is not one of this log."""

    aws_code = "InvalidParameterException"


def operations(folder: Path | None) -> OperationSet:
    """Return the operations over the runs in ``folder``; None if this server runs none."""

    def get(request: Request, _context: RequestContext) -> Response:
        from_head, is_within, limit = bool(request.get("startFromHead")), _within(request), request.get("limit") or _MOST
        way, place = _token(request.get("nextToken"), "f" if from_head else "b")
        where = _stream(folder, request.get("logGroupName") or "", request["logStreamName"])
        page = read_log(where, place=place, limit=limit, backward=way == "b")
        events = [_shape(event) for event in page.events if is_within(event)]
        tokens = {"nextForwardToken": f"f/{page.end}", "nextBackwardToken": f"b/{page.begin}"}
        return {"events": events, **tokens}

    def search(request: Request, _context: RequestContext) -> Response:
        return _search(folder, request)

    def streams(request: Request, context: RequestContext) -> Response:
        return _streams(folder, request, context)

    return OperationSet(
        service="logs",
        handlers={
            "GetLogEvents": get,
            "FilterLogEvents": search,
            "DescribeLogGroups": _groups,
            "DescribeLogStreams": streams,
        },
    )


def _groups(request: Request, context: RequestContext) -> Response:
    return describe_groups(request, {name: run_group(name, context) for name in GROUPS})


def describe_groups(request: Request, groups: Mapping[str, Any]) -> Response:
    """Return the page that DescribeLogGroups asks for of ``groups``, shapes by name."""
    prefix = request.get("logGroupNamePrefix") or ""
    names = _page("log groups", sorted(name for name in groups if name.startswith(prefix)), request)
    return present(logGroups=[groups[name] for name in names.items], nextToken=names.next_token)


def run_group(name: str, context: RequestContext) -> dict[str, Any]:
    """Return the shape of a group of job runs."""
    own = arn("logs", context.region, context.account, f"log-group:{name}")
    return {"logGroupName": name, "arn": f"{own}:*", "logGroupArn": own, "logGroupClass": "STANDARD", "metricFilterCount": 0}


def _streams(folder: Path | None, request: Request, context: RequestContext) -> Response:
    """Return streams by their names or, of all, by the times at which they were last written."""
    prefix, by_time = request.get("logStreamNamePrefix") or "", request.get("orderBy") == "LastEventTime"
    group, descending = request.get("logGroupName") or "", bool(request.get("descending"))
    listing = f"log streams:{group}:{by_time}:{descending}"
    if by_time and prefix:
        raise _InvalidParameter("Cannot order by LastEventTime with a logStreamNamePrefix.", remedy="Leave one of them out.")
    stream = _of_group(group)
    runs = [] if folder is None else [path for path in folder.glob("*") if path.name.startswith(prefix)]
    logs = {run.name: run / stream for run in runs if (run / stream).is_dir()}
    # By time, the keys of pages are the times, in as many digits as any has, with the names.
    keys = [f"{log_written(log):015}/{name}" if by_time else name for name, log in logs.items()]
    keys_page = _page(listing, sorted(keys, reverse=descending), request, descending=descending)
    names = [key.rpartition("/")[2] for key in keys_page.items]
    shapes = [_stream_shape(group, name, logs[name], context) for name in names]
    return present(logStreams=shapes, nextToken=keys_page.next_token)


def _stream_shape(group: str, name: str, log: Path, context: RequestContext) -> Mapping[str, Any]:
    first = next((event.time for event, _ in log_events(log, 0)), None)
    last = max(first, log_written(log)) if first is not None else None
    return present(
        logStreamName=name,
        arn=arn("logs", context.region, context.account, f"log-group:{group}:log-stream:{name}"),
        creationTime=RunFolder(log.parent).created,
        firstEventTimestamp=first,
        lastEventTimestamp=last,
        lastIngestionTime=last,
        storedBytes=0,  # as AWS says of every stream since 2019
    )


def _page(listing: str, keys: Sequence[str], request: Request, *, descending: bool = False) -> Page[str]:
    """Return the page of ``keys``, which are in order, that a request asks for."""
    limit, token = request.get("limit") or _MOST_LISTED, request.get("nextToken")

    def read(after: str | None, count: int) -> Sequence[str]:
        behind = [key for key in keys if after is None or (key < after if descending else key > after)]
        return behind[:count]

    try:
        return page(listing, token, limit, read, str, kind=str)
    except InvalidToken as error:
        raise _InvalidParameter("The specified nextToken is invalid.", remedy=error.remedy) from error


def _search(folder: Path | None, request: Request) -> Response:
    """Return events of one or several streams, by their times; those of one millisecond by stream and place."""
    group, is_within, limit = request.get("logGroupName") or "", _within(request), request.get("limit") or _MOST
    since, passed = _page_start(request.get("nextToken"))
    begin = max(since, request.get("startTime") or 0) / 1000
    logs = _searched(folder, group, request, begin)
    until = _settled(logs)
    merged = heapq.merge(*(_placed(name, log, begin) for name, log in logs.items()), key=lambda pair: pair[0].time)
    events: list[dict[str, Any]] = []
    length = 0
    for event, name, place in merged:
        if event.time >= until:
            break
        if event.time < since or not is_within(event):
            continue
        if event.time == since and passed > 0:
            passed -= 1
            continue
        length += len(event.message)
        if len(events) == limit or (events and length > _MOST_CHARACTERS):
            break
        events.append({**_shape(event), "logStreamName": name, "eventId": _event_id(group, name, place)})
    # A page with events has a token, by which those that follow a log go on; an empty page ends the listing.
    return present(events=events, searchedLogStreams=[], nextToken=_behind(events, request.get("nextToken")))


def _settled(logs: Mapping[str, Path]) -> float:
    """Return the milliseconds since 1970 before which all events are in the logs.

    The next page begins at the time of the last event: of several logs that are being written, none may get earlier ones.
    """
    if len(logs) < 2 or not any(RunFolder(log.parent).supervised for log in logs.values()):
        return math.inf
    return (time.time() - _DELAY) * 1000


def _behind(events: Sequence[Mapping[str, Any]], token: str | None) -> str | None:
    if not events:
        return None
    last = int(events[-1]["timestamp"])
    since, passed = _page_start(token)
    return f"m/{last}:{sum(event['timestamp'] == last for event in events) + (passed if since == last else 0)}"


def _searched(folder: Path | None, group: str, request: Request, since: float) -> dict[str, Path]:
    """Return the logs of the streams that are named, or of those with the prefix that were written since, by their names."""
    names: list[str] = list(request.get("logStreamNames") or ())
    prefix = request.get("logStreamNamePrefix") or ""
    if names and prefix:
        raise _InvalidParameter("logStreamNames and logStreamNamePrefix are given.", remedy="Give one of them.")
    if names:
        return {name: _stream(folder, group, name) for name in sorted(set(names))}
    stream = _of_group(group)
    streams = {
        path.name: path / stream
        for path in sorted([] if folder is None else folder.glob("*"))
        if path.name.startswith(prefix) and log_changed(path / stream, since)
    }
    if len(streams) > _MOST_STREAMS:
        raise _InvalidParameter(
            f"{len(streams)} runs have written since startTime, of which {_MOST_STREAMS} can be searched at once.",
            remedy="Give a later startTime, logStreamNames or logStreamNamePrefix.",
        )
    return streams


def _placed(name: str, log: Path, since: float) -> Iterator[tuple[LogEvent, str, str]]:
    for event, place in log_events(log, since):
        yield event, name, place


def _event_id(group: str, name: str, place: str) -> str:
    """Return 56 digits, as AWS's: clients that follow a log tell by them what they have shown."""
    digest = hashlib.sha256(f"{group}/{name}/{place}".encode()).hexdigest()
    return f"{int(digest, 16):056}"[:56]


def _page_start(token: str | None) -> tuple[int, int]:
    """Return the milliseconds at which a page begins, and how many events of that millisecond were on earlier pages."""
    if token is None:
        return 0, 0
    match = _PAGE_START.fullmatch(token)
    if match is None:
        raise _InvalidParameter("The specified nextToken is invalid.")
    return int(match.group(1)), int(match.group(2))


def _of_group(group: str) -> str:
    stream = GROUPS.get(group)
    if stream is None:
        raise _ResourceNotFound(
            "The specified log group does not exist.", remedy=f"There are {' and '.join(GROUPS)} for the runs of jobs."
        )
    return stream


def _stream(folder: Path | None, group: str, name: str) -> Path:
    stream = _of_group(group)
    path = None if folder is None or not _STREAM.fullmatch(name) else folder / name / stream
    if path is None or not path.is_dir():
        raise _ResourceNotFound("The specified log stream does not exist.", remedy="Give the id of a run that has begun.")
    return path


def _token(text: str | None, way: str) -> tuple[str, str | None]:
    if text is None:
        return way, None
    match = _TOKEN.fullmatch(text)
    if match is None:
        raise _InvalidParameter("The specified nextToken is invalid.")
    return str(match.group(1)), str(match.group(2))


def _within(request: Request) -> Callable[[LogEvent], bool]:
    since, until = request.get("startTime"), request.get("endTime")
    return lambda event: (since is None or event.time >= since) and (until is None or event.time < until)


def _shape(event: LogEvent) -> dict[str, Any]:
    return {"timestamp": event.time, "message": event.message, "ingestionTime": event.time}
