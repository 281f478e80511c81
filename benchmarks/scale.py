"""The registry with very many versions stored, against itself with few: reads, start, memory; and long histories.

PENSTOCK_BENCH_VERSIONS sets the number of stored versions (default: a million, ten for each schema). They are written as
rows of the store's tables, because registering them would take most of the time. Ready is when /readyz says so.
"""

import json
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import Table, insert, update

from benchmarks.definitions import definition
from benchmarks.load import measure, sign
from benchmarks.registry import await_ready
from benchmarks.sizes import size
from benchmarks.timing import Row
from penstock.registry.model import AVAILABLE, SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.registry.versions.registration import Registration
from penstock.schema.compatibility import CompatibilityMode
from penstock.store.sql.database import Database
from penstock.store.sql.migrate import migrate
from penstock.store.sql.registry import tables
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.server import RunningServer, start_server

__all__ = ["run"]

VERSIONS = size("VERSIONS", 1_000_000, 100)

_A_SCHEMA = 10  # versions
_SAMPLE = size(None, 2_000, 20)  # different versions that are read
_ROUNDS = size(None, 3, 1)
_SECONDS = size(None, 4.0, 0.2)
_CONNECTIONS = 16
_HISTORY = size(None, 10_000, 120)  # versions of one schema
_WINDOW = 100  # registrations that are timed at each end
_COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
_READ_AIM, _READY_AIM, _MEMORY_AIM, _HISTORY_AIM = 0.8, 2.0, 400.0, 2.0


def run() -> list[Row]:
    """Return four rows: reads, time to ready, memory, registration late in a long history."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        small, large = Path(folder, "small"), Path(folder, "large")
        for home, count in ((small, _SAMPLE), (large, VERSIONS)):
            # The first start migrates the store, and writes the bytecode that an installer would have compiled.
            start_server(home, environment=_COMPILED).stop()
            _fill(home, count)
        began = time.monotonic()
        full = start_server(large, environment=_COMPILED)
        try:
            await_ready(full.endpoint_url)
            ready = time.monotonic() - began
            few = start_server(small, environment=_COMPILED)
            try:
                reads, baseline = _reads(full, VERSIONS), _reads(few, _SAMPLE)
                for _ in range(_ROUNDS - 1):
                    reads, baseline = max(reads, _reads(full, VERSIONS)), max(baseline, _reads(few, _SAMPLE))
            finally:
                few.stop()
            memory = psutil.Process(full.process.pid).memory_info().rss / 1e6
        finally:
            full.stop()
    early, late = _history()
    stored = f"{VERSIONS:,} versions of {VERSIONS // _A_SCHEMA:,} schemas stored"
    ratio = reads / baseline
    return [
        Row(f"read by id, {stored}, against hardly any", f"{reads:,.0f}/s", f"{baseline:,.0f}/s", ratio, "0.8 or more",
            ratio >= _READ_AIM),
        _bound(f"time to ready, {stored}", ready, _READY_AIM, "s"),
        _bound(f"memory of the server after the reads, {stored}", memory, _MEMORY_AIM, "MB"),
        Row(f"register version {_HISTORY:,} of a schema under BACKWARD, against version 10", f"{late * 1e3:.2f} ms",
            f"{early * 1e3:.2f} ms", late / early, "2 or less", late / early <= _HISTORY_AIM),
    ]  # fmt: skip


def _bound(what: str, value: float, aim: float, unit: str) -> Row:
    return Row(what, f"{value:.2f} {unit}", f"{aim:.0f} {unit}", value / aim, "1 or less", value <= aim)


def _fill(home: Path, count: int) -> None:
    database = Database(f"sqlite:///{home / 'store' / 'penstock.db'}")
    common: dict[str, Any] = {"created": 0, "updated": 0}
    _insert(database, tables.registries, iter([{"name": "bench", "description": None, **common}]))
    _insert(
        database,
        tables.schemas,
        (
            {
                "id": number + 1, "registry": "bench", "name": f"schema-{number}", "data_format": "AVRO",
                "compatibility": "BACKWARD", "description": None, "checkpoint": 1, "latest": _A_SCHEMA,
                "next_number": _A_SCHEMA + 1, "revision": 0, **common,
            }
            for number in range(count // _A_SCHEMA)
        ),
    )  # fmt: skip
    _insert(
        database,
        tables.schema_versions,
        (
            {
                "id": _id(number), "schema_id": number // _A_SCHEMA + 1, "number": number % _A_SCHEMA + 1,
                "status": AVAILABLE, "fingerprint": f"{number:064}", "definition": _numbered(number // _A_SCHEMA, number),
                "verdict": None, "created": 0, "serial": number + 1, "refers_to": None, "deleted": None,
            }
            for number in range(count)
        ),
    )  # fmt: skip
    _insert(
        database,
        tables.schema_ids,
        (
            {"registry": "bench", "serial": number + 1, "data_format": "AVRO", "fingerprint": f"{number:064}"}
            for number in range(count)
        ),
    )
    with database.write() as connection:
        connection.execute(update(tables.schema_id_counter).values(number=count))
    database.close()


def _insert(database: Database, table: Table, rows: Iterator[dict[str, Any]]) -> None:
    while batch := list(_take(rows, 20_000)):
        with database.write() as connection:
            connection.execute(insert(table), batch)


def _take(rows: Iterator[dict[str, Any]], count: int) -> Iterator[dict[str, Any]]:
    for _ in range(count):
        row = next(rows, None)
        if row is None:
            return
        yield row


def _id(number: int) -> str:
    # Spread over the index, as random ids are.
    return str(uuid.UUID(int=(number * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128, version=4))


def _numbered(schema: int, number: int) -> str:
    return json.dumps({**json.loads(definition(schema)), "doc": f"version {number}"})


def _reads(server: RunningServer, count: int) -> float:
    """Return answers with status 200 per second, for a sample of versions spread over all ``count``."""
    step = max(1, count // _SAMPLE)
    key = (server.access_key_id, server.secret_access_key)
    requests = [
        sign(server.endpoint_url, "GetSchemaVersion", {"SchemaVersionId": _id(number)}, key)
        for number in range(0, count, step)
    ]
    rate = measure(server.endpoint_url, requests, seconds=_SECONDS, connections=_CONNECTIONS, repeat=True)
    if rate.refused:
        raise RuntimeError(f"{rate.refused} reads were refused, the first with {rate.first_refusal[:500]!r}")
    return rate.per_second


def _history() -> tuple[float, float]:
    """Return the median seconds of a registration, among the first and among the last of a long history."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        database = Database(f"sqlite:///{folder}/penstock.db")
        migrate(database)
        service = RegistryService(SqlRegistryStore(database))
        early: list[float] = []
        service.registries.create("bench")
        for number in range(_WINDOW // 5):
            early.extend(_register(service, number, 12)[7:])
        late = _register(service, _WINDOW, _HISTORY)[-_WINDOW:]
        database.close()
    return sorted(early)[len(early) // 2], sorted(late)[len(late) // 2]


def _register(service: RegistryService, number: int, count: int) -> list[float]:
    """Register ``count`` versions of one schema; return the seconds of each registration."""
    key = SchemaKey("bench", f"schema-{number}")
    service.schemas.create(
        NewSchema(registry="bench", name=key.name, data_format="AVRO", compatibility=CompatibilityMode.BACKWARD)
    )
    spent: list[float] = []
    for version in range(count):
        text = _numbered(number, version)
        began = time.perf_counter()
        service.versions.register(Registration(key=key, definition=text))
        spent.append(time.perf_counter() - began)
    return spent
