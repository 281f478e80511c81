"""Kafka topics on real brokers: lists, patterns, partitions, starts, headers, and each way to log in that one can test."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from joserfc import jwt
from joserfc.jwk import RSAKey
from pyspark.sql import DataFrame, SparkSession

from penstock.local.broker import Broker
from penstock.local.processes.ports import free_ports
from penstock.pipelines import KafkaSource
from penstock.spark.sources.kafka import KafkaStream
from penstock.testing.certificates import TestAuthority

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def read(spark: SparkSession, source: KafkaSource, folder: Path) -> list[Any]:
    """Return all records that the source has now."""
    results: list[Any] = []

    def collect(frame: DataFrame, number: int) -> None:
        results.extend(frame.collect())

    stream = KafkaStream(source, lambda _: ("", ""))
    stream.check()
    records = stream.read(spark, starting=None).writeStream.foreachBatch(collect)
    query = records.option("checkpointLocation", str(folder / uuid4().hex)).trigger(availableNow=True).start()
    query.awaitTermination()
    return results


@dataclass
class Topics:
    """Two topics of two partitions with records of known times (milliseconds), and how to log in."""

    first: str
    second: str
    login: dict[str, Any]

    def values(self, spark: SparkSession, folder: Path, **settings: Any) -> list[str]:
        return sorted(bytes(row.value).decode() for row in read(spark, KafkaSource(**self.login, **settings), folder))


@pytest.fixture(scope="module")
def topics(broker: Broker) -> Topics:
    base = f"source-{uuid4().hex[:6]}"
    names = [f"{base}-a", f"{base}-b"]
    admin = AdminClient(broker.client_settings)
    for done in admin.create_topics([NewTopic(name, 2, 1) for name in names]).values():
        done.result(30)
    producer = Producer({**broker.client_settings, "log_level": 0})
    for number, name in enumerate(names):
        for at in (1000, 2000, 3000):
            for partition in (0, 1):
                producer.produce(
                    name, f"{'ab'[number]}{partition}-{at}", key=b"k", partition=partition, timestamp=at,
                    headers=[("trace", b"t1"), ("none", None)],
                )  # fmt: skip
    assert producer.flush(30) == 0
    login = {
        "brokers": broker.bootstrap, "security_protocol": "SASL_PLAINTEXT", "username": broker.username,
        "password": broker.password,
    }  # fmt: skip
    return Topics(names[0], names[1], login)


def test_lists_patterns_and_partitions(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    everything = [f"{topic}{partition}-{at}" for topic in "ab" for partition in (0, 1) for at in (1000, 2000, 3000)]
    assert topics.values(spark, tmp_path, topics=(topics.first, topics.second)) == everything
    assert topics.values(spark, tmp_path, topic_pattern=topics.first[:-1] + "[ab]") == everything
    assert topics.values(spark, tmp_path, assign={topics.second: (1,)}) == ["b1-1000", "b1-2000", "b1-3000"]


def test_starts_by_offset_and_by_time(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    one = {"topics": (topics.first,)}
    offsets = json.dumps({topics.first: {"0": 2, "1": -2}})
    assert topics.values(spark, tmp_path, **one, starting_offsets=offsets) == ["a0-3000", "a1-1000", "a1-2000", "a1-3000"]
    assert topics.values(spark, tmp_path, **one, starting_timestamp=2001) == ["a0-3000", "a1-3000"]
    # No record of partition 1 is so late: it begins at its end.
    times = {topics.first: {0: 3000, 1: 3001}}
    assert topics.values(spark, tmp_path, **one, starting_offsets_by_timestamp=times) == ["a0-3000"]


def test_keys_and_headers_are_kept(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    source = KafkaSource(**topics.login, topics=(topics.first,), include_headers=True, starting_timestamp=3000)
    row = read(spark, source, tmp_path)[0]
    assert bytes(row.key) == b"k"
    assert [(header.key, header.value and bytes(header.value)) for header in row.headers] == [
        ("trace", b"t1"),
        ("none", None),
    ]
    assert row.timestamp.timestamp() == 3.0


class TokenServer:
    """An OAuth token endpoint for client credentials, and its keys. It counts the tokens that it gave."""

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "test", "use": "sig", "alg": "RS256"})
        self.given = 0
        self.asked: list[str] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer({"keys": [owner.key.as_dict(private=False)]})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                owner.asked.append(f"{self.headers['Authorization']} {body}")
                self._answer({"access_token": owner.token(), "token_type": "Bearer", "expires_in": 600})

            def _answer(self, document: Any) -> None:
                data = json.dumps(document).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def token(self) -> str:
        self.given += 1
        now = int(time.time())
        claims = {"sub": "client", "aud": "kafka", "scope": "read", "iat": now, "exp": now + 600}
        return jwt.encode({"alg": "RS256", "kid": "test"}, claims, self.key)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "TokenServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@dataclass
class Logins:
    """A broker with a listener for each way to log in, an authority, and a token server."""

    ports: dict[str, int]
    authority: TestAuthority
    tokens: TokenServer
    folder: Path


_OAUTH = "org.apache.kafka.common.security.oauthbearer"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.fixture(scope="module")
def logins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logins]:
    folder = tmp_path_factory.mktemp("logins")
    authority = TestAuthority(folder, "logins")
    names = ("CLIENT", "OPEN", "MUTUAL", "OAUTH", "PLAIN")
    ports = dict(zip((*names, "CONTROLLER"), free_ports(len(names) + 1), strict=True))
    listeners = [f"{name}://127.0.0.1:{port}" for name, port in ports.items()]
    with pytest.MonkeyPatch.context() as patch, TokenServer() as tokens:
        # Kafka 4 reads keys from addresses that are allowed only.
        patch.setenv("JAVA_TOOL_OPTIONS", f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={tokens.url}/keys")
        broker = Broker(
            folder=folder / "kafka",
            port=ports["CLIENT"],
            controller_port=ports["CONTROLLER"],
            password="logins",
            settings={
                "listeners": ",".join(listeners),
                "advertised.listeners": ",".join(listeners[:-1]),
                "listener.security.protocol.map": (
                    "CLIENT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT,OPEN:PLAINTEXT,MUTUAL:SSL,OAUTH:SASL_PLAINTEXT,PLAIN:SASL_SSL"
                ),
                **{
                    f"listener.name.{name}.ssl.keystore.{setting}": value
                    for name in ("mutual", "plain")
                    for setting, value in (("type", "PEM"), ("location", str(authority.server())))
                },
                "listener.name.mutual.ssl.client.auth": "required",
                "listener.name.mutual.ssl.truststore.type": "PEM",
                "listener.name.mutual.ssl.truststore.location": str(authority.path),
                "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
                "listener.name.oauth.oauthbearer.sasl.jaas.config": f"{_OAUTH}.OAuthBearerLoginModule required;",
                "listener.name.oauth.oauthbearer.sasl.server.callback.handler.class": (
                    f"{_OAUTH}.OAuthBearerValidatorCallbackHandler"
                ),
                "listener.name.oauth.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": f"{tokens.url}/keys",
                "listener.name.oauth.oauthbearer.sasl.oauthbearer.expected.audience": "kafka",
                "listener.name.plain.sasl.enabled.mechanisms": "PLAIN",
                "listener.name.plain.plain.sasl.jaas.config": f'{_PLAIN} required user_reader="plain-password";',
            },
        )
        with broker:
            producer = Producer({**broker.client_settings, "log_level": 0})
            producer.produce("greetings", b"hello")
            assert producer.flush(30) == 0
            yield Logins(ports, authority, tokens, folder)


def test_each_login(spark: SparkSession, logins: Logins, tmp_path: Path) -> None:
    certificate, key = logins.authority.issue("client", common_name="reader")
    both = tmp_path / "client.pem"
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    trusted = str(logins.authority.path)
    ways: dict[str, dict[str, Any]] = {
        "OPEN": {"security_protocol": "PLAINTEXT"},
        "MUTUAL": {"security_protocol": "SSL", "truststore": trusted, "keystore": str(both)},
        "PLAIN": {
            "security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "username": "reader",
            "password": "plain-password", "truststore": trusted,
        },
        "OAUTH": {
            "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER", "username": "client",
            "password": "client-secret", "token_endpoint": f"{logins.tokens.url}/token", "scope": "read",
        },
    }  # fmt: skip
    for listener, settings in ways.items():
        source = KafkaSource(brokers=f"127.0.0.1:{logins.ports[listener]}", topics=("greetings",), **settings)
        assert [bytes(row.value) for row in read(spark, source, tmp_path)] == [b"hello"], listener
    assert logins.tokens.given >= 1
    # The client's id and secret by HTTP's basic authentication, RFC 6749, 4.4.
    assert {name.partition(" ")[0] for name in logins.tokens.asked} == {"Basic"}
    assert "grant_type=client_credentials&scope=read" in logins.tokens.asked[0]
