"""Whole pipelines on a real broker, against a hand-written Spark job and a Python consumer.

The hand-written job reads the same broker, decodes records of one version with one schema, and has no accounts, no dead
letters and no catalog. Rounds alternate, and a ratio is the median over the rounds of the quotient of the two times: of
the batches, by Spark's own figures of each stream (``triggerExecution``), without the start of the stream.

``PENSTOCK_BENCH_RECORDS`` (2,000,000), ``_BATCHES`` (1,000, of the memory row) and ``_ROUNDS`` (3) make it shorter;
``PENSTOCK_BENCH_PARTS`` selects some of ``throughput nested micro latency memory consumer``.
"""

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.consumer import consume
from benchmarks.evolving import VERSIONS, nested, plain, with_history
from benchmarks.site import Site, Topic, open_site
from benchmarks.sizes import SMALL, size
from benchmarks.timing import Row
from penstock.retries import wait_until
from penstock.spark.metrics import BatchMetrics
from penstock.spark.running.runner import RunOptions
from penstock.spark.running.runner import run as run_pipeline

__all__ = ["run"]

RECORDS = size("RECORDS", 2_000_000, 200)
ROUNDS = size("ROUNDS", 3, 1)
BATCHES = size("BATCHES", 1_000, 4)
PARTS = os.environ.get("PENSTOCK_BENCH_PARTS", "throughput nested micro latency memory consumer").split()

_KNOWN = size(None, 1_000, 12)
_MICRO, _MICRO_BATCHES, _MICRO_WARM = size(None, 1_000, 20), size(None, 30, 3), size(None, 5, 1)
_MEMORY_RECORDS = 100
_SAMPLES = size(None, 20, 1)
_ONE_AIM, _TWO_AIM, _FLAT_AIM, _MICRO_AIM, _LATENCY_AIM, _MEMORY_AIM, _CONSUMER_AIM = 0.95, 0.85, 0.95, 0.95, 1.5, 1.1, 10.0


def run() -> list[Row]:
    """Return the rows of the selected parts."""
    parts: dict[str, Callable[[Site], list[Row]]] = {
        "throughput": _throughput,
        "nested": _nested,
        "micro": _micro,
        "latency": _latency,
        "memory": _memory,
        "consumer": _consumer,
    }
    with tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=Path.cwd()) as folder, open_site(Path(folder)) as site:
        return [row for name, part in parts.items() if name in PARTS for row in part(site)]


Seconds = dict[str, list[float]]
"""Seconds of each candidate, by round."""


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _rounds(candidates: dict[str, Callable[[], StreamingQuery]], spent: Callable[[StreamingQuery], float]) -> Seconds:
    """Return what each candidate ``spent`` by round, in seconds, after one that does not count; small sizes have none."""
    seconds: Seconds = {name: [] for name in candidates}
    for number in range(SMALL, ROUNDS + 1):
        for name, job in candidates.items():
            query = job()
            if number:
                seconds[name].append(spent(query))
    for name, found in seconds.items():
        _note(f"  {name}: {', '.join(f'{item:.2f}' for item in found)} s")
    return seconds


def _ratio(ours: list[float], other: list[float]) -> float:
    return median(theirs / mine for mine, theirs in zip(ours, other, strict=True))


def _row(what: str, seconds: Seconds, names: tuple[str, str], aim: float, records: int) -> Row:
    ours, other = names
    ratio = _ratio(seconds[ours], seconds[other])
    mine, theirs = (f"{records / median(seconds[name]):,.0f}/s" for name in (ours, other))
    return Row(what, mine, theirs, ratio, f"{aim} or more", ratio >= aim)


def _throughput(site: Site) -> list[Row]:
    all_versions = [plain(number) for number in range(1, VERSIONS + 1)]
    two = site.schema("two", all_versions[-2:])
    nine = site.schema("nine", all_versions)
    many = site.schema("many", with_history(all_versions, _KNOWN))
    topics = {
        "one of 2": site.topic("one-of-2", "two", two[-1:], RECORDS),
        "two of 2": site.topic("two-of-2", "two", two, RECORDS),
        "nine of 9": site.topic("nine-of-9", "nine", nine, RECORDS),
        "one of 1,000": site.topic("one-of-1000", "many", many[-1:], RECORDS),
    }
    jobs: dict[str, Callable[[], StreamingQuery]] = {"hand-written": partial(site.hand_written, topics["one of 2"])}
    jobs |= {name: partial(site.ours, topic) for name, topic in topics.items()}
    seconds = _rounds(jobs, _all_batches)
    peer = "hand-written"
    return [
        _row("topic to Parquet, one version, against the hand-written job", seconds, ("one of 2", peer), _ONE_AIM, RECORDS),
        _row("topic to Parquet, two versions, against the same", seconds, ("two of 2", peer), _TWO_AIM, RECORDS),
        _row("1,000 versions known, against 2", seconds, ("one of 1,000", "one of 2"), _FLAT_AIM, RECORDS),
        _row("nine versions in the batch, against one", seconds, ("nine of 9", "one of 2"), _FLAT_AIM, RECORDS),
    ]


def _nested(site: Site) -> list[Row]:
    versions = site.schema("nested", [nested(number) for number in range(1, VERSIONS + 1)])
    records = RECORDS // 4
    one = site.topic("nested-one", "nested", versions[-1:], records)
    nine = site.topic("nested-nine", "nested", versions, records)
    seconds = _rounds(
        {"hand-written": lambda: site.hand_written(one), "one": lambda: site.ours(one), "nine": lambda: site.ours(nine)},
        _all_batches,
    )
    return [
        _row(
            "nested records, one version, against the hand-written job", seconds, ("one", "hand-written"), _ONE_AIM, records
        ),
        _row("nested records, nine versions, against one", seconds, ("nine", "one"), _FLAT_AIM, records),
    ]


def _micro(site: Site) -> list[Row]:
    """Compare the time of one batch, from Spark's own figures of its stream: ``triggerExecution``."""
    topic = _small(site, "micro", _MICRO * _MICRO_BATCHES)
    steps: list[BatchMetrics] = []
    seconds = _rounds(
        {
            "hand-written": lambda: site.hand_written(topic, per_trigger=_MICRO),
            "ours": lambda: site.ours(topic, per_trigger=_MICRO, on_batch=steps.append),
        },
        _one_batch,
    )
    ours, other = seconds["ours"], seconds["hand-written"]
    last = steps[-_MICRO_BATCHES + _MICRO_WARM :]
    for name in last[0].seconds:
        _note(f"  {name}: {median(batch_metrics.seconds.get(name, 0.0) for batch_metrics in last) * 1000:.0f} ms")
    ratio = _ratio(ours, other)
    mine, theirs = (f"{median(item):.3f} s" for item in (ours, other))
    what = "a batch of 1,000 records, against the hand-written stream"
    return [Row(what, mine, theirs, ratio, f"{_MICRO_AIM} or more", ratio >= _MICRO_AIM)]


def _small(site: Site, name: str, records: int) -> Topic:
    versions = site.schema(name, [plain(VERSIONS - 1), plain(VERSIONS)])
    return site.topic(name, name, versions[-1:], records)


def _batches(query: StreamingQuery) -> list[float]:
    """Return the seconds of each batch with records, of the last hundred."""
    return [
        streaming_query_progress["durationMs"]["triggerExecution"] / 1000
        for streaming_query_progress in query.recentProgress
        if streaming_query_progress["numInputRows"]
    ]


def _all_batches(query: StreamingQuery) -> float:
    return sum(_batches(query))


def _one_batch(query: StreamingQuery) -> float:
    return median(_batches(query)[_MICRO_WARM:])


def _latency(site: Site) -> list[Row]:
    """Measure from the call that sends a record to the end of the first SQL statement that has it in its result."""
    topic = _small(site, "latency", 10)
    stop, batches = threading.Event(), threading.Semaphore(0)
    pipeline = site.pipeline(topic)
    options = RunOptions(stop=stop, on_batch=lambda _: batches.release())
    stream = threading.Thread(target=run_pipeline, args=(pipeline, site.spark, options))
    stream.start()
    batches.acquire(timeout=60)
    try:
        results = list(_delays(site, topic, pipeline.file_sinks[0].catalog.table))  # type: ignore[union-attr]
    finally:
        stop.set()
        stream.join()
        site.clear()
    _note(f"  produce to SQL: {', '.join(f'{item:.2f}' for item in results)} s")
    half = median(results)
    what = "produce to the end of the SQL statement that finds it, median, trigger 1 s"
    return [Row(what, f"{half:.2f} s", f"{_LATENCY_AIM} s", _LATENCY_AIM / half, "1 or more", half <= _LATENCY_AIM)]


def _delays(site: Site, topic: Topic, table: str) -> Iterator[float]:
    athena: Any = site.server.client("athena")
    with site.producer(topic) as producer:
        for number in range(-3, _SAMPLES):
            time.sleep(0.37 * (number % 5))  # so that records come at all times between two triggers
            began, expected = time.perf_counter(), 1_000_000 + number
            record = {"id": expected, "device": "d", "reading": 1.0, "ok": True, "at": 0, "a": 1.0, "b": 2.0, "c": 3.0}
            producer.send(record | {f"extra_{n}": None for n in range(4)})
            producer.flush()
            wait_until(partial(_has, athena, table, expected), seconds=60, every=0.02)
            if number >= 0:
                yield time.perf_counter() - began


def _has(athena: Any, table: str, expected: int) -> bool:
    statement = athena.start_query_execution(
        QueryString=f"SELECT count(*) FROM bench.{table} WHERE id = {expected}",
        ResultConfiguration={"OutputLocation": "s3://bench/results/"},
    )["QueryExecutionId"]

    def state() -> str | None:
        status = athena.get_query_execution(QueryExecutionId=statement)["QueryExecution"]["Status"]
        if status["State"] in {"FAILED", "CANCELLED"}:
            raise RuntimeError(status.get("StateChangeReason"))
        return "done" if status["State"] == "SUCCEEDED" else None

    wait_until(state, seconds=60, every=0.02)
    rows = athena.get_query_results(QueryExecutionId=statement)["ResultSet"]["Rows"]
    return bool(int(rows[-1]["Data"][0]["VarCharValue"]))


def _memory(site: Site) -> list[Row]:
    """Compare heap and resident memory after all batches with those after a fifth of them."""
    topic = _small(site, "memory", _MEMORY_RECORDS * BATCHES)
    jvm: Any = site.spark._jvm
    java = int(jvm.java.lang.ProcessHandle.current().pid())
    samples: dict[str, list[float]] = {"heap of the JVM": [], "the JVM": [], "Python": []}
    counted = 0

    def sample(_: BatchMetrics) -> None:
        nonlocal counted
        counted += 1
        if counted % max(1, BATCHES // 10):
            return
        jvm.System.gc()
        runtime = jvm.java.lang.Runtime.getRuntime()
        samples["heap of the JVM"].append((runtime.totalMemory() - runtime.freeMemory()) / 1e6)
        samples["the JVM"].append(_resident(java))
        samples["Python"].append(_resident(os.getpid()))

    site.ours(topic, per_trigger=_MEMORY_RECORDS, on_batch=sample)
    rows = []
    for name, found in samples.items():
        _note(f"  {name}: {', '.join(f'{item:.0f}' for item in found)} MB")
        growth = median(found[-2:]) / median(found[1:3])
        what = f"memory of {name} after {BATCHES:,} batches, against a fifth of them"
        late, early = (f"{median(part):.0f} MB" for part in (found[-2:], found[1:3]))
        rows.append(Row(what, late, early, growth, f"{_MEMORY_AIM} or less", growth <= _MEMORY_AIM))
    return rows


def _resident(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1e3


def _consumer(site: Site) -> list[Row]:
    topic = _small(site, "consumer", RECORDS)
    some = min(RECORDS, 200_000)
    glue: Any = site.server.client("glue")
    ours: list[float] = []
    other: list[float] = []
    for number in range(SMALL, ROUNDS + 1):
        began = time.perf_counter()
        site.ours(topic)
        middle = time.perf_counter()
        consume(site.broker.client_settings, topic.name, glue, some, site.server.lake / "bench")
        if number:
            ours.append(RECORDS / (middle - began))
            other.append(some / (time.perf_counter() - middle))
    ratio = median(mine / theirs for mine, theirs in zip(ours, other, strict=True))
    mine, theirs = (f"{median(item):,.0f}/s" for item in (ours, other))
    what = "topic to Parquet, against a Python consumer with AWS's community serde"
    return [Row(what, mine, theirs, ratio, f"{_CONSUMER_AIM:g} or more", ratio >= _CONSUMER_AIM)]
