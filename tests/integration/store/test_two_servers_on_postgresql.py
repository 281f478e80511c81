"""Two servers on one PostgreSQL serve as one, also when one of them is killed in the middle of its writes."""

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from sqlalchemy import make_url

from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.registry.model import SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.store.sql.database import Database
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.postgres import PostgresServer
from penstock.testing.server import RunningServer, start_server

SCHEMA = {"RegistryName": "r", "SchemaName": "s"}
WRITERS = 64
EACH = 6
SHARED = 2  # of a writer's definitions, those that every writer has


@pytest.fixture
def servers(postgres: PostgresServer, tmp_path: Path) -> Iterator[list[RunningServer]]:
    """Two servers that start at once on a database without tables."""
    environment = {"PENSTOCK_STORE_URL": postgres.new_database()}
    started: list[RunningServer] = []
    wrong: list[BaseException] = []

    def start(name: str) -> None:
        try:
            server = start_server(
                tmp_path / name,
                arguments=("--master-key-file", str(tmp_path / "master.key")),
                environment=environment,
                access_key_id="AKIATWOSERVERS000",
                secret_access_key="one-secret-for-both",
            )
        except BaseException as error:  # noqa: BLE001 -- raised below
            wrong.append(error)
        else:
            started.append(server)

    threads = [threading.Thread(target=start, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        if wrong:
            raise wrong[0]
        yield started
    finally:
        for server in started:
            server.stop(signal.SIGTERM)


def definition(name: str) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": name, "type": "int"}]})


def test_no_version_is_lost_or_doubled_when_a_server_is_killed(servers: list[RunningServer]) -> None:
    config = Config(max_pool_connections=WRITERS, retries={"total_max_attempts": 1}, read_timeout=60)
    clients = [server.client("glue", config=config) for server in servers]
    clients[0].create_registry(RegistryName="r")
    clients[0].create_schema(
        RegistryId={"RegistryName": "r"}, SchemaName="s", DataFormat="AVRO", Compatibility="NONE",
        SchemaDefinition=definition("first"),
    )  # fmt: skip
    answers: dict[str, set[tuple[str, int, str]]] = {}
    wrong: list[BaseException] = []
    lock, half, barrier = threading.Lock(), threading.Event(), threading.Barrier(WRITERS + 1)

    def write(writer: int) -> None:
        barrier.wait()
        try:
            for step in range(EACH):
                name = f"shared_{step}" if step < SHARED else f"own_{writer}_{step}"
                answer = register(writer % 2, name)
                with lock:
                    answers.setdefault(name, set()).add(answer)
                    if len(answers) >= WRITERS * (EACH - SHARED) // 3:
                        half.set()
        except BaseException as error:  # noqa: BLE001 -- the assertion below shows it
            wrong.append(error)
            half.set()

    def register(server: int, name: str) -> tuple[str, int, str]:
        request: Any = {"SchemaId": SCHEMA, "SchemaDefinition": definition(name)}
        try:
            answer = clients[server].register_schema_version(**request)
        except (BotoCoreError, ClientError):
            if server == 0:
                raise
            # The killed one: nobody knows whether it wrote. The other one answers, as a load balancer's retry would find.
            answer = clients[0].register_schema_version(**request)
        return answer["SchemaVersionId"], answer["VersionNumber"], answer["Status"]

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    barrier.wait()
    assert half.wait(120)
    servers[1].process.kill()
    for thread in threads:
        thread.join()
    assert wrong == []
    count = 1 + SHARED + WRITERS * (EACH - SHARED)
    assert len(answers) == count - 1
    assert all(len(found) == 1 for found in answers.values()), "one definition got two versions"
    listed = [
        (version["SchemaVersionId"], version["VersionNumber"], version["Status"])
        for page in clients[0].get_paginator("list_schema_versions").paginate(SchemaId=SCHEMA)
        for version in page["Schemas"]
    ]
    assert sorted(number for _, number, _ in listed) == list(range(1, count + 1))
    assert {item for found in answers.values() for item in found} < set(listed)
    assert {status for _, _, status in listed} == {"AVAILABLE"}
    assert servers[0].client("glue").get_schema(SchemaId=SCHEMA)["LatestSchemaVersion"] == count


def test_what_one_server_deletes_is_gone_from_the_other_at_once(servers: list[RunningServer]) -> None:
    one, two = (server.client("glue") for server in servers)
    one.create_registry(RegistryName="r")
    one.create_schema(
        RegistryId={"RegistryName": "r"}, SchemaName="s", DataFormat="AVRO", Compatibility="NONE",
        SchemaDefinition=definition("first"),
    )  # fmt: skip
    made = one.register_schema_version(SchemaId=SCHEMA, SchemaDefinition=definition("second"))
    assert two.get_schema_version(SchemaVersionId=made["SchemaVersionId"])["VersionNumber"] == 2
    one.delete_schema_versions(SchemaId=SCHEMA, Versions="2")
    with pytest.raises(ClientError, match=r"Schema version is not found\."):
        two.get_schema_version(SchemaVersionId=made["SchemaVersionId"])


def test_a_store_that_cannot_be_used_is_named_without_its_password(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.url("missing")
    with pytest.raises(EnvironmentProblem) as problem:
        start_server(tmp_path, environment={"PENSTOCK_STORE_URL": url})
    assert "missing" in str(problem.value)
    assert "--store-url" in str(problem.value)
    assert "Traceback" not in str(problem.value)
    assert str(make_url(url).password) not in str(problem.value)


def test_a_text_that_postgresql_cannot_keep_is_the_callers_fault(postgres_database: Database) -> None:
    service = RegistryService(SqlRegistryStore(postgres_database))
    with pytest.raises(InvalidInput, match="NUL"):
        service.registries.create("r", tags={"a": "x\0y"})
    service.registries.create("r")
    with pytest.raises(InvalidInput, match="NUL"):
        service.schemas.create(NewSchema(registry="r", name="s", data_format="AVRO", description="\0"))
    with pytest.raises(InvalidInput, match="NUL"):
        service.schemas.get(SchemaKey("r", "\0"))
    assert service.schemas.subjects("r", live=True, deleted=True) == []
