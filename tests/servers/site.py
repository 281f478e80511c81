"""Servers, PostgreSQL and the balancer as processes, and what happens to them."""

import json
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from penstock.access.audit.reading import broken_chains
from penstock.local.processes.ports import free_ports
from penstock.retries import wait_until
from penstock.testing.postgres import PostgresServer, running_postgres
from penstock.testing.server import RunningServer, start_server
from tests.servers.balancer import Balancer
from tests.servers.histories import violations
from tests.servers.work import ENDS, Work

__all__ = ["Site", "server_site"]

KEY = ("AKIASEVERALSERVER", "one-secret-for-all-of-them")
DRAIN_SECONDS = 3


class Site:
    """``servers`` on one store, by their ports."""

    def __init__(self, folder: Path, postgres: PostgresServer, count: int) -> None:
        self._folder = folder
        self.postgres = postgres
        self.store_url = postgres.new_database()
        self.ports = free_ports(count)
        self.servers: dict[int, RunningServer] = {}
        self.balancer = Balancer(self.ports)
        self._starts = 0

    def start(self, port: int) -> None:
        """Start a server, and wait until the balancer knows it."""
        self._starts += 1
        shared = ("--master-key-file", f"{self._folder}/master.key", "--lake", f"{self._folder}/lake")
        self.servers[port] = start_server(
            self._folder / str(port),
            arguments=(*shared, "--port", str(port), "--drain-seconds", str(DRAIN_SECONDS)),
            environment={"PENSTOCK_STORE_URL": self.store_url},
            access_key_id=KEY[0],
            secret_access_key=KEY[1],
            log_name=f"serve-{self._starts}.log",
        )
        assert wait_until(lambda: port in self.balancer.ready, seconds=60), self.servers[port].log

    def kill(self, port: int) -> None:
        """Kill a server, and start it again."""
        self.servers[port].stop(signal.SIGKILL)
        self.start(port)

    def replace(self, port: int) -> None:
        """Restart a server as an administrator does."""
        assert self.servers[port].stop(signal.SIGTERM) == 0, self.servers[port].log
        self.start(port)

    def freeze(self, port: int, seconds: float) -> None:
        """Stop a server for a while; it does not notice, but its clock and its leases are stale then."""
        process = self.servers[port].process
        process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)
        assert wait_until(lambda: port in self.balancer.ready, seconds=60)

    def close(self) -> None:
        for server in self.servers.values():
            server.process.send_signal(signal.SIGCONT)
            server.process.kill()
            server.process.wait()
        self.balancer.close()

    def check(self, work: Work) -> dict[str, int]:
        """Compare what was answered with what is there; return how much that was."""
        assert work.broken == []
        for schema, registrations in work.registrations.items():
            assert list(violations(registrations, work.reads[schema], _versions(work, schema))) == []
        ids = [next(iter(found)) for found in work.ids.values() if len(found) == 1]
        assert len(ids) == len(work.ids), "a definition got two of Confluent's ids"
        assert len(set(ids)) == len(ids), "two definitions got one of Confluent's ids"
        for definition, (schema_id, *_) in work.ids.items():
            assert json.loads(work.confluent(f"/schemas/ids/{schema_id}")["schema"]) == json.loads(definition)
        assert wait_until(lambda: all(work.state(name) in ENDS for name in work.statements), seconds=60, every=0.5)
        ended = {number: work.state(name) for name, number in work.statements.items()}
        rows = [int(value) for value in work.run("SELECT n FROM d.t")[1:]]
        assert len(set(rows)) == len(rows), "a row was written twice"
        for number, state in ended.items():
            assert (number in rows) == (state == "SUCCEEDED"), f"statement {number} is {state}"
        partitions = work.glue.get_paginator("get_partitions").paginate(DatabaseName="d", TableName="p")
        stored = [partition["Values"][0] for page in partitions for partition in page["Partitions"]]
        assert work.partitions <= set(stored)
        assert len(set(stored)) == len(stored)
        for name, due in work.due:
            assert wait_until(lambda name=name, due=due: work.crawled(name, due) > 0, seconds=60), (name, due)  # type: ignore[misc]
            assert work.crawled(name, due) == 1
        for port in self.ports:
            assert broken_chains(self._folder / str(port) / "audit") == []
        return {
            "registrations": sum(map(len, work.registrations.values())),
            "definitions by Confluent's API": len(work.ids),
            "reads": sum(map(len, work.reads.values())),
            "partitions": len(stored),
            "statements": len(ended),
            **Counter(f"  {work.reason(name)}" for name, number in work.statements.items() if ended[number] != "SUCCEEDED"),
            "scheduled crawls": len(work.due),
            "requests without an answer": len(work.failed),
        }


def _versions(work: Work, schema: str) -> dict[int, tuple[str, str]]:
    schema_id = {"RegistryName": "r", "SchemaName": schema}
    pages = work.glue.get_paginator("list_schema_versions").paginate(SchemaId=schema_id)
    listed = [version for page in pages for version in page["Schemas"]]
    assert {version["Status"] for version in listed} == {"AVAILABLE"}
    ids = {version["VersionNumber"]: version["SchemaVersionId"] for version in listed}
    definitions = {
        number: work.glue.get_schema_version(SchemaVersionId=name)["SchemaDefinition"] for number, name in ids.items()
    }
    return {number: (name, definitions[number]) for number, name in ids.items()}


@contextmanager
def server_site(folder: Path, *, servers: int, pause: float = 0.05) -> Iterator[tuple[Site, Work]]:
    """Yield servers that run, and work that goes on."""
    with ExitStack() as stack:
        site = Site(folder, stack.enter_context(running_postgres()), servers)
        stack.callback(site.close)
        for port in site.ports:
            site.start(port)
        work = Work(f"http://127.0.0.1:{site.balancer.port}", KEY, site.store_url, pause=pause)
        stack.callback(work.close)
        work.prepare()
        work.start()
        yield site, work
