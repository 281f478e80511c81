"""The work that goes on meanwhile: what was asked, what was answered, and when."""

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from typing import Any
from urllib.request import Request, urlopen

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from penstock.crawl.model import Crawler
from penstock.crawl.schedules import scheduled_crawl
from penstock.names import DEFAULT_REGION
from penstock.retries import wait_until
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.database import Database
from penstock.testing.clients import boto3_client
from tests.servers.histories import Read, Registration

__all__ = ["ENDS", "Work"]

SCHEMAS, CRAWLERS = 2, 2
ENDS = {"SUCCEEDED", "FAILED", "CANCELLED"}
_CONFIG = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=10, max_pool_connections=20)
_UNKNOWN = (BotoCoreError, ClientError, OSError, HTTPException)


def _definition(name: str) -> str:
    # With a default, so that each is compatible with the others.
    field = {"name": name, "type": "int", "default": 0}
    return json.dumps({"type": "record", "name": "R", "fields": [field]})


def _thread_name(number: int) -> str:
    return f"work-{number}"


class Work:
    """Threads that use the servers at ``endpoint`` as clients do, with ``pause`` seconds between, until :meth:`stop`."""

    def __init__(self, endpoint: str, key: tuple[str, str], store_url: str, *, pause: float) -> None:
        self._endpoint = endpoint
        self._pause = pause
        self._key = key
        self.database = Database(store_url)
        self.crawlers = SqlCrawlStore(self.database)
        self.registrations: dict[str, list[Registration]] = {f"s{number}": [] for number in range(SCHEMAS)}
        self.reads: dict[str, list[Read]] = {name: [] for name in self.registrations}
        self.ids: dict[str, set[int]] = {}
        """Confluent's ids that each definition was answered with."""
        self.partitions: set[str] = set()
        self.statements: dict[str, int] = {}
        """The number that each accepted statement inserts, by the statement's id."""
        self.inserts = 0
        self.due: list[tuple[str, datetime]] = []
        """The crawler and the time of each run of a schedule."""
        self._answered: dict[str, float] = {}
        """When each thread's last request that was answered began."""
        self.failed: list[str] = []
        """Requests that were not answered, or with an error."""
        self.broken: list[BaseException] = []
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self.glue, self.athena = self.client("glue"), self.client("athena")

    def client(self, service: str) -> Any:
        return boto3_client(
            service,
            self._endpoint,
            DEFAULT_REGION,
            access_key_id=self._key[0],
            secret_access_key=self._key[1],
            config=_CONFIG,
        )

    def prepare(self) -> None:
        """Make what the work is done on."""
        self.glue.create_registry(RegistryName="r")
        for name in self.registrations:
            self._register(name, "first", create=True)
        self.glue.create_database(DatabaseInput={"Name": "d"})
        columns: Any = [{"Name": "x", "Type": "int"}]
        keys: Any = [{"Name": "k", "Type": "string"}]
        shape = {"Columns": columns, "Location": "s3://lake/p/"}
        self.glue.create_table(DatabaseName="d", TableInput={"Name": "p", "StorageDescriptor": shape, "PartitionKeys": keys})
        self.run("CREATE EXTERNAL TABLE d.t (n int) STORED AS PARQUET LOCATION 's3://lake/t/'")
        for number in range(CRAWLERS):
            targets = {"S3Targets": [{"Path": "s3://lake/crawled/"}]}
            self.glue.create_crawler(Name=f"c{number}", Role="r", DatabaseName="d", Targets=targets)

    def run(self, sql: str) -> list[str]:
        """Run a statement to its end, which has to be a good one; return the first column."""
        started = self.athena.start_query_execution(QueryString=sql)["QueryExecutionId"]
        assert wait_until(lambda: self.state(started) in ENDS, seconds=120, every=0.1)
        assert self.state(started) == "SUCCEEDED", self.athena.get_query_execution(QueryExecutionId=started)
        pages = self.athena.get_paginator("get_query_results").paginate(QueryExecutionId=started)
        return [row["Data"][0]["VarCharValue"] for page in pages for row in page["ResultSet"]["Rows"] if row["Data"]]

    def state(self, statement: str) -> str:
        """Return the state of a statement, as any server that answers says it; RUNNING if none does."""
        try:
            answer = self.athena.get_query_execution(QueryExecutionId=statement)
        except _UNKNOWN:
            return "RUNNING"
        return str(answer["QueryExecution"]["Status"]["State"])

    def reason(self, statement: str) -> str:
        """Return why a statement failed."""
        status = self.athena.get_query_execution(QueryExecutionId=statement)["QueryExecution"]["Status"]
        return str(status.get("StateChangeReason"))

    def start(self) -> None:
        asking: list[Callable[[int, int], None]] = [self._registering, self._registering, self._reading]
        asking += [self._subject, self._subject, self._adding, self._inserting]
        self._answered = {_thread_name(number): 0.0 for number in range(len(asking))}
        for number, work in enumerate([*asking, self._scheduling]):
            thread = threading.Thread(target=self._keep_on, args=(work, number), name=_thread_name(number), daemon=True)
            thread.start()
            self._threads.append(thread)

    def await_answers(self) -> int:
        """Wait until each thread has begun a request and got its answer; return how many failed until then."""
        now = time.monotonic()
        assert wait_until(lambda: all(began > now for began in list(self._answered.values())), seconds=120), self.failed
        return len(self.failed)

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def close(self) -> None:
        self.stop()
        self.database.close()

    def _keep_on(self, work: Callable[[int, int], None], number: int) -> None:
        step = 0
        while not self._stopping.wait(self._pause):
            try:
                work(number, step)
            except BaseException as error:  # noqa: BLE001 - raised by the test
                self.broken.append(error)
                return
            step += 1

    @contextmanager
    def _asking(self, what: str) -> Iterator[None]:
        """Note when a request was answered; of one that is not answered nothing is known."""
        began = time.monotonic()
        try:
            yield
        except _UNKNOWN as error:
            with self._lock:
                self.failed.append(f"{what}: {error}")
        else:
            self._answered[threading.current_thread().name] = began

    def _registering(self, number: int, step: int) -> None:
        with self._asking("register"):
            # Every third definition is the other thread's, too.
            self._register(f"s{step % SCHEMAS}", f"shared_{step}" if step % 3 == 0 else f"own_{number}_{step}")

    def _register(self, schema: str, name: str, *, create: bool = False) -> None:
        definition = _definition(name)
        begun = Registration(definition=definition, began=time.monotonic())
        result = begun
        try:
            if create:
                made = self.glue.create_schema(
                    RegistryId={"RegistryName": "r"}, SchemaName=schema, DataFormat="AVRO", Compatibility="NONE",
                    SchemaDefinition=definition,
                )  # fmt: skip
                number, version = 1, made["SchemaVersionId"]
            else:
                schema_id = {"RegistryName": "r", "SchemaName": schema}
                answer = self.glue.register_schema_version(SchemaId=schema_id, SchemaDefinition=definition)
                number, version = answer["VersionNumber"], answer["SchemaVersionId"]
            result = replace(begun, ended=time.monotonic(), number=number, version_id=version)
        finally:
            with self._lock:
                self.registrations[schema].append(result)

    def _reading(self, _number: int, step: int) -> None:
        schema, began = f"s{step % SCHEMAS}", time.monotonic()
        with self._asking("read"):
            answer = self.glue.get_schema(SchemaId={"RegistryName": "r", "SchemaName": schema})
            read = Read(began=began, ended=time.monotonic(), number=answer["LatestSchemaVersion"])
            with self._lock:
                self.reads[schema].append(read)

    def _subject(self, number: int, step: int) -> None:
        with self._asking("register by Confluent's API"):
            name = f"shared_{step}" if step % 3 == 0 else f"own_{number}_{step}"
            definition = _definition(name)
            body = json.dumps({"schema": definition}).encode()
            answer = self.confluent(f"/subjects/confluent-{number % 2}-value/versions", body)
            with self._lock:
                self.ids.setdefault(definition, set()).add(answer["id"])

    def confluent(self, path: str, body: bytes | None = None) -> Any:
        """Return the answer of Confluent's API. Raises :class:`OSError`, of which HTTPError is one."""
        login = base64.b64encode(":".join(self._key).encode()).decode()
        headers = {"Authorization": f"Basic {login}", "Content-Type": "application/vnd.schemaregistry.v1+json"}
        with urlopen(Request(f"{self._endpoint}{path}", body, headers), timeout=10) as answer:
            return json.load(answer)

    def _adding(self, _number: int, step: int) -> None:
        with self._asking("add a partition"):
            value = f"v{step}"
            self.glue.create_partition(DatabaseName="d", TableName="p", PartitionInput={"Values": [value]})
            self.partitions.add(value)

    def _inserting(self, _number: int, _step: int) -> None:
        self.inserts += 1
        number = self.inserts
        with self._asking("start a statement"):
            sql = f"INSERT INTO d.t VALUES ({number})"
            started = self.athena.start_query_execution(QueryString=sql)["QueryExecutionId"]
            self.statements[started] = number

    def _scheduling(self, _number: int, step: int) -> None:
        """Let a crawler's schedule be due now, and wait for its crawl."""
        name = f"c{step % CRAWLERS}"
        due = datetime.now(UTC).replace(microsecond=0) + timedelta(microseconds=step + 1)
        try:
            ready = self.crawlers.get(name)
            if ready is None or ready.state != "READY":
                return
            self.crawlers.change(name, lambda crawler: replace(crawler, next_run=due))
        except Exception:  # noqa: BLE001 - PostgreSQL is restarted
            self._stopping.wait(1.0)
            return
        self.due.append((name, due))
        wait_until(lambda: self._stopping.is_set() or self.crawled(name, due) > 0, seconds=60, every=0.2)

    def crawled(self, name: str, due: datetime) -> int:
        """Return how often the crawl of a schedule's time was made; 0 while it runs."""
        try:
            crawler: Crawler | None = self.crawlers.get(name)
        except Exception:  # noqa: BLE001 - PostgreSQL is restarted
            return 0
        assert crawler is not None
        return sum(record.run_id == scheduled_crawl(name, due) for record in crawler.history)
