"""The services of a pipeline under faults, each started for itself: broker, server, S3, PostgreSQL, DynamoDB, Kinesis."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from penstock.local.broker import Broker
from penstock.local.objectstore import ObjectStore
from penstock.local.processes.ports import free_ports
from penstock.testing.dynamodb import DynamoDBLocal, running_dynamodb
from penstock.testing.kinesis import KinesisStandIn, running_kinesis
from penstock.testing.postgres import PostgresServer, running_postgres
from penstock.testing.server import RunningServer, running_server
from tests.chaos.targets import (
    DeltaTarget,
    DynamoDbTarget,
    IcebergTarget,
    JdbcTarget,
    KafkaTarget,
    KinesisTarget,
    ParquetTarget,
    Target,
)
from tests.chaos.world import World
from tests.integration.spark.stream import Topic

__all__ = ["ChaosSite", "chaos_site"]


@dataclass
class ChaosSite:
    """The running services; :meth:`world` is one pipeline over them."""

    folder: Path
    server: RunningServer
    broker: Broker
    objects: ObjectStore
    postgres: PostgresServer
    dynamodb: DynamoDBLocal
    kinesis: KinesisStandIn
    services: dict[str, int] = field(default_factory=dict)

    @property
    def makers(self) -> Mapping[str, Callable[[], Target]]:
        """Return how each kind of sink is made, new and empty."""
        lake, environment = self.server.lake, self.server.environment()
        return {
            "parquet": lambda: ParquetTarget(lake),
            "iceberg": lambda: IcebergTarget(environment, self.objects.endpoint_url),
            "delta": lambda: DeltaTarget(lake),
            "jdbc": lambda: JdbcTarget(self.postgres.new_database()),
            "dynamodb": lambda: DynamoDbTarget(self.dynamodb, f"flights-{uuid4().hex[:8]}"),
            "kafka": lambda: KafkaTarget(Topic(self.broker)),
            "kinesis": lambda: KinesisTarget(self.kinesis, f"flights-{uuid4().hex[:8]}"),
        }

    def all_targets(self) -> list[Target]:
        """Return a sink of each kind."""
        return [make() for make in self.makers.values()]

    def world(self, targets: Sequence[Target], *, count: int, per_batch: int) -> World:
        """Return a pipeline over ``count`` records. There is one for a site: the bucket is its own."""
        environment = self.dynamodb.environment() | self.kinesis.environment()
        return World(
            server=self.server,
            topic=Topic(self.broker),
            targets=targets,
            folder=self.folder,
            count=count,
            per_batch=per_batch,
            services=self.services,
            environment=environment,
        )


@contextmanager
def chaos_site(folder: Path) -> Iterator[ChaosSite]:
    """Run all services below ``folder`` for the block."""
    with ExitStack() as stack:
        server = stack.enter_context(running_server(folder / "server"))
        port, controller = free_ports(2)
        broker = stack.enter_context(
            Broker(folder=folder / "broker", port=port, controller_port=controller, password="integration-tests")
        )
        store = ObjectStore(
            lake=server.lake,
            folder=folder / "objects",
            port=free_ports(1)[0],
            access_key_id=server.access_key_id,
            secret_access_key=server.secret_access_key,
            account=server.account,
        )
        site = ChaosSite(
            folder=folder,
            server=server,
            broker=broker,
            objects=stack.enter_context(store),
            postgres=stack.enter_context(running_postgres()),
            dynamodb=stack.enter_context(running_dynamodb()),
            kinesis=stack.enter_context(running_kinesis()),
        )
        urls = {
            "registry": server.endpoint_url,
            "dynamodb": site.dynamodb.endpoint_url,
            "kinesis": site.kinesis.endpoint_url,
        }
        site.services |= {name: urlsplit(url).port or 0 for name, url in urls.items()}
        site.services |= {"broker": port, "database": urlsplit(site.postgres.url("postgres")).port or 0}
        yield site


def _endpoints(*services: DynamoDBLocal | KinesisStandIn) -> dict[str, str]:
    return {service.service: service.endpoint_url for service in services}
