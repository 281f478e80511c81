"""The options of a Kinesis stream, under the names that Glue's connections have, and a few more.

Source: "Kinesis connection option reference",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-kinesis-home.html.
"""

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.client.kinesis import StartingPosition
from penstock.errors import InvalidInput
from penstock.names import parse_arn
from penstock.spark.sources.kinesis.shards import ReadOptions, Stream
from penstock.spark.sources.options import Options, milliseconds

__all__ = ["OPTION_NAMES", "KinesisOptions", "kinesis_options", "plain_options", "starting_offsets", "stream_of"]

OPTION_NAMES = (
    "streamARN",
    "streamName",
    "endpointUrl",
    "region",
    "startingPosition",
    "awsSTSRoleARN",
    "awsSTSSessionName",
    "awsSTSEndpoint",
    "fanoutConsumerARN",
    "fanoutConsumerName",
    "maxFetchTimeInMs",
    "maxFetchRecordsPerShard",
    "maxRecordPerRead",
    "addIdleTimeBetweenReads",
    "idleTimeBetweenReadsInMs",
    "describeShardInterval",
    "numRetries",
    "retryIntervalMs",
    "maxRetryIntervalMs",
    "avoidEmptyBatches",
    "failOnDataLoss",
    "emitConsumerLagMetrics",
    "typeOfData",
    "maxInlineBytes",
    "prefetchLocation",
)
"""Every option of the source."""

_STARTS: dict[str, StartingPosition] = {"latest": "LATEST", "trim_horizon": "TRIM_HORIZON", "earliest": "TRIM_HORIZON"}
_LEAST_PAGE, _MOST_PAGE = 1, 10_000  # GetRecords' limits
_DURATION = re.compile(r"(\d+)\s*(ms|s|m|h)?")
_INLINE_BYTES = 1024 * 1024
_MOST_INLINE = 32 * 1024 * 1024  # Spark sends a task in one message of at most 128 MiB
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class KinesisOptions:
    """``start`` is TRIM_HORIZON, LATEST or AT_TIMESTAMP with ``start_ms``; ``offsets`` are positions instead of it.

    ``list_seconds`` is how long a list of shards is cached. ``consumer_arn`` or ``consumer_name`` is the one of enhanced
    fan-out; without them shards are polled. Up to ``inline_bytes`` of a shard's records travel with their task, more of
    them in a file below ``prefetch_location``.
    """

    stream: Stream
    reading: ReadOptions
    start: StartingPosition
    start_ms: int | None
    list_seconds: float
    offsets: Mapping[str, Mapping[str, Any]] | None = None
    consumer_arn: str | None = None
    consumer_name: str | None = None
    inline_bytes: int = _INLINE_BYTES
    prefetch_location: str | None = None


def kinesis_options(options: Options) -> KinesisOptions:
    """Return the stream's options, taken from ``options``. Raises :class:`InvalidInput` for missing or wrong ones."""
    stream = stream_of(options)
    start, moment, offsets = _start(options)
    consumer, named = options.text("fanoutConsumerARN"), options.text("fanoutConsumerName")
    if consumer is not None and named is not None:
        raise InvalidInput(
            "Options fanoutConsumerARN and fanoutConsumerName exclude each other.",
            remedy="Give the ARN of a registered consumer, or the name of one to register.",
        )
    if consumer is not None and ":consumer" not in consumer.replace("/", ":"):
        raise InvalidInput(
            f"{consumer} is not a consumer's ARN.", remedy="Use the one that RegisterStreamConsumer has returned."
        )
    # A shard without new records has no batch, and every batch reports its lag, with or without these options.
    options.flag("avoidEmptyBatches")
    options.flag("emitConsumerLagMetrics")
    inline = options.number("maxInlineBytes", _INLINE_BYTES) or 0
    return KinesisOptions(
        stream=stream,
        reading=_reading(options),
        start=start,
        start_ms=moment,
        offsets=offsets,
        list_seconds=_seconds(options.text("describeShardInterval") or "1s"),
        consumer_arn=consumer,
        consumer_name=named,
        inline_bytes=min(inline, _MOST_INLINE),
        prefetch_location=options.text("prefetchLocation"),
    )


def plain_options(options_of_source: Mapping[str, str]) -> KinesisOptions:
    """Return the options of ``spark.readStream``, whose names Spark may have in lower case.

    Raises :class:`InvalidInput` for missing, unknown or wrong ones.
    """
    names = {name.lower(): name for name in OPTION_NAMES}
    spelled = {names.get(name.lower(), name): value for name, value in options_of_source.items()}
    for name in spelled:
        if name not in OPTION_NAMES:
            near = difflib.get_close_matches(name, OPTION_NAMES, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            raise InvalidInput(
                f"The kinesis source has no option {name!r}.", remedy=f"{hint}It has {', '.join(OPTION_NAMES)}."
            )
    return kinesis_options(Options("the kinesis source", spelled))


def stream_of(options: Options) -> Stream:
    """Return the stream that the options name, and the role that reads or writes it. Raises :class:`InvalidInput`."""
    arn, name, endpoint = options.text("streamARN"), options.text("streamName"), options.text("endpointUrl")
    if arn is None and name is None:
        raise InvalidInput(
            f"{options.title} does not name a stream.", remedy="Give streamARN, or streamName and endpointUrl."
        )
    role = options.text("awsSTSRoleARN")
    session = options.text("awsSTSSessionName")
    sts = options.text("awsSTSEndpoint")
    for option, value in (("awsSTSSessionName", session), ("awsSTSEndpoint", sts)):
        if value is not None and role is None:
            raise InvalidInput(f"Option {option} goes with awsSTSRoleARN.", remedy="Give both, or neither.")
    region = options.text("region")
    if arn is not None:
        parts = parse_arn(arn)
        if parts.service != "kinesis" or not parts.resource.startswith("stream/"):
            raise InvalidInput(
                f"{arn} is not a stream's ARN.", remedy="Write it as arn:aws:kinesis:REGION:ACCOUNT:stream/NAME."
            )
        of_arn = parts.resource.removeprefix("stream/")
        if name is not None and _plain(name) != of_arn:
            raise InvalidInput("Options streamARN and streamName name different streams.", remedy="Leave one of them out.")
        name, region = of_arn, region or parts.region or None
    else:
        assert name is not None
        name = _plain(name)
        match = re.search(r"kinesis\.([a-z0-9-]+)\.amazonaws\.com", endpoint or "")
        region = region or (match[1] if match else None)
    return Stream(
        name=name,
        arn=arn,
        region=region,
        endpoint_url=endpoint,
        role_arn=role,
        role_session=session or "penstock-glue",
        sts_endpoint_url=sts,
    )


def _plain(name: str) -> str:
    """Return a stream's name without account and creation: Glue writes ACCOUNT:NAME:CREATION, and names have no colon."""
    pieces = name.split(":")
    return pieces[1] if len(pieces) == 3 else name


def _start(options: Options) -> tuple[StartingPosition, int | None, Mapping[str, Mapping[str, Any]] | None]:
    text = (options.text("startingPosition") or "latest").strip()
    if text.lower() in _STARTS:
        return _STARTS[text.lower()], None, None
    if text.startswith("{"):
        return "TRIM_HORIZON", None, starting_offsets(text)
    if not text[:1].isdigit():
        raise InvalidInput(
            f"Option startingPosition of the kinesis source is {text!r}.",
            remedy="Use latest, trim_horizon, earliest or a time such as 2023-04-04T08:00:00-04:00.",
        )
    return "AT_TIMESTAMP", milliseconds(text, "startingPosition"), None


def starting_offsets(text: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the positions of a JSON object {shard id: position}, as Spark's checkpoint has them. Raises InvalidInput."""
    try:
        offsets = json.loads(text)
        right = all(isinstance(position, dict) and {"after", "at", "from"} & set(position) for position in offsets.values())
    except (ValueError, AttributeError):
        right = False
    if not right:
        raise InvalidInput(
            f"Option startingPosition of the kinesis source is {text[:80]!r}.",
            remedy='As JSON it is {shard id: position}, such as {"shardId-000000000000": {"after": "4965…"}}.',
        )
    return {str(shard): dict(position) for shard, position in offsets.items()}


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
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f"Option describeShardInterval is {text!r}.", remedy="Write it like 1s, 500ms or 2m.")
    return int(match[1]) * _UNITS[match[2] or "s"]
