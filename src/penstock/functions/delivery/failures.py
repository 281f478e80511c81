"""Interprets a function's answer, and makes the record that Lambda sends to an on-failure destination.

Formats: https://docs.aws.amazon.com/lambda/latest/dg/kafka-on-failure.html, kafka-on-failure-destination.html and
with-kinesis.html (on-failure destinations); the response of a batch: services-kinesis-batchfailurereporting.html.
In addition to AWS's members, ``responsePayload`` has the function's error, as in Lambda's records of asynchronous
invocations.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from penstock.functions.delivery.steps import Discard, Failed, Outcome, Partly, Succeeded
from penstock.functions.environment import Result
from penstock.functions.events import Origin, time_text
from penstock.functions.records import Record

__all__ = ["failure_record", "outcome_of"]


def outcome_of(result: Result, records: Sequence[Record], *, reports: bool) -> Outcome:
    """Return the outcome for ``records``; with ``reports`` the function answers with its batch item failures.

    An invalid report, or one that names no record of the batch, counts as a failure of the whole batch.
    """
    if result.error is not None:
        return Failed(request_id=result.request_id, error=result.error)
    if not reports or not result.answer:
        return Succeeded()
    items = result.answer.get("batchItemFailures") if isinstance(result.answer, Mapping) else None
    if isinstance(result.answer, Mapping) and not items:
        return Succeeded()
    places = {(record.partition, record.position) for record in records}
    only = {record.partition for record in records}
    lowest: dict[str, int] = {}
    for failure in items if isinstance(items, list) else [None]:
        place = _place(failure, next(iter(only)))
        if place not in places:
            shown = json.dumps(failure if isinstance(items, list) else result.answer)[:200]
            return Failed(
                request_id=result.request_id,
                error={
                    "errorType": "InvalidBatchItemFailures",
                    "errorMessage": f"The function reported {shown}, which names no record of its batch.",
                    "requestId": result.request_id,
                },
            )
        partition, position = place
        lowest[partition] = min(lowest.get(partition, position), position)
    return Partly(lowest=lowest, request_id=result.request_id)


def _place(failure: Any, shard: str) -> tuple[str, int]:
    """Return partition and position of one reported failure; of no record if the report is unreadable."""
    identifier = failure.get("itemIdentifier") if isinstance(failure, Mapping) else None
    try:
        if isinstance(identifier, Mapping):
            return str(identifier["partition"]), int(identifier["offset"])
        if isinstance(identifier, str):
            return shard, int(identifier)
    except (KeyError, ValueError, TypeError, OverflowError):
        pass
    return "", -1


def failure_record(
    discard: Discard, origin: Origin, function_arn: str, *, single: bool = False, now: datetime | None = None
) -> dict[str, Any]:
    """Return the document about discarded records, without payload; ``single`` for the form of a Kafka destination."""
    failure = discard.failure
    request: dict[str, Any] = {
        "requestId": failure.request_id if failure is not None else "",
        "functionArn": f"{function_arn}:$LATEST" if single else function_arn,
        "condition": discard.condition,
        "approximateInvokeCount": discard.invokes,
    }
    response: dict[str, Any] | None = None
    if failure is not None:
        response = {"statusCode": 200, "executedVersion": "$LATEST"}
        if isinstance(failure, Failed) and discard.invokes:
            response["functionError"] = "Unhandled"
    record = {
        "requestContext": request,
        "responseContext": response,
        "version": "1.0",
        "timestamp": time_text((now or datetime.now(UTC)).timestamp() * 1000),
        **origin.batch_info(discard.records, single=single),
    }
    if isinstance(failure, Failed):
        record["responsePayload"] = {
            name: failure.error[name] for name in ("errorType", "errorMessage") if name in failure.error
        }
    return record
