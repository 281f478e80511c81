"""A poller whose commits the broker refuses: it keeps the offsets, and reports it once."""

from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from penstock.functions.kafka.poller import KafkaPoller
from penstock.functions.mapping_metrics import MappingMetrics
from penstock.functions.model import EventSourceMapping, KafkaSource


class Consumer:
    """Refuses commits until a test changes that."""

    def __init__(self) -> None:
        self.takes = False
        self.taken: list[int] = []

    def commit(self, *, offsets: Sequence[TopicPartition], asynchronous: bool) -> Sequence[TopicPartition]:
        assert not asynchronous
        if not self.takes:
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        self.taken += [offset.offset for offset in offsets]
        return offsets


def test_a_refused_commit_is_reported_once_and_retried() -> None:
    said: list[str] = []
    mapping = EventSourceMapping(source=KafkaSource(topic="t", brokers="127.0.0.1:1"), function_name="f")
    config = {"bootstrap.servers": "127.0.0.1:1"}
    dispatcher: Any = lambda _on_done: None  # noqa: E731 -- not used here
    poller = KafkaPoller(mapping, config, dispatcher, MappingMetrics("m"), timeout=3, decoder=None, report=said.append)
    poller._consumer.close()
    consumer = Consumer()
    poller._consumer = consumer  # type: ignore[assignment]
    for takes in (False, False, True, True, False):
        poller._commits[0] = 7
        consumer.takes = takes
        poller._commit()
    assert consumer.taken == [7, 7]
    assert len(said) == 2, "once for each time that it begins"
    assert "Offsets of topic t were not committed; the commit is retried" in said[0]
