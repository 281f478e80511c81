"""CloudWatch Logs' operations that read: over the logs of job runs, and nothing else.

Source: CloudWatch Logs API reference, "GetLogEvents", "FilterLogEvents"; Glue developer guide, "Logging for AWS Glue jobs":
standard output in the group ``/aws-glue/jobs/output``, standard error in ``/aws-glue/jobs/error``, a stream for each run.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.api.aws.protocol.operations import OperationSet, RequestContext
from penstock.api.aws.protocol.values import Request, Response, present
from penstock.errors import InvalidInput, NotFound
from penstock.runs.logs import STREAMS, LogEvent, read_log

__all__ = ["operations"]

_GROUPS = {f"/aws-glue/jobs/{stream}": stream for stream in STREAMS}
_MOST = 10_000
_STREAM = re.compile(r"[A-Za-z0-9_-]{1,200}")
_TOKEN = re.compile(r"([fb])/(\d{1,9}:\d{1,12})")


class _ResourceNotFound(NotFound):
    """The group or the stream does not exist."""

    aws_code = "ResourceNotFoundException"


class _InvalidParameter(InvalidInput):
    """The token is not one of this log."""

    aws_code = "InvalidParameterException"


def operations(folder: Path | None) -> OperationSet:
    """Return GetLogEvents and FilterLogEvents over the runs in ``folder``; None if this server runs none."""

    def get(request: Request, _context: RequestContext) -> Response:
        from_head, wanted, limit = bool(request.get("startFromHead")), _within(request), request.get("limit") or _MOST
        way, place = _token(request.get("nextToken"), "f" if from_head else "b")
        where = _stream(folder, request.get("logGroupName") or "", request["logStreamName"])
        page = read_log(where, place=place, limit=limit, backward=way == "b")
        events = [_shape(each) for each in page.events if wanted(each)]
        tokens = {"nextForwardToken": f"f/{page.end}", "nextBackwardToken": f"b/{page.begin}"}
        return {"events": events, **tokens}

    def search(request: Request, _context: RequestContext) -> Response:
        group, wanted, limit = request.get("logGroupName") or "", _within(request), request.get("limit") or _MOST
        names: list[str] = list(request.get("logStreamNames") or ())
        _, place = _token(request.get("nextToken"), "f")
        if len(names) != 1:
            raise _InvalidParameter("FilterLogEvents needs one stream.", remedy="Give logStreamNames=[RUN-ID].")
        page = read_log(_stream(folder, group, names[0]), place=place, limit=limit)
        events = [{**_shape(each), "logStreamName": names[0]} for each in page.events if wanted(each)]
        return present(
            events=events,
            searchedLogStreams=[],
            nextToken=f"f/{page.end}" if page.events else None,
        )

    return OperationSet(service="logs", handlers={"GetLogEvents": get, "FilterLogEvents": search})


def _stream(folder: Path | None, group: str, name: str) -> Path:
    stream = _GROUPS.get(group)
    if stream is None:
        raise _ResourceNotFound(
            "The specified log group does not exist.", remedy=f"There are {' and '.join(_GROUPS)} for the runs of jobs."
        )
    found = None if folder is None or not _STREAM.fullmatch(name) else folder / name / stream
    if found is None or not found.is_dir():
        raise _ResourceNotFound("The specified log stream does not exist.", remedy="Give the id of a run that has begun.")
    return found


def _token(text: str | None, way: str) -> tuple[str, str | None]:
    if text is None:
        return way, None
    found = _TOKEN.fullmatch(text)
    if found is None:
        raise _InvalidParameter("The specified nextToken is invalid.")
    return str(found.group(1)), str(found.group(2))


def _within(request: Request) -> Callable[[LogEvent], bool]:
    since, until = request.get("startTime"), request.get("endTime")
    return lambda event: (since is None or event.time >= since) and (until is None or event.time < until)


def _shape(event: LogEvent) -> dict[str, Any]:
    return {"timestamp": event.time, "message": event.message, "ingestionTime": event.time}
