"""The composition root: runs a declaration's mappings until they are done or stopped."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from penstock.errors import InvalidInput
from penstock.functions.delivery.destinations import open_destination
from penstock.functions.delivery.dispatcher import BatchDispatcher, DispatcherFactory
from penstock.functions.document import Declaration
from penstock.functions.environment import ExecutionEnvironment
from penstock.functions.events import Origin
from penstock.functions.kafka.access import resolve_access
from penstock.functions.kafka.decoding import Decoder
from penstock.functions.kafka.mapping import KafkaMapping
from penstock.functions.kafka.poller import KafkaPoller
from penstock.functions.kinesis.event import KinesisOrigin
from penstock.functions.kinesis.mapping import KinesisMapping
from penstock.functions.mapping_metrics import MappingMetrics
from penstock.functions.model import EventSourceMapping, Function, KinesisSource
from penstock.functions.records import Record
from penstock.functions.thread_group import ThreadGroup, Worker

__all__ = ["RunOptions", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How to run: ``log`` gets functions' output, ``report`` human-readable lines; ``state`` is for streams' checkpoints.

    ``metrics`` is a file that gets a JSON line when counts change; ``once`` ends after the records present at the start.
    """

    log: IO[bytes]
    state: Path
    report: Callable[[str], None]
    metrics: Path | None = None
    once: bool = False
    scale_seconds: float = 5.0
    stop: threading.Event = field(default_factory=threading.Event)


def run(declaration: Declaration, options: RunOptions) -> Sequence[tuple[str, Mapping[str, int]]]:
    """Run every enabled mapping until ``options.stop``. Return the title of each one's source, and its counts.

    Raises the error that ends a mapping before: an unreadable source, a refused login, a process that cannot start.
    """
    mappings = [mapping for mapping in declaration.mappings if mapping.enabled]
    if not mappings:
        raise InvalidInput(
            f"{declaration.origin} declares no enabled event source.", remedy="Add one to EventSourceMappings."
        )
    all_metrics = [MappingMetrics(mapping.uuid, options.metrics) for mapping in mappings]
    workers = [
        _prepare(declaration.function, mapping, metrics, options)
        for mapping, metrics in zip(mappings, all_metrics, strict=True)
    ]
    try:
        with ThreadGroup[Worker]("mapping") as threads:
            for worker in workers:
                threads.start(worker)
            while len(threads) and not options.stop.wait(0.1):
                threads.check()
    finally:
        for metrics in all_metrics:
            metrics.close()
    return [(mapping.source.title, metrics.totals()) for mapping, metrics in zip(mappings, all_metrics, strict=True)]


def _prepare(function: Function, mapping: EventSourceMapping, metrics: MappingMetrics, options: RunOptions) -> Worker:
    source, report = mapping.source, options.report
    if isinstance(source, KinesisSource):
        stream = KinesisOrigin(arn=source.arn, role=function.identity)
        make_dispatcher = _dispatchers(function, mapping, stream, metrics, options)
        return KinesisMapping(mapping, stream, make_dispatcher, state=options.state, report=report, once=options.once)
    config, cluster = resolve_access(source)
    make_dispatcher = _dispatchers(function, mapping, cluster, metrics, options, kafka=config)
    decoder = Decoder(source.schema_registry) if source.schema_registry is not None else None

    def poller() -> KafkaPoller:
        return KafkaPoller(
            mapping, config, make_dispatcher, metrics, timeout=function.timeout, decoder=decoder, report=report
        )

    return KafkaMapping(
        mapping, config, poller, metrics, report=report, once=options.once, scale_seconds=options.scale_seconds
    )


def _dispatchers(
    function: Function,
    mapping: EventSourceMapping,
    origin: Origin,
    metrics: MappingMetrics,
    options: RunOptions,
    *,
    kafka: Mapping[str, Any] | None = None,
) -> DispatcherFactory:
    """Return a maker of a mapping's dispatchers, each with an environment and a destination of its own."""

    def make(on_done: Callable[[Sequence[Record]], None]) -> BatchDispatcher:
        destination = None
        if mapping.destination is not None:
            destination = open_destination(
                mapping.destination, origin=origin, function_arn=function.arn, mapping_id=mapping.uuid, kafka=kafka
            )
        environment = ExecutionEnvironment(function, options.log)
        return BatchDispatcher(
            mapping, origin, environment, metrics, destination=destination, on_done=on_done, report=options.report
        )

    return make
