"""A real Apache Kafka broker in one process: KRaft, SASL/SCRAM-SHA-512, one user, made at format time.

Sources: Kafka 4.3 configuration reference (broker and KRaft settings); ``kafka.tools.StorageTool`` for the format.
The controller's listener cannot use SCRAM, whose users are in the log that it serves. It has a password of its own
(SASL/PLAIN), on the loopback interface.
"""

import base64
import json
import os
import re
import secrets
import shutil
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.durable import PRIVATE_UMASK
from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.local.artefacts import class_path
from penstock.local.files import properties_text, write_private
from penstock.local.java import Java, find_java
from penstock.local.processes.child import Service, StandaloneService
from penstock.local.processes.ports import answers
from penstock.local.processes.probes import answers_kafka
from penstock.local.tls.listeners import PlatformTls, unverified
from penstock.settings.addresses import is_loopback

__all__ = ["MECHANISM", "Broker", "client_settings"]

MECHANISM = "SCRAM-SHA-512"
_HEAP = "512m"
_FORMAT_TIMEOUT = 120  # seconds
_NODE = 1
# Characters that need no quoting in the JAAS line and in the format tool's syntax.
_CREDENTIAL = re.compile(r"[A-Za-z0-9._~+/=@-]{1,128}")
_JAAS_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_JAAS_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"

_LOG4J = """\
Configuration:
  status: error
  Appenders:
    Console:
      name: out
      PatternLayout:
        pattern: "%d{yyyy-MM-dd'T'HH:mm:ss.SSS} %-5p %c{1}: %m%n%throwable{10}"
  Loggers:
    Root:
      level: warn
      AppenderRef:
        - ref: out
    Logger:
      - name: kafka
        level: info
      - name: org.apache.kafka.server
        level: info
"""


def client_settings(
    bootstrap: str, username: str, password: str, *, tls: bool = False, authority: Path | None = None
) -> dict[str, Any]:
    """Return librdkafka's settings for the SASL/SCRAM listener; ``authority`` is the CA file if it has TLS."""
    return {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_SSL" if tls else "SASL_PLAINTEXT",
        **({"ssl.ca.location": str(authority)} if authority is not None else {}),
        "sasl.mechanism": MECHANISM,
        "sasl.username": username,
        "sasl.password": password,
    }


@dataclass(slots=True, kw_only=True)
class Broker(StandaloneService):
    """A broker with its state in ``folder``, which resumes with all data when it is started again.

    ``settings`` are added to the broker's properties, and override them. All listeners are on ``host``.
    """

    folder: Path
    port: int
    controller_port: int
    username: str = "penstock"
    password: str
    host: str = "127.0.0.1"
    auto_create_topics: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)
    tls: PlatformTls | None = None
    java: Java | None = None

    def __post_init__(self) -> None:
        for name, value in (("user name", self.username), ("password", self.password)):
            if not _CREDENTIAL.fullmatch(value):
                raise InvalidInput(
                    f"The broker's {name} has an unsupported character.",
                    remedy="Use up to 128 ASCII letters, digits and . _ ~ + / = @ -.",
                )

    @property
    def bootstrap(self) -> str:
        """Bootstrap servers of the client listener."""
        return self._at(self.port)

    @property
    def log(self) -> Path:
        """The broker's log."""
        return self.folder / "broker.log"

    @property
    def client_settings(self) -> dict[str, Any]:
        """Return librdkafka's settings to reach this broker."""
        authority = None if self.tls is None else self.tls.authority
        return client_settings(self.bootstrap, self.username, self.password, tls=self.tls is not None, authority=authority)

    def _at(self, port: int) -> str:
        return f"[{self.host}]:{port}" if ":" in self.host else f"{self.host}:{port}"

    def service(self) -> Service:
        """Return the service by which a supervisor runs this broker."""
        return Service(
            name="kafka",
            title="Kafka broker",
            command=lambda: self._java_command("kafka.Kafka", str(self._properties_file), heap=_HEAP),
            prepare=self._prepare,
            is_ready=self.healthy,
            is_alive=lambda seconds: answers_kafka(
                self.host, self.port, seconds, tls=None if self.tls is None else unverified()
            ),
            start_timeout=120,
            stop_grace=30,
        )

    def healthy(self) -> bool:
        """Return whether a client can log in; :class:`EnvironmentProblem` if the broker refuses its own user."""
        if not answers(self.host, self.port):
            return False
        try:
            from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415 - an extra; without it the port decides
            from confluent_kafka.admin import AdminClient  # noqa: PLC0415
        except ModuleNotFoundError:
            return True
        refused: list[str] = []

        def on_error(error: KafkaError) -> None:
            if error.code() == KafkaError._AUTHENTICATION:
                refused.append(error.str())

        settings: dict[str, Any] = {**self.client_settings, "error_cb": on_error, "log_level": 0}
        client = AdminClient(settings)
        try:
            return bool(client.list_topics(timeout=5).brokers)
        except KafkaException:
            client.poll(0)
            if refused:
                raise EnvironmentProblem(
                    f"The broker on {self.bootstrap} refuses the user '{self.username}': its data were created with another "
                    "password, or the port belongs to another broker.",
                    remedy=f"Restore the platform.json of {self.folder}, or remove that folder and its data.",
                ) from None
            return False

    def renew_certificate(self) -> None:
        """Let the running broker reload its certificate; open connections stay.

        Raises :class:`EnvironmentProblem` if it does not, or if Kafka's client is not installed.
        """
        assert self.tls is not None
        try:
            from confluent_kafka import KafkaException  # noqa: PLC0415 - an extra
            from confluent_kafka.admin import (  # noqa: PLC0415
                AdminClient,
                AlterConfigOpType,
                ConfigEntry,
                ConfigResource,
                ResourceType,
            )
        except ModuleNotFoundError as error:
            raise EnvironmentProblem(
                "Renewing the certificate of a running broker needs Kafka's client.",
                remedy="Restart the platform, or install it with: pip install 'penstock[kafka]'",
            ) from error
        client = AdminClient({**self.client_settings, "log_level": 0})
        # Setting the path that it has makes a broker reload a changed file (KIP-226, KAFKA-14136). Without the second step
        # its metadata would keep the path, and override that of a home that was moved.
        for step in (AlterConfigOpType.SET, AlterConfigOpType.DELETE):
            entries = [
                ConfigEntry(
                    f"listener.name.{name}.ssl.keystore.location", str(self.tls.keystore), incremental_operation=step
                )
                for name in self._tls_listeners()
            ]
            resource = ConfigResource(ResourceType.BROKER, str(_NODE), incremental_configs=entries)
            try:
                for future in client.incremental_alter_configs([resource], request_timeout=20).values():
                    future.result()
            except KafkaException as error:
                raise EnvironmentProblem(
                    f"The broker refused its renewed certificate: {error.args[0].str()}.",
                    remedy="The former one stays in use; restart the platform before it expires.",
                ) from error

    @property
    def _properties_file(self) -> Path:
        return self.folder / "server.properties"

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _prepare(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self.folder / "log4j2.yaml", _LOG4J)
        write_private(self._properties_file, self._properties())
        self._format()

    def _format(self) -> None:
        """Create the storage and its user, once. The marker is written last, so that an interrupted format is repeated."""
        marker = self.folder / "formatted.json"
        if marker.exists():
            return
        if self._data.exists():
            shutil.rmtree(self._data)
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # The tool reads arguments from a file, one a line: ps would show a password among the arguments.
        arguments = self.folder / "format.arguments"
        scram = f"{MECHANISM}=[name={self.username},password={self.password}]"
        lines = [
            "format",
            # One word: otherwise an id that begins with a dash is taken for an option.
            f"--cluster-id={cluster}",
            "--standalone",
            "--config",
            str(self._properties_file),
            "--add-scram",
            scram,
        ]
        write_private(arguments, "\n".join(lines) + "\n")
        try:
            command = self._java_command("kafka.tools.StorageTool", f"@{arguments}", heap="128m")
            result = subprocess.run(
                command,
                capture_output=True,
                timeout=_FORMAT_TIMEOUT,
                check=False,
                stdin=subprocess.DEVNULL,
                umask=PRIVATE_UMASK,
            )
        except subprocess.TimeoutExpired:
            raise EnvironmentProblem(f"Formatting {self._data} took more than {_FORMAT_TIMEOUT} s.") from None
        finally:
            arguments.unlink()
        if result.returncode != 0:
            output = (result.stdout + result.stderr).decode(errors="replace").strip().replace(self.password, "***")
            raise EnvironmentProblem(f"Kafka's storage in {self._data} could not be formatted: {output[-1000:]}")
        write_private(marker, json.dumps({"cluster": cluster, "username": self.username}) + "\n")

    def _java_command(self, main: str, *arguments: str, heap: str) -> list[str]:
        java = self.java or find_java(os.environ)
        return [
            str(java.executable),
            f"-Xmx{heap}",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1" if main != "kafka.Kafka" else "-XX:+ExitOnOutOfMemoryError",
            "-Djava.awt.headless=true",
            f"-Dlog4j2.configurationFile={self.folder / 'log4j2.yaml'}",
            "-cp",
            os.pathsep.join(str(path) for path in class_path("kafka")),
            main,
            *arguments,
        ]

    def _properties(self) -> str:
        controller_password = secrets.token_urlsafe(24)
        listeners = f"CLIENT://{self.bootstrap}"
        if self._mutual_port is not None:
            listeners += f",MUTUAL://{self._at(self._mutual_port)}"
        properties = {
            "process.roles": "broker,controller",
            "node.id": str(_NODE),
            "listeners": f"{listeners},CONTROLLER://{self._controller}",
            "advertised.listeners": listeners,
            "listener.security.protocol.map": (
                f"CLIENT:{'SASL_SSL' if self.tls else 'SASL_PLAINTEXT'},MUTUAL:SSL,CONTROLLER:SASL_PLAINTEXT"
            ),
            "inter.broker.listener.name": "CLIENT",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": self._controller,
            "sasl.enabled.mechanisms": MECHANISM,
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.client.scram-sha-512.sasl.jaas.config": (
                f'{_JAAS_SCRAM} required username="{self.username}" password="{self.password}";'
            ),
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.controller.plain.sasl.jaas.config": (
                f'{_JAAS_PLAIN} required username="controller" password="{controller_password}" '
                f'user_controller="{controller_password}";'
            ),
            "log.dirs": str(self._data),
            "auto.create.topics.enable": str(self.auto_create_topics).lower(),
            "num.partitions": "1",
            "default.replication.factor": "1",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "4",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "num.network.threads": "2",
            "num.io.threads": "4",
            "num.recovery.threads.per.data.dir": "2",
            # The controller refuses a killed broker's successor until the old session has expired: 9 s by default.
            "broker.session.timeout.ms": "5000",
            "broker.heartbeat.interval.ms": "1000",
            **self._tls_properties(),
            **self.settings,
        }
        return properties_text(properties)

    @property
    def _controller(self) -> str:
        # Only the broker itself connects to it.
        host = self.host if is_loopback(self.host) else "127.0.0.1"
        return f"[{host}]:{self.controller_port}" if ":" in host else f"{host}:{self.controller_port}"

    @property
    def _mutual_port(self) -> int | None:
        return None if self.tls is None else self.tls.mutual_port

    def _tls_listeners(self) -> list[str]:
        return ["client", *(["mutual"] if self._mutual_port is not None else [])]

    def _tls_properties(self) -> dict[str, str]:
        """Kafka's documentation, "Encryption and authentication using SSL", and KIP-651 for PEM."""
        if self.tls is None:
            return {}
        properties = {}
        for name in self._tls_listeners():
            properties[f"listener.name.{name}.ssl.keystore.type"] = "PEM"
            properties[f"listener.name.{name}.ssl.keystore.location"] = str(self.tls.keystore)
        if self.tls.authority is not None:
            # The broker is a client of its own listener.
            properties["listener.name.client.ssl.truststore.type"] = "PEM"
            properties["listener.name.client.ssl.truststore.location"] = str(self.tls.authority)
        if self._mutual_port is None:
            return properties
        supers = "|".join(re.sub(r"[^A-Za-z0-9_@-]", "[.]", user) for user in (self.username, "controller"))
        return properties | {
            "listener.name.mutual.ssl.truststore.type": "PEM",
            "listener.name.mutual.ssl.truststore.location": str(self.tls.client_authority),
            "listener.name.mutual.ssl.client.auth": "required",
            # The principal is a certificate's common name, or the whole subject without one. A certificate with the name of
            # a super user is another one's, whichever authority issued it.
            "listener.name.mutual.ssl.principal.mapping.rules": f"RULE:^CN=({supers})(,.*)?$/certificate-$1/,"
            "RULE:^CN=([A-Za-z0-9._@-]+)(,.*)?$/$1/,DEFAULT",
            # Access control lists tell the identities apart. Resources without a list are open to all; the cluster has one
            # (broker_access.guard_cluster).
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{self.username};User:controller",
            "allow.everyone.if.no.acl.found": "true",
        }
