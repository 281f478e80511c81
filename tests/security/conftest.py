"""Targets of the attacks: the embedded platform, and two servers over one PostgreSQL, each started once a session."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from penstock.local.platform import Platform
from penstock.local.processes.ports import free_ports
from penstock.settings.home import Home, PlatformConfig
from penstock.testing.postgres import running_postgres
from penstock.testing.server import RunningServer, start_server
from penstock.testing.web_tokens import TokenIssuer
from tests.security.lake_requests import client_of
from tests.security.targets import Target


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """The embedded platform as ``penstock up`` starts it: ``.config`` has ports and keys, ``.home`` the folders."""
    server, s3, kafka, controller = free_ports(4)
    config = PlatformConfig.generate(server_port=server, s3_port=s3, kafka_port=kafka, controller_port=controller)
    with Platform(Home(tmp_path_factory.mktemp("platform") / "home"), config) as running:
        yield running


@pytest.fixture(scope="session")
def issuer() -> TokenIssuer:
    """The issuer of web identity tokens whose keys :func:`servers` have."""
    return TokenIssuer("https://oidc.example.com/id/cluster")


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory, issuer: TokenIssuer) -> Iterator[list[RunningServer]]:
    """Two servers on one PostgreSQL, with one master key, one root and the keys of one issuer."""
    folder = tmp_path_factory.mktemp("servers")
    keys = folder / "issuer.json"
    keys.write_text(json.dumps(issuer.key_set()))
    with running_postgres() as postgres:
        environment = {"PENSTOCK_STORE_URL": postgres.new_database()}

        def start(name: str) -> RunningServer:
            return start_server(
                folder / name,
                arguments=("--master-key-file", str(folder / "master.key"), "--oidc-keys", f"{issuer.url}={keys}"),
                environment=environment,
                access_key_id="AKIASECURITYTESTS",
                secret_access_key="one-secret-for-both",
            )

        with ThreadPoolExecutor() as pool:
            starting = [pool.submit(start, name) for name in ("one", "two")]
        started = [future.result() for future in starting if future.exception() is None]
        try:
            for future in starting:
                future.result()
            yield started
        finally:
            for server in started:
                server.stop()


@pytest.fixture(params=["embedded", "postgresql"])
def target(request: pytest.FixtureRequest) -> Target:
    """The deployment, each of the two in turn: for attacks on the APIs that both serve."""
    if request.param == "embedded":
        config = request.getfixturevalue("platform").config
        return Target(
            urls=(config.endpoint_url,),
            access_key_id=config.access_key_id,
            secret_access_key=config.secret_access_key,
            region=config.region,
            account=config.account,
        )
    servers = request.getfixturevalue("servers")
    return Target(
        urls=tuple(server.endpoint_url for server in servers),
        access_key_id=servers[0].access_key_id,
        secret_access_key=servers[0].secret_access_key,
        region=servers[0].region,
        account=servers[0].account,
    )


@pytest.fixture(scope="module")
def s3(platform: Platform) -> Iterator[Any]:
    client = client_of(platform)
    client.put_object(Bucket="lake", Key="secret.txt", Body=b"secret")
    yield client
    client.close()
