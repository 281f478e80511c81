"""What the Prometheus endpoint counts, read as Prometheus reads it."""

import socket
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.errors import EnvironmentProblem
from penstock.spark.metrics import BatchMetrics
from penstock.spark.running.prometheus import PipelineMetrics
from penstock.spark.sources.port import PartitionLag, lag_summary


def _batch(number: int, **values: object) -> BatchMetrics:
    return BatchMetrics(pipeline="orders", query="q", batch=number, **values)  # type: ignore[arg-type]


def _scrape(metrics: PipelineMetrics) -> dict[str, float]:
    port = metrics.serve("127.0.0.1", 0)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {
        "/".join([sample.name.removeprefix("penstock_pipeline_"), *(value for _, value in sorted(sample.labels.items()))]): (
            sample.value
        )
        for sample in samples
        if not sample.name.endswith("_created")
    }


def test_committed_batches_are_counted_once_and_replays_are_not() -> None:
    metrics = PipelineMetrics(["orders", "idle"])
    metrics.on_start("orders")
    lags = [
        PartitionLag(topic="t", partition="0", records=3, seconds=1.5),
        PartitionLag(topic="t", partition="1", records=0, seconds=0.0),
        PartitionLag(topic="t", partition="2", records=2),
    ]
    metrics.on_batch(
        _batch(
            0,
            records=10,
            rows=7,
            dead=2,
            attempts=3,
            reasons={"UNDECODABLE": 2, "TOMBSTONE": 1},
            sinks={"lake": {"written": 7}, "other": {"written": 5}},
            seconds={"stage": 0.5, "commit": 0.25},
            lag=lag_summary(lags),
            committed_at="2026-01-01T00:00:00.000+00:00",
            max_latency_seconds=4.5,
        )
    )
    metrics.on_batch(_batch(0, records=10, rows=7, dead=2, outcome="replayed", seconds={"stage": 0.1}))
    metrics.on_restart()
    metrics.on_end("idle")
    results = _scrape(metrics)
    expected = {
        "records_total/orders": 10,
        "rows_total/orders": 7,
        "records_total/idle": 0,
        "batches_total/committed/orders": 1,
        "batches_total/replayed/orders": 1,
        "batches_total/committed/idle": 0,
        "dead_letters_total/orders/UNDECODABLE": 2,
        "sink_rows_total/orders/lake": 7,
        "sink_rows_total/orders/other": 5,
        "batch_retries_total/orders": 2,
        "step_seconds_total/orders/stage": 0.5,
        "step_seconds_total/orders/commit": 0.25,
        "batch_seconds_count/orders": 1,
        "batch_seconds_sum/orders": 0.75,
        "lag_records/0/orders/t": 3,
        "lag_seconds/0/orders/t": 1.5,
        "lag_records/1/orders/t": 0,
        "lag_records/2/orders/t": 2,
        "latency_seconds/orders": 4.5,
        "last_commit_timestamp_seconds/orders": 1767225600,
        "jvm_restarts_total": 1,
        "up/orders": 1,
        "up/idle": 0,
    }
    assert {name: results.get(name) for name in expected} == expected
    assert "dead_letters_total/orders/TOMBSTONE" not in results
    assert "lag_seconds/2/orders/t" not in results


def test_dead_tombstones_have_their_reason() -> None:
    metrics = PipelineMetrics(["orders"])
    metrics.on_batch(_batch(0, dead=3, reasons={"UNDECODABLE": 2, "TOMBSTONE": 1}))
    assert _scrape(metrics)["dead_letters_total/orders/TOMBSTONE"] == 1


def test_a_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EnvironmentProblem, match=rf"cannot be served on 127\.0\.0\.1:{port}: Address already in use"):
            PipelineMetrics([]).serve("127.0.0.1", port)
