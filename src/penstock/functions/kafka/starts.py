"""The offsets at which a poller begins: the group's committed ones, else by the mapping's starting position."""

from collections.abc import Callable, Sequence

from confluent_kafka import Consumer, TopicPartition

from penstock.functions.model import EventSourceMapping

__all__ = ["starting_offsets"]

_CALL = 10.0  # seconds; the timeout of a call of the broker


def starting_offsets(
    consumer: Consumer,
    topic: str,
    partitions: Sequence[TopicPartition],
    mapping: EventSourceMapping,
    report: Callable[[str], None],
) -> list[TopicPartition]:
    """Return the partitions with the offsets to begin at. Raises ``KafkaException`` if the broker does not answer.

    Offsets by the starting position are committed at once, so that a poller that dies before its first batch is finished
    does not begin later. A partition without an offset of a known group was added to the topic: it is read from its
    beginning. A new group's start is committed for all partitions, so that a poller that begins at the same time does not
    take its own for added ones.
    """
    whole = consumer.list_topics(topic, timeout=_CALL).topics[topic].partitions
    everything = consumer.committed([TopicPartition(topic, number) for number in whole], timeout=_CALL)
    committed = {
        topic_partition.partition: topic_partition.offset for topic_partition in everything if topic_partition.offset >= 0
    }
    fresh: dict[int, int] = {}

    def first(number: int, *, added: bool) -> int:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=_CALL)
        fresh[number] = _configured(consumer, TopicPartition(topic, number), (low, high), mapping, added=added)
        return fresh[number]

    if not committed and mapping.start != "TRIM_HORIZON":
        for number in whole:
            first(number, added=False)
    starts = []
    for partition in partitions:
        offset = committed.get(partition.partition)
        if offset is None:
            offset = (
                fresh[partition.partition]
                if partition.partition in fresh
                else first(partition.partition, added=bool(committed))
            )
        else:
            offset = _retained(consumer, topic, partition.partition, offset, report)
        starts.append(TopicPartition(topic, partition.partition, offset))
    if fresh:
        consumer.commit(
            offsets=[TopicPartition(topic, number, offset) for number, offset in fresh.items()], asynchronous=False
        )
    return starts


def _retained(consumer: Consumer, topic: str, number: int, offset: int, report: Callable[[str], None]) -> int:
    """Return ``offset``, or the begin of a log that no longer has it."""
    low, _ = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=_CALL)
    if offset >= low:
        return offset
    report(
        f"Topic {topic}, partition {number}: the offsets {offset:,} to {low - 1:,} were removed by the topic's retention "
        "before they were read."
    )
    return low


def _configured(
    consumer: Consumer, place: TopicPartition, bounds: tuple[int, int], mapping: EventSourceMapping, *, added: bool
) -> int:
    low, high = bounds
    if added or mapping.start == "TRIM_HORIZON":
        return low
    if mapping.start == "LATEST":
        return high
    (offset,) = consumer.offsets_for_times(
        [TopicPartition(place.topic, place.partition, mapping.start_at or 0)], timeout=_CALL
    )
    return int(offset.offset) if offset.offset >= 0 else high
