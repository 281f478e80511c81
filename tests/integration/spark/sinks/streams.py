"""A stream of Kinesis as the target of a sink's tests."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar
from uuid import uuid4

from pyspark.sql import SparkSession

from penstock.pipelines import KinesisSink
from penstock.pipelines.sinks.settings import WriteMode
from penstock.spark.sinks.kinesis import KinesisWriter
from penstock.spark.sinks.port import SinkBatch, SinkWriter
from penstock.spark.sinks.values import ValueSchemas
from penstock.testing.kinesis_server import KinesisServer
from tests.integration.spark.sinks.targets import SinkTarget


class StreamTarget(SinkTarget):
    """A stream of two shards; ``settings`` are those of its sink."""

    modes: ClassVar[Sequence[WriteMode]] = ("append",)
    exactly_once: ClassVar[bool] = False

    def __init__(self, kinesis: KinesisServer, spark: SparkSession) -> None:
        self.kinesis, self.spark, self.name = kinesis, spark, f"sink-{uuid4().hex[:8]}"
        kinesis.create_stream(self.name, shards=2)
        self.settings = KinesisSink(stream=self.name, endpoint=kinesis.endpoint_url, partition_key="name")

    def writer(self, mode: WriteMode = "append", schemas: ValueSchemas | None = None, **more: Any) -> SinkWriter:
        assert mode == "append"
        return KinesisWriter(replace(self.settings, **more), self.spark, schemas)

    def records(self) -> list[dict[str, Any]]:
        return self.kinesis.records(self.name)

    def rows(self) -> list[tuple[int, str | None]]:
        results = [json.loads(record["Data"]) for record in self.records()]
        assert all(set(row) == {"id", "name"} for row in results)
        return sorted((row["id"], row["name"]) for row in results)

    def interrupted(self, writer: SinkWriter, batch: SinkBatch) -> None:
        # The stream takes the rest of the records, and its answer ends the batch.
        self.kinesis.fail("PutRecordsEntry", "KMSAccessDeniedException", 30)
        writer.publish(batch)

    def unreachable(self) -> Sequence[tuple[SinkWriter, str]]:
        return [
            (self.writer(stream="none"), "Stream none under account not found"),
            (self.writer(endpoint="http://127.0.0.1:1"), "gave no usable answer"),
        ]
