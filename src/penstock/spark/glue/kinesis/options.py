"""Glue's connection options of a Kinesis stream.

Source: "Kinesis connection option reference",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-kinesis-home.html.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from penstock.client.kinesis import StartingPosition
from penstock.errors import InvalidInput
from penstock.names import parse_arn
from penstock.spark.glue.kinesis.shards import ReadOptions, Stream
from penstock.spark.glue.options import Options, milliseconds

__all__ = ["KinesisOptions", "from_text", "kinesis_options", "to_text"]

_STARTS: dict[str, StartingPosition] = {"latest": "LATEST", "trim_horizon": "TRIM_HORIZON", "earliest": "TRIM_HORIZON"}
_LEAST_PAGE, _MOST_PAGE = 1, 10_000  # GetRecords' limits
_DURATION = re.compile(r"(\d+)\s*(ms|s|m|h)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class KinesisOptions:
    """``start`` is TRIM_HORIZON, LATEST or AT_TIMESTAMP with ``start_ms``.

    ``list_seconds`` is how long a list of shards is cached.
    """

    stream: Stream
    reading: ReadOptions
    start: StartingPosition
    start_ms: int | None
    list_seconds: float


def kinesis_options(options: Options) -> KinesisOptions:
    """Return the stream's options, taken from ``options``. Raises :class:`InvalidInput` for missing or wrong ones."""
    stream = _stream(options)
    start, moment = _start(options)
    options.refuse("fanoutConsumerARN", "Shards are read with GetRecords: leave it out.")
    options.refuse("emitConsumerLagMetrics", "There is no CloudWatch: leave it out.", harmless=("false",))
    options.refuse("typeOfData", "This is the kinesis source.", harmless=("kinesis",))
    # A shard without new records has no batch, with or without this option.
    options.flag("avoidEmptyBatches")
    return KinesisOptions(
        stream=stream,
        reading=_reading(options),
        start=start,
        start_ms=moment,
        list_seconds=_seconds(options.text("describeShardInterval") or "1s"),
    )


def _stream(options: Options) -> Stream:
    arn, name, endpoint = options.text("streamARN"), options.text("streamName"), options.text("endpointUrl")
    if arn is None and name is None:
        raise InvalidInput(
            "The kinesis source does not name a stream.", remedy="Give streamARN, or streamName and endpointUrl."
        )
    if arn is not None and name is not None:
        raise InvalidInput("Options streamARN and streamName exclude each other.", remedy="Leave one of them out.")
    role = options.text("awsSTSRoleARN")
    session = options.text("awsSTSSessionName")
    options.refuse("awsSTSEndpoint", "The endpoint of STS comes from the environment: AWS_ENDPOINT_URL_STS.")
    if session is not None and role is None:
        raise InvalidInput("Option awsSTSSessionName goes with awsSTSRoleARN.", remedy="Give both, or neither.")
    region = None
    if arn is not None:
        parts = parse_arn(arn)
        if parts.service != "kinesis" or not parts.resource.startswith("stream/"):
            raise InvalidInput(
                f"{arn} is not a stream's ARN.", remedy="Write it as arn:aws:kinesis:REGION:ACCOUNT:stream/NAME."
            )
        name, region = parts.resource.removeprefix("stream/"), parts.region or None
    else:
        # Glue writes ACCOUNT:NAME:CREATION; names have no colon.
        assert name is not None
        pieces = name.split(":")
        name = pieces[1] if len(pieces) == 3 else name
        found = re.search(r"kinesis\.([a-z0-9-]+)\.amazonaws\.com", endpoint or "")
        region = found[1] if found else None
    return Stream(
        name=name,
        arn=arn,
        region=region,
        endpoint_url=endpoint,
        role_arn=role,
        role_session=session or "penstock-glue",
    )


def _start(options: Options) -> tuple[StartingPosition, int | None]:
    text = options.text("startingPosition") or "latest"
    if text.strip().lower() in _STARTS:
        return _STARTS[text.strip().lower()], None
    if not text[:1].isdigit():
        raise InvalidInput(
            f"Option startingPosition of the kinesis source is {text!r}.",
            remedy="Use latest, trim_horizon, earliest or a time such as 2023-04-04T08:00:00-04:00.",
        )
    return "AT_TIMESTAMP", milliseconds(text, "startingPosition")


def _reading(options: Options) -> ReadOptions:
    page = options.number("maxRecordPerRead", _MOST_PAGE, least=_LEAST_PAGE) or _MOST_PAGE
    pause = options.number("idleTimeBetweenReadsInMs", 1000) or 0
    return ReadOptions(
        fetch_seconds=(options.number("maxFetchTimeInMs", 1000, least=1) or 1000) / 1000,
        fetch_records=options.number("maxFetchRecordsPerShard", 100_000, least=1) or 100_000,
        page=min(page, _MOST_PAGE),
        pause=pause / 1000 if options.flag("addIdleTimeBetweenReads") else 0.0,
        retries=options.number("numRetries", 3) or 0,
        retry_seconds=(options.number("retryIntervalMs", 1000) or 0) / 1000,
        most_retry_seconds=(options.number("maxRetryIntervalMs", 10_000) or 0) / 1000,
        fail_on_data_loss=options.flag("failOnDataLoss"),
    )


def _seconds(text: str) -> float:
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(f"Option describeShardInterval is {text!r}.", remedy="Write it like 1s, 500ms or 2m.")
    return int(found[1]) * _UNITS[found[2] or "s"]


def to_text(options: KinesisOptions) -> str:
    """Return the options as one option of Spark, which is a string."""
    return json.dumps(asdict(options))


def from_text(text: str) -> KinesisOptions:
    """Return the options from :func:`to_text`."""
    found: Mapping[str, Any] = json.loads(text)
    return KinesisOptions(**{**found, "stream": Stream(**found["stream"]), "reading": ReadOptions(**found["reading"])})
