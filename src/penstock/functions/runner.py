"""The composition root: a declaration's mappings at work, until done or stopped."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from penstock.errors import InvalidInput
from penstock.functions.decoding import Decoder
from penstock.functions.delivery.destinations import open_destination
from penstock.functions.delivery.dispatcher import Lane
from penstock.functions.document import Declaration
from penstock.functions.environment import ExecutionEnvironment
from penstock.functions.kafka.access import reach
from penstock.functions.kafka.mapping import KafkaMapping
from penstock.functions.kafka.poller import KafkaPoller
from penstock.functions.kinesis.event import KinesisOrigin
from penstock.functions.kinesis.mapping import KinesisMapping
from penstock.functions.mapping_metrics import Account
from penstock.functions.model import Function, KafkaSource, KinesisSource, SourceMapping
from penstock.functions.records import Record
from penstock.functions.thread_group import Crew

__all__ = ["RunOptions", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How to run: ``log`` gets what functions print, ``state`` keeps a stream's checkpoints, ``say`` gets lines for people.

    ``metrics`` is a file that gets a JSON line when counts change; ``once`` ends when what was there at the start is done.
    """

    log: IO[bytes]
    state: Path
    say: Callable[[str], None]
    metrics: Path | None = None
    once: bool = False
    scale_seconds: float = 5.0
    stop: threading.Event = field(default_factory=threading.Event)


class _Running(Protocol):
    def run(self, stop: threading.Event) -> None: ...


class _Member:
    """A mapping as a crew's member."""

    def __init__(self, mapping: _Running) -> None:
        self._mapping = mapping
        self._stop = threading.Event()

    def run(self) -> None:
        self._mapping.run(self._stop)

    def stop(self) -> None:
        self._stop.set()


def run(declaration: Declaration, options: RunOptions) -> Sequence[tuple[str, Mapping[str, int]]]:
    """Run every enabled mapping until ``options.stop``; the title of each one's source, and its counts.

    Raises what ends a mapping before: a source that cannot be read, a login that is refused, no room for a process.
    """
    mappings = [each for each in declaration.mappings if each.enabled]
    if not mappings:
        raise InvalidInput(
            f"{declaration.origin} declares no enabled event source.", remedy="Add one to EventSourceMappings."
        )
    accounts = [Account(mapping.uuid, options.metrics) for mapping in mappings]
    crew: Crew[_Member] = Crew("mapping")
    running = [
        _prepare(declaration.function, mapping, account, options)
        for mapping, account in zip(mappings, accounts, strict=True)
    ]
    try:
        for each in running:
            crew.start(_Member(each))
        while len(crew) and not options.stop.wait(0.1):
            crew.check()
    finally:
        crew.stop()
        for account in accounts:
            account.close()
    crew.check()
    return [(mapping.source.title, account.totals()) for mapping, account in zip(mappings, accounts, strict=True)]


def _prepare(function: Function, mapping: SourceMapping, account: Account, options: RunOptions) -> _Running:
    if isinstance(mapping.source, KafkaSource):
        return _kafka(function, mapping, mapping.source, account, options)
    return _kinesis(function, mapping, mapping.source, account, options)


def _kafka(
    function: Function, mapping: SourceMapping, source: KafkaSource, account: Account, options: RunOptions
) -> KafkaMapping:
    config, origin = reach(source)
    decoder = Decoder(source.schema_registry) if source.schema_registry is not None else None

    def lane(settled: Callable[[Sequence[Record]], None]) -> Lane:
        destination = None
        if mapping.destination is not None:
            destination = open_destination(
                mapping.destination, origin=origin, function_arn=function.arn, mapping_id=mapping.uuid, kafka=config
            )
        environment = ExecutionEnvironment(function, options.log)
        return Lane(mapping, origin, environment, account, destination=destination, settled=settled, say=options.say)

    def poller() -> KafkaPoller:
        return KafkaPoller(mapping, config, lane, account, timeout=function.timeout, decoder=decoder, say=options.say)

    return KafkaMapping(
        mapping, config, poller, account, say=options.say, once=options.once, scale_seconds=options.scale_seconds
    )


def _kinesis(
    function: Function, mapping: SourceMapping, source: KinesisSource, account: Account, options: RunOptions
) -> KinesisMapping:
    origin = KinesisOrigin(arn=source.arn, role=function.identity)

    def lane(settled: Callable[[Sequence[Record]], None]) -> Lane:
        destination = None
        if mapping.destination is not None:
            destination = open_destination(
                mapping.destination, origin=origin, function_arn=function.arn, mapping_id=mapping.uuid
            )
        environment = ExecutionEnvironment(function, options.log)
        return Lane(mapping, origin, environment, account, destination=destination, settled=settled, say=options.say)

    return KinesisMapping(mapping, origin, lane, account, state=options.state, say=options.say, once=options.once)
