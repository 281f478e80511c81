"""Metrics and the access log of the AWS endpoint.

With several workers prometheus_client's multiprocess mode adds up their counters: each worker stores its values in files of
one folder, and the worker that is scraped reads them all. The variable that enables the mode must be set before
prometheus_client is first imported, so the parent process sets it before it starts the workers.
"""

import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import orjson
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

from penstock.api.observer import CompletedRequest

__all__ = ["AccessLog", "Metrics", "registry_metrics"]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_FLUSH_LINES = 100


class AccessLog:
    """One JSON line per request, without bodies, headers or signatures. Lines are written in groups; call :meth:`flush`."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._lines: list[bytes] = []
        self._second = (0, "")

    def write(self, request: CompletedRequest) -> None:
        """Add one request."""
        line = {
            "time": self._now(),
            "service": request.service,
            "operation": request.operation,
            "code": request.code,
            "status": request.status,
            "ms": round(request.seconds * 1000, 2),
            "principal": request.principal,
            "client": request.client,
            "request_id": request.request_id,
        }
        self._lines.append(orjson.dumps(line))
        if len(self._lines) >= _FLUSH_LINES:
            self.flush()

    def _now(self) -> str:
        """Return the time in UTC; the part up to the second is formatted once a second."""
        now = time.time()
        second = int(now)
        if second != self._second[0]:
            self._second = (second, datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S"))
        return f"{self._second[1]}.{int((now - second) * 1000):03}Z"

    def flush(self) -> None:
        """Write the added lines."""
        if self._lines:
            lines, self._lines = self._lines, []
            self._stream.write(b"\n".join(lines).decode() + "\n")
            self._stream.flush()


class Metrics:
    """Counts requests by service, operation and code, their duration, and how many are in flight."""

    def __init__(self, log: AccessLog | None, *, folder: Path | None = None) -> None:
        self._log = log
        self._folder = folder
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "penstock_requests", "Requests answered.", ("service", "operation", "code"), registry=self.registry
        )
        self._seconds = Histogram(
            "penstock_request_seconds",
            "Time from the first byte of a request to the last of its answer.",
            ("service", "operation"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._in_flight = Gauge(
            "penstock_requests_in_flight", "Requests being answered.", registry=self.registry, multiprocess_mode="livesum"
        )
        self._counts: dict[tuple[str, str, str], int] = {}
        self._timers: dict[tuple[str, str], Callable[[float], None]] = {}
        self._running = 0

    def started(self) -> None:
        """Count a request that arrived."""
        self._running += 1

    def finished(self, request: CompletedRequest) -> None:
        """Count its answer. Label values are served operations and Penstock's codes, never a client's text."""
        self._running -= 1
        service, operation, code = request[:3]
        key = (service, operation, code)
        self._counts[key] = self._counts.get(key, 0) + 1
        timer = self._timers.get((service, operation))
        if timer is None:
            timer = self._timers[service, operation] = self._seconds.labels(service, operation).observe
        timer(request.seconds)
        if self._log is not None:
            self._log.write(request)

    def flush(self) -> None:
        """Write the access log's pending lines, and add the counts since the last call.

        prometheus_client's counters in files cost more than the computation of a signature.
        """
        if self._log is not None:
            self._log.flush()
        counts, self._counts = self._counts, {}
        for key, count in counts.items():
            self._requests.labels(*key).inc(count)
        self._in_flight.set(self._running)

    def exposition(self) -> bytes:
        """Return the Prometheus text of this process, or of all workers, the others' as of their last flush."""
        self.flush()
        return generate_latest(self._everyone())

    def answered(self, service: str) -> tuple[float, float]:
        """Return how many requests of ``service`` succeeded and failed, in all workers since the server's start."""
        self.flush()
        succeeded = failed = 0.0
        for family in self._everyone().collect():
            for sample in family.samples if family.name == "penstock_requests" else ():
                if sample.name.endswith("_total") and sample.labels["service"] == service:
                    if sample.labels["code"] == "OK":
                        succeeded += sample.value
                    else:
                        failed += sample.value
        return succeeded, failed

    def _everyone(self) -> CollectorRegistry:
        if self._folder is None:
            return self.registry
        everyone = CollectorRegistry()
        multiprocess.MultiProcessCollector(everyone, path=str(self._folder))  # type: ignore[no-untyped-call]
        return everyone


_FORMATS = {"AVRO": "avro", "JSON": "json", "PROTOBUF": "protobuf"}


def registry_metrics(versions: Mapping[tuple[str, bool], int], *, succeeded: float, failed: float) -> bytes:
    """Return the lines for Prometheus.

    ``versions`` are counts by format and whether they are soft-deleted, ``succeeded`` and ``failed`` requests answered.
    """
    registered = {
        format_: sum(count for (stored_format, _), count in versions.items() if stored_format == format_)
        for format_ in _FORMATS
    }
    deleted = {format_: versions.get((format_, True), 0) for format_ in _FORMATS}
    values: dict[str, tuple[str, float]] = {
        "registered_count": ("Schema versions registered, soft-deleted ones included.", sum(registered.values())),
        "deleted_count": ("Schema versions that are soft-deleted.", sum(deleted.values())),
        "api_success_count": ("Requests of the registry's API that were answered.", succeeded),
        "api_failure_count": ("Requests of the registry's API that were refused or failed.", failed),
        "master_slave_role": ("1: each server takes writes.", 1),
    }
    for data_format, name in _FORMATS.items():
        values[f"{name}_schemas_created"] = (f"{data_format} versions registered.", registered[data_format])
        values[f"{name}_schemas_deleted"] = (f"{data_format} versions that are soft-deleted.", deleted[data_format])
    lines = []
    for name, (text, value) in values.items():
        full = f"kafka_schema_registry_{name}"
        lines += [f"# HELP {full} {text}", f"# TYPE {full} gauge", f"{full} {value:g}"]
    return ("\n".join(lines) + "\n").encode()
