"""The embedded platform with TLS everywhere, by its own authority, as others' clients see it."""

import json
import os
import socket
import ssl
import stat
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography import x509

from penstock.local.platform import Platform
from penstock.local.processes.ports import free_ports
from penstock.local.tls.listeners import local_authority
from penstock.settings.home import Home, PlatformConfig
from penstock.testing.certificates import TestAuthority
from penstock.testing.clients import boto3_client
from penstock.testing.polling import eventually

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    server, s3, kafka, controller, mutual = free_ports(5)
    config = PlatformConfig.generate(
        server_port=server, s3_port=s3, kafka_port=kafka, controller_port=controller, tls=True, mtls_port=mutual
    )
    with Platform(Home(tmp_path_factory.mktemp("tls") / "home"), config) as running:
        yield running


def client(platform: Platform, service: str, **overrides: Any) -> Any:
    config = platform.config
    url = config.s3_endpoint_url if service == "s3" else config.endpoint_url
    keys = {"access_key_id": config.access_key_id, "secret_access_key": config.secret_access_key}
    return boto3_client(service, url, config.region, **{"verify": config.tls_authority, **keys, **overrides})


def login(platform: Platform) -> dict[str, Any]:
    """librdkafka's settings as a user would write them from what 'penstock env' sets."""
    return {
        "bootstrap.servers": platform.config.brokers,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": platform.config.kafka_username,
        "sasl.password": platform.config.kafka_password,
        "ssl.ca.location": platform.config.tls_authority,
    }


def as_client(platform: Platform, name: str) -> dict[str, Any]:
    """Settings of the listener with mutual TLS for a client that the home's authority knows."""
    certificate, key = local_authority(platform.home).issue_client(name)
    return {
        "bootstrap.servers": f"127.0.0.1:{platform.config.mtls_port}",
        "security.protocol": "SSL",
        "ssl.ca.location": platform.config.tls_authority,
        "ssl.certificate.location": str(certificate),
        "ssl.key.location": str(key),
    }


def produce(settings: dict[str, Any], topic: str, value: bytes) -> KafkaError | None:
    outcome: list[KafkaError | None] = []
    producer = Producer({**settings, "message.timeout.ms": 15_000, "log_level": 0})
    producer.produce(topic, value, on_delivery=lambda error, _: outcome.append(error))
    producer.flush(30)
    return outcome[0]


def consume(settings: dict[str, Any], topic: str) -> bytes | None:
    consumer = Consumer({**settings, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest", "log_level": 0})
    consumer.subscribe([topic])
    try:
        message = consumer.poll(30)
        assert message is not None
        if message.error():
            raise KafkaException(message.error())
        return message.value()
    finally:
        consumer.close()


def refused(settings: dict[str, Any]) -> bool:
    """Return whether the client reports that its first connection failed in the handshake or was closed by the broker."""
    errors: list[KafkaError] = []
    quiet: dict[str, Any] = {**settings, "log_level": 0, "error_cb": errors.append}
    admin = AdminClient(quiet)

    def heard() -> bool:
        admin.poll(0.1)
        return bool(errors)

    eventually(heard, "the connection fails", 30)
    admin.poll(0.5)
    return bool({error.code() for error in errors} & {KafkaError._SSL, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN})


def serial_at(port: int, authority: str) -> int:
    context = ssl.create_default_context(cafile=authority)
    with (
        socket.create_connection(("127.0.0.1", port), timeout=30) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        certificate = connection.getpeercert(binary_form=True)
    assert certificate is not None
    return x509.load_der_x509_certificate(certificate).serial_number


def test_boto3_trusts_the_homes_authority(platform: Platform) -> None:
    assert platform.config.endpoint_url.startswith("https://")
    assert client(platform, "glue").list_registries()["Registries"] == []
    client(platform, "s3").put_object(Bucket="lake", Key="over-tls", Body=b"data")
    assert client(platform, "s3").get_object(Bucket="lake", Key="over-tls")["Body"].read() == b"data"
    secret = client(platform, "secretsmanager").get_secret_value(SecretId=platform.config.secret_name)
    assert json.loads(secret["SecretString"])["username"] == platform.config.kafka_username


def test_kafkas_clients_log_in_over_tls(platform: Platform) -> None:
    assert produce(login(platform), "over-tls", b"one") is None
    assert consume(login(platform), "over-tls") == b"one"


def test_the_broker_has_no_listener_without_tls(platform: Platform) -> None:
    assert refused({**login(platform), "security.protocol": "SASL_PLAINTEXT"})


def test_a_kafka_client_that_does_not_trust_the_authority_is_not_served(platform: Platform, tmp_path: Path) -> None:
    assert refused({**login(platform), "ssl.ca.location": str(TestAuthority(tmp_path, "other").path)})


def test_a_client_certificate_is_an_identity_of_the_broker(platform: Platform) -> None:
    alice, bob = as_client(platform, "alice"), as_client(platform, "bob")
    assert produce(alice, "mutual", b"from alice") is None
    assert consume(bob, "mutual") == b"from alice"
    deny = AclBinding(
        ResourceType.TOPIC,
        "mutual",
        ResourcePatternType.LITERAL,
        "User:alice",
        "*",
        AclOperation.WRITE,
        AclPermissionType.DENY,
    )
    allow = AclBinding(
        ResourceType.TOPIC,
        "mutual",
        ResourcePatternType.LITERAL,
        "User:bob",
        "*",
        AclOperation.ALL,
        AclPermissionType.ALLOW,
    )
    admin = AdminClient({**login(platform), "log_level": 0})
    for done in admin.create_acls([deny, allow]).values():
        done.result()
    error = produce(alice, "mutual", b"no more")
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert produce(bob, "mutual", b"from bob") is None


# Certificates of any authority may have the names of the broker's super users.
@pytest.mark.parametrize("name", ["mallory", "controller", "penstock"])
def test_an_identity_of_the_broker_does_not_administer_it(platform: Platform, name: str) -> None:
    """A client that could change passwords or access control lists could become the platform's user, without any list."""
    mallory = AdminClient({**as_client(platform, name), "log_level": 0})
    password = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 8192)
    user = platform.config.kafka_username
    everything = AclBinding(
        ResourceType.TOPIC,
        "*",
        ResourcePatternType.LITERAL,
        "User:mallory",
        "*",
        AclOperation.ALL,
        AclPermissionType.ALLOW,
    )
    every_acl: Any = AclBindingFilter
    all_acls = every_acl(
        ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    setting = ConfigEntry("log.retention.ms", "1", incremental_operation=AlterConfigOpType.SET)
    whole_broker = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[setting])
    for asked in (
        mallory.alter_user_scram_credentials([UserScramCredentialUpsertion(user, password, b"mallorys")]),
        mallory.alter_user_scram_credentials([UserScramCredentialUpsertion("new", password, b"mallorys")]),
        mallory.create_acls([everything]),
        mallory.delete_acls([all_acls]),
        mallory.incremental_alter_configs([whole_broker]),
    ):
        for done in asked.values():
            with pytest.raises(KafkaException) as caught:
                done.result()
            assert caught.value.args[0].code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED
    assert produce(login(platform), "owners", b"still here") is None
    # That does not include the permissions of a producer.
    for done in mallory.create_topics([NewTopic(f"{name}s", 1, 1)]).values():
        done.result()
    assert produce({**as_client(platform, name), "enable.idempotence": True}, f"{name}s", b"mine") is None


def test_without_a_certificate_of_the_authority_the_mutual_listener_is_closed(platform: Platform, tmp_path: Path) -> None:
    settings = as_client(platform, "carol")
    nobody = {
        name: value for name, value in settings.items() if name not in {"ssl.certificate.location", "ssl.key.location"}
    }
    assert refused(nobody)
    certificate, key = TestAuthority(tmp_path, "other").issue("carol")
    assert refused(settings | {"ssl.certificate.location": str(certificate), "ssl.key.location": str(key)})
    # A listener's own certificate is not one of a client.
    tls = platform.home.tls
    own = {"ssl.certificate.location": str(tls / "server.crt"), "ssl.key.location": str(tls / "server.key")}
    assert refused(settings | own)


def test_only_the_owner_can_read_the_tls_folder(platform: Platform) -> None:
    local_authority(platform.home).issue_client("dora")
    paths = list(platform.home.tls.rglob("*"))
    assert {"authority.key", "server.key", "broker.pem", "dora.key"} <= {path.name for path in paths}
    for path in (platform.home.tls, *paths):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


PIPELINE = """
name: records
source:
  kafka:
    brokers: ${PENSTOCK_BROKERS}
    topic: records
    secret: ${PENSTOCK_SECRET_ID}
    truststore: ${PENSTOCK_CA_FILE}
decode: {registry: tls, schema: records}
sink:
  parquet:
    location: s3://lake/records
    catalog: {database: tls, table: records, create: true}
dead_letters: {location: s3://lake/dead}
checkpoint: s3://lake/checkpoint
"""


@pytest.mark.spark
def test_penstocks_own_commands_work_with_what_env_says(platform: Platform, tmp_path: Path) -> None:
    """From records in a file, over registry, broker, Spark and the catalog, to SQL, configured only by 'penstock env'."""
    printed = subprocess.run(
        [sys.executable, "-m", "penstock", "env", "--home", str(platform.home.root), "--format", "json"],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    environment = {**os.environ, **json.loads(printed.stdout)}

    def penstock(*arguments: str) -> str:
        command = [sys.executable, "-m", "penstock", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    schema = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}'
    (tmp_path / "records.jsonl").write_text('{"id": 1}\n{"id": 2}\n')
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    glue = client(platform, "glue")
    glue.create_registry(RegistryName="tls")
    glue.create_schema(
        RegistryId={"RegistryName": "tls"},
        SchemaName="records",
        DataFormat="AVRO",
        Compatibility="BACKWARD",
        SchemaDefinition=schema,
    )
    penstock(
        *("produce", "--registry-name", "tls", "--schema", "records", "--topic", "records"),
        *("--file", str(tmp_path / "records.jsonl")),
    )
    penstock("run", str(tmp_path / "pipeline.yaml"), "--once", "--master", "local[1]", "--driver-memory", "512m")
    assert "41" in penstock("sql", "SELECT 38 + sum(id) FROM tls.records")
    assert json.loads(penstock("status", "--home", str(platform.home.root), "--json"))["healthy"]


def test_server_and_broker_load_a_renewed_certificate_without_a_restart(platform: Platform) -> None:
    config, before = platform.config, {part.name: part.pid for part in platform.state.parts}
    ports = (config.server_port, config.s3_port, config.kafka_port)
    old = {serial_at(port, config.tls_authority) for port in ports}
    assert len(old) == 1
    # As one that has come to the last third of its time.
    (platform.home.tls / "server.crt").unlink()

    def renewed() -> bool:
        now = {serial_at(port, config.tls_authority) for port in ports}
        return len(now) == 1 and now != old

    eventually(renewed, "all listeners have the new certificate")
    assert {part.name: part.pid for part in platform.state.parts} == before
    assert consume(login(platform), "over-tls") == b"one"
    assert client(platform, "glue").list_registries()["Registries"] is not None


def test_a_name_that_is_not_a_principal_is_refused(platform: Platform) -> None:
    for name in ("", "../alice", "alice,O=x", "CN=alice", "a" * 65):
        done = subprocess.run(
            [sys.executable, "-m", "penstock", "certificate", "--home", str(platform.home.root), "--", name],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 2, name
        assert "is not a valid client name" in done.stderr
    assert not list(Path(platform.home.tls).rglob("alice,*"))
