"""The Prometheus endpoint of a run: counters and gauges of its pipelines.

Names end in ``_total`` for counters and in a unit, as Prometheus asks for (https://prometheus.io/docs/practices/naming/).
"""

import threading
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from penstock.errors import EnvironmentProblem
from penstock.spark.metrics import BatchMetrics

__all__ = ["PipelineMetrics"]

_PREFIX = "penstock_pipeline_"
_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class PipelineMetrics:
    """Counts the batches of pipelines, and serves the counts. For several threads."""

    def __init__(self, pipelines: Iterable[str]) -> None:
        """Every pipeline has all its plain counters from the start, at 0, so that rates and alerts can be written."""
        self.registry = CollectorRegistry()
        self._lock = threading.Lock()
        self._batches = self._counter("batches", "Batches, by outcome: committed or replayed.", "outcome")
        self._records = self._counter("records", "Records of committed batches.")
        self._rows = self._counter("rows", "Rows of committed batches, after the transform.")
        self._written = self._counter("sink_rows", "Rows that a sink wrote, as it counts them.", "sink")
        self._dead = self._counter("dead_letters", "Records that became dead letters, by reason.", "reason")
        self._retries = self._counter("batch_retries", "Attempts at a batch after its first one.")
        self._steps = self._counter("step_seconds", "Time in each step of committed batches.", "step")
        self._seconds = Histogram(
            f"{_PREFIX}batch_seconds", "Time of a committed batch.", ["pipeline"], buckets=_BUCKETS, registry=self.registry
        )
        self._latency = self._gauge("latency_seconds", "Age of the last batch's oldest record at its commit.")
        self._lag = self._gauge("lag_records", "Unread records after the last commit.", "topic", "partition")
        self._age = self._gauge("lag_seconds", "Age of the oldest unread record.", "topic", "partition")
        self._commit = self._gauge("last_commit_timestamp_seconds", "When the last batch was committed.")
        self._up = self._gauge("up", "1 while the pipeline runs, 0 after it ended or failed.")
        help_text = "Restarts of Spark's JVM, which all pipelines share."
        self._restarts = Counter(f"{_PREFIX}jvm_restarts", help_text, registry=self.registry)
        for name in pipelines:
            for counter in (self._records, self._rows, self._retries):
                counter.labels(name)
            self._up.labels(name)
            self._batches.labels(name, "committed")

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(f"{_PREFIX}{name}", help_text, ["pipeline", *labels], registry=self.registry)

    def _gauge(self, name: str, help_text: str, *labels: str) -> Gauge:
        return Gauge(f"{_PREFIX}{name}", help_text, ["pipeline", *labels], registry=self.registry)

    def on_start(self, pipeline: str) -> None:
        """The stream runs."""
        self._up.labels(pipeline).set(1)

    def on_end(self, pipeline: str) -> None:
        """The pipeline ended, was stopped, or failed."""
        self._up.labels(pipeline).set(0)

    def on_restart(self) -> None:
        """Spark's JVM is started again."""
        self._restarts.inc()

    def on_batch(self, batch: BatchMetrics) -> None:
        """Count a batch; one that is replayed changes only its own count and the lag."""
        name = batch.pipeline
        with self._lock:
            self._batches.labels(name, batch.outcome).inc()
            self._retries.labels(name).inc(batch.attempts - 1)
            if batch.outcome == "committed":
                self._count(name, batch)
            self._tell_lag(name, batch.lag)

    def _count(self, name: str, batch: BatchMetrics) -> None:
        self._records.labels(name).inc(batch.records)
        self._rows.labels(name).inc(batch.rows)
        for sink, wrote in batch.sinks.items():
            self._written.labels(name, sink).inc(wrote.get("written") or 0)
        # Skipped tombstones have a reason, too, and are not dead letters.
        dead = {reason: count for reason, count in batch.reasons.items() if reason != "TOMBSTONE"}
        if batch.dead > sum(dead.values()):
            dead["TOMBSTONE"] = batch.dead - sum(dead.values())
        for reason, count in dead.items():
            self._dead.labels(name, reason).inc(count)
        for step, seconds in batch.seconds.items():
            self._steps.labels(name, step).inc(seconds)
        self._seconds.labels(name).observe(sum(batch.seconds.values()))
        if batch.max_latency_seconds is not None:
            self._latency.labels(name).set(batch.max_latency_seconds)
        if batch.committed_at is not None:
            self._commit.labels(name).set(datetime.fromisoformat(batch.committed_at).timestamp())

    def _tell_lag(self, name: str, lag: dict[str, Any]) -> None:
        for topic, partitions in lag.get("partitions", {}).items():
            for partition, behind in partitions.items():
                for gauge, value in ((self._lag, behind["records"]), (self._age, behind["seconds"])):
                    if value is not None:
                        gauge.labels(name, topic, partition).set(value)

    def serve(self, host: str, port: int) -> int:
        """Serve the metrics at ``http://HOST:PORT/metrics`` until the process ends; return the port (0: a free one).

        Raises :class:`EnvironmentProblem` if the port is taken.
        """
        try:
            server, _ = start_http_server(port, addr=host, registry=self.registry)
        except OSError as error:
            raise EnvironmentProblem(
                f"The metrics cannot be served on {host}:{port}: {error.strerror or error}.",
                remedy="Give another --metrics-port.",
            ) from error
        return int(server.server_port)
