"""A server with its S3 endpoint over one home, and pyiceberg's REST catalogs on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.catalog.rest import RestCatalog

from penstock.local.objectstore import ObjectStore
from penstock.local.processes.ports import free_ports
from penstock.testing.server import RunningServer, start_server

__all__ = ["KEY", "SECRET", "World", "open_world"]

KEY, SECRET = "AKIATESTTESTTESTTEST", "iceberg-rest-tests-secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The two processes, whose users and keys are the same."""

    server: RunningServer
    store: ObjectStore

    @property
    def uri(self) -> str:
        """The catalog's address."""
        return f"{self.server.endpoint_url}/iceberg"

    def signed(self, key: str = KEY, secret: str = SECRET, **more: str) -> RestCatalog:
        """Return a catalog whose requests are signed, as for Glue's own endpoint."""
        return RestCatalog(
            "signed",
            **{
                "uri": self.uri,
                "rest.sigv4-enabled": "true",
                "rest.signing-name": "glue",
                "rest.signing-region": self.server.region,
                "client.access-key-id": key,
                "client.secret-access-key": secret,
                "client.region": self.server.region,
                **more,
            },
        )

    def bearer(self, key: str = KEY, secret: str = SECRET, **more: str) -> RestCatalog:
        """Return a catalog that sends bearer tokens, which it gets for an access key."""
        credential = {"credential": f"{key}:{secret}", "oauth2-server-uri": f"{self.uri}/v1/oauth/tokens"}
        return RestCatalog("bearer", **{"uri": self.uri, **credential, **more})


@contextmanager
def open_world(home: Path) -> Iterator[World]:
    """Run both processes over ``home`` during the block."""
    store = ObjectStore(
        lake=home / "lake",
        folder=home / "run",
        port=free_ports(1)[0],
        access_key_id=KEY,
        secret_access_key=SECRET,
        home=home,
    )
    with store:
        arguments = ["--s3-endpoint-url", store.endpoint_url]
        server = start_server(home, arguments=arguments, access_key_id=KEY, secret_access_key=SECRET)
        try:
            yield World(server=server, store=store)
        finally:
            server.stop()
