"""The registry over HTTP with signatures verified, against moto's server; start-up and memory with the same schemas.

Both servers hold the same number of schemas and answer the same signed requests from the same client, one after the other.
moto's schemas are put into its memory directly, ours are written by the registry's service to the server's SQLite file.
A server is ready when /readyz says so.
"""

import contextlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import boto3
import psutil

from benchmarks.definitions import definition
from benchmarks.load import Rate, measure, sign
from benchmarks.sizes import size
from benchmarks.timing import Row
from penstock.names import DEFAULT_ACCOUNT, DEFAULT_REGION
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.schema.compatibility import CompatibilityMode
from penstock.store.sql.database import Database
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.server import RunningServer, start_server

__all__ = ["await_ready", "run"]

SCHEMAS = size("SCHEMAS", 100_000, 20)

_SAMPLE = size(None, 2_000, 20)  # different schemas that are read
_SECONDS = size(None, 8.0, 0.2)
_CONNECTIONS = 16
_ADDED_TO = 500  # schemas that get new versions, in turn
_COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
_READS_AIM, _WRITES_AIM, _READY_AIM, _MEMORY_AIM = 30, 5, 2.0, 300.0


def run() -> list[Row]:
    """Return four rows: reads, registrations, time to ready, memory."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        home = Path(folder)
        # The first start migrates the store, and writes the bytecode that an installer would have compiled.
        start_server(home, environment=_COMPILED).stop()
        _fill(home)
        began = time.monotonic()
        single = start_server(home, environment=_COMPILED)
        await_ready(single.endpoint_url)
        ready = time.monotonic() - began
        try:
            memory = _megabytes(single)
        finally:
            single.stop()
        server = start_server(home, arguments=["--workers", "2"], environment=_COMPILED)
        await_ready(server.endpoint_url)
        try:
            ours = _rates(server.endpoint_url, (server.access_key_id, server.secret_access_key))
        finally:
            server.stop()
    with _moto() as endpoint:
        theirs = _rates(endpoint, ("key", "secret"))
    rows = [
        _ratio(f"read by id, {SCHEMAS:,} schemas stored, against moto", ours[0], theirs[0], _READS_AIM),
        _ratio(f"register a version, {SCHEMAS:,} schemas stored, against moto", ours[1], theirs[1], _WRITES_AIM),
    ]
    rows.append(
        Row(
            "time to ready with them",
            f"{ready:.2f} s",
            f"{_READY_AIM} s",
            ready / _READY_AIM,
            "1 or less",
            ready <= _READY_AIM,
        )
    )
    rows.append(
        Row(
            "memory of the server with them",
            f"{memory:.0f} MB",
            f"{_MEMORY_AIM:.0f} MB",
            memory / _MEMORY_AIM,
            "1 or less",
            memory <= _MEMORY_AIM,
        )
    )
    return rows


def _fill(home: Path) -> None:
    database = Database(f"sqlite:///{home / 'store' / 'penstock.db'}")
    service = RegistryService(SqlRegistryStore(database), region=DEFAULT_REGION, account=DEFAULT_ACCOUNT)
    service.registries.create("bench")
    for number in range(SCHEMAS):
        service.schemas.create(
            NewSchema(
                registry="bench",
                name=f"schema-{number}",
                data_format="AVRO",
                compatibility=CompatibilityMode.BACKWARD,
                definition=definition(number),
            )
        )
    database.close()


def await_ready(endpoint: str) -> None:
    """Wait until the server at ``endpoint`` says that it is ready."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        # An answer with another status than 200 raises HTTPError, which is an OSError.
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{endpoint}/readyz", timeout=5):
            return
        time.sleep(0.02)
    raise RuntimeError("the server did not become ready")


def _rates(endpoint: str, key: tuple[str, str]) -> tuple[Rate, Rate]:
    glue: Any = boto3.client(
        "glue", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id=key[0], aws_secret_access_key=key[1]
    )
    step = max(1, SCHEMAS // _SAMPLE)
    ids = [
        glue.get_schema_version(SchemaId=_schema(number), SchemaVersionNumber={"LatestVersion": True})["SchemaVersionId"]
        for number in range(0, SCHEMAS, step)
    ]
    reads = [sign(endpoint, "GetSchemaVersion", {"SchemaVersionId": version}, key) for version in ids]
    read = _good(measure(endpoint, reads, seconds=_SECONDS, connections=_CONNECTIONS, repeat=True))
    # More requests than either server answers in the time, each for a new definition.
    writes = [
        sign(
            endpoint,
            "RegisterSchemaVersion",
            {"SchemaId": _schema(number), "SchemaDefinition": definition(number, version)},
            key,
        )
        for version in range(2, 32)
        for number in range(min(_ADDED_TO, SCHEMAS))
    ]
    write = _good(measure(endpoint, writes, seconds=_SECONDS, connections=_CONNECTIONS, repeat=False))
    return read, write


def _schema(number: int) -> dict[str, str]:
    return {"RegistryName": "bench", "SchemaName": f"schema-{number}"}


def _good(rate: Rate) -> Rate:
    if rate.refused:
        raise RuntimeError(f"{rate.refused} requests were refused, the first with {rate.first_refusal[:500]!r}")
    return rate


def _ratio(what: str, ours: Rate, theirs: Rate, aim: int) -> Row:
    ratio = ours.per_second / theirs.per_second
    return Row(what, f"{ours.per_second:,.0f}/s", f"{theirs.per_second:,.0f}/s", ratio, f"{aim} or more", ratio >= aim)


def _megabytes(server: RunningServer) -> float:
    root = psutil.Process(server.process.pid)
    processes: Sequence[psutil.Process] = [root, *root.children(recursive=True)]
    return sum(process.memory_info().rss for process in processes) / 1e6


@contextlib.contextmanager
def _moto() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.moto_server", str(port), str(SCHEMAS)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 600
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("moto's server did not start")
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
