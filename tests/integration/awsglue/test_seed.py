"""The programs of the published example run as printed: in ``seed/``, with endpoints, names and ids filled in.

Endpoints of AWS's services come from the environment, as for any program. The two consumers never end by themselves: each
is ended, by its own id, after its expected output.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ParamValidationError
from confluent_kafka import Producer

from awsglue.schema_registry.confluent_kafka_serde import AvroSerDe
from awsglue.schema_registry.glue_schema_registry_client import GlueSchemaRegistryClient
from penstock.local.broker import Broker
from penstock.testing.kinesis import KinesisStandIn
from penstock.testing.server import RunningServer, running_server

pytestmark = pytest.mark.jvm

SEED = Path(__file__).parent / "seed"
ORDER = {"order_id": "12345", "customer_id": "cust-789", "amount": 99.99, "timestamp": 1672531200}
SECONDS = 240


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Start a separate server: the example's names are fixed, and are in the default registry."""
    with running_server(tmp_path_factory.mktemp("seed") / "home") as running:
        yield running


@pytest.fixture(scope="module")
def environment(server: RunningServer, kinesis: KinesisStandIn) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return inherited | server.environment() | kinesis.environment() | {"PYTHONUNBUFFERED": "1"}


@pytest.fixture(scope="module")
def version_id(environment: dict[str, str]) -> str:
    """Return the version id that the example's first program prints."""
    said = run(program("schema"), environment)
    return said.strip().rpartition(" ")[2]


def program(name: str, filled: Mapping[str, str] | None = None) -> str:
    text = (SEED / f"{name}.txt").read_text()
    for placeholder, value in (filled or {}).items():
        assert placeholder in text
        text = text.replace(placeholder, value)
    return text


def cluster(broker: Broker, version_id: str) -> dict[str, str]:
    """Return the broker's address with the credentials, which the example's cluster does not need."""
    settings = "', '".join(f"{name}': '{value}" for name, value in broker.client_settings.items())
    return {
        "'bootstrap.servers': 'your-msk-cluster.kafka.amazonaws.com:9092'": f"'{settings}'",
        "<schema-version-id>": version_id,
    }


def run(text: str, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextlib.contextmanager
def running(text: str, environment: Mapping[str, str]) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", text], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    timer = threading.Timer(SECONDS, process.kill)
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def lines(process: "subprocess.Popen[str]", count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().rstrip("\n") for _ in range(count)]


def test_kafka_as_printed(broker: Broker, environment: dict[str, str], version_id: str) -> None:
    filled = cluster(broker, version_id)
    assert run(program("producer", filled), environment) == "Sent: orders\n"
    damaged = Producer(broker.client_settings)
    damaged.produce("orders", b"\x03\x00" + b"\xff" * 20)
    damaged.flush()
    with running(program("consumer", filled), environment) as consumer:
        first, second = lines(consumer, 2)
    assert first == f"Received order: {ORDER}"
    assert second.startswith("Deserialization failed: Schema version ffffffff-ffff-ffff-ffff-ffffffffffff is unknown")


def test_kinesis_as_printed(environment: dict[str, str], kinesis: KinesisStandIn, version_id: str) -> None:
    first, second = kinesis.create_stream("orders", shards=2)
    run(program("kinesis_producer"), environment)
    (record,) = kinesis.records("orders")
    assert (json.loads(record["Data"]), record["PartitionKey"]) == (ORDER, "cust-789")
    wrong = {**ORDER, "amount": "much"}
    kinesis.client().put_record(StreamName="orders", Data=json.dumps(wrong).encode(), PartitionKey="cust-789")
    shard = first if shard_records(kinesis, first) else second
    # The example reads its second shard; the shard of the key's hash is an id to fill in.
    text = program("kinesis_consumer", {"shardId-000000000001": shard})
    with running(text, environment) as consumer:
        said = lines(consumer, 2)
    assert said == [f"Valid order event: {ORDER}", f"Invalid event, rejecting: {wrong}"]


def post(server: RunningServer, operation: str, members: Mapping[str, object]) -> bytes:
    """Send a signed request whose members no model has checked."""
    body = json.dumps(members).encode()
    request = AWSRequest(
        method="POST",
        url=server.endpoint_url,
        data=body,
        headers={"X-Amz-Target": f"AWSGlue.{operation}", "Content-Type": "application/x-amz-json-1.1"},
    )
    keys = Credentials(server.access_key_id, server.secret_access_key)
    SigV4Auth(keys, "glue", server.region).add_auth(request)
    plain = urllib.request.Request(server.endpoint_url, data=body, headers=dict(request.headers.items()))
    with urllib.request.urlopen(plain, timeout=SECONDS) as answer:
        return bytes(answer.read())


def shard_records(kinesis: KinesisStandIn, shard: str) -> list[object]:
    client = kinesis.client()
    iterator = client.get_shard_iterator(StreamName="orders", ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    records: list[object] = client.get_records(ShardIterator=iterator["ShardIterator"])["Records"]
    return records


def test_the_error_for_an_operation_that_aws_lacks_names_the_right_one(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, version_id: str
) -> None:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    arn = server.client("glue").get_schema(SchemaId={"SchemaName": "OrderEvent", "RegistryName": "default-registry"})
    text = program("evolution", {"arn:aws:glue:us-east-1:123456789012:schema/OrderEvent": arn["SchemaArn"]})
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    # Without the façade: botocore's own message.
    with pytest.raises(ParamValidationError, match='Unknown parameter in input: "SchemaDefinition"'):
        exec(text, {"glue": boto3.client("glue")})
    old = AvroSerDe(schema_id=version_id, region="us-east-1")
    with pytest.raises(ParamValidationError, match="register_schema_version"):
        exec(text, {"glue": boto3.client("glue")})
    facade = GlueSchemaRegistryClient(region_name="us-east-1")
    with pytest.raises(ParamValidationError, match="register_schema_version"):
        exec(text, {"glue": facade})
    # A client without checks gets the error from the server.
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(server, "UpdateSchema", {"SchemaId": {"SchemaArn": arn["SchemaArn"]}, "SchemaDefinition": "{}"})
    said = json.loads(caught.value.read())
    assert said["__type"] == "InvalidInputException"
    assert "register_schema_version" in said["Message"]
    # The error's remedy works, and the consumer of the old version still gets its own fields.
    definition: dict[str, str] = {}
    exec(text.partition("response =")[0], definition)
    made = facade.register_schema_version(
        SchemaId={"SchemaArn": arn["SchemaArn"]}, SchemaDefinition=definition["evolved_schema_definition"]
    )
    assert (made["VersionNumber"], made["Status"]) == (2, "AVAILABLE")
    new = AvroSerDe(schema_id=made["SchemaVersionId"], region="us-east-1")
    sent = {**ORDER, "shipping_address": "1 Main St"}
    assert old.deserialize(new.serialize(sent)) == ORDER
    assert new.deserialize(new.serialize(sent)) == sent
    assert new.deserialize(old.serialize(ORDER)) == {**ORDER, "shipping_address": None}
