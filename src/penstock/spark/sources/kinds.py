"""The streams of all kinds of sources, by the class of their settings."""

from collections.abc import Callable

from penstock.pipelines.sources.files import FileSource
from penstock.pipelines.sources.kafka import KafkaSource
from penstock.pipelines.sources.kinds import Source
from penstock.pipelines.sources.kinesis import KinesisSource
from penstock.spark.kafka import Credentials
from penstock.spark.sources.files import FileStream
from penstock.spark.sources.kafka import KafkaStream
from penstock.spark.sources.kinesis.stream import KinesisStream
from penstock.spark.sources.port import StreamSource

__all__ = ["stream_source"]


def stream_source(source: Source, fetch_secret: Callable[[str], Credentials]) -> StreamSource:
    """Return the stream of a declared source; ``fetch_secret`` gets user name and password for a secret's id."""
    match source:
        case KafkaSource():
            return KafkaStream(source, fetch_secret)
        case KinesisSource():
            return KinesisStream(source)
        case FileSource():
            return FileStream(source)
