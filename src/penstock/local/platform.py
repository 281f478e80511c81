"""The whole embedded platform: Kafka broker, S3 endpoint and Penstock server over one home folder."""

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.errors import EnvironmentProblem
from penstock.local.broker import Broker
from penstock.local.broker_access import guard_cluster
from penstock.local.instance import Instance, PartState, PlatformState, process_started
from penstock.local.java import Java, find_java
from penstock.local.objectstore import ObjectStore
from penstock.local.processes.child import Service
from penstock.local.processes.ports import PortClaim, check_ports
from penstock.local.processes.supervisor import LivenessPolicy, RestartPolicy, Supervisor
from penstock.local.server import ServerProcess
from penstock.local.tls.listeners import PlatformTls
from penstock.settings.addresses import check_plain
from penstock.settings.home import Home, PlatformConfig

__all__ = ["Part", "Platform", "home_at", "parts_of"]

_RENEW_PAUSE = 5.0  # seconds between two checks of certificates, the home's and given ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part: its address, the option that changes it, and its health check."""

    service: Service
    address: str
    ports: tuple[PortClaim, ...]


def parts_of(
    home: Home, config: PlatformConfig, *, workers: int = 1, signed: bool = True, java: Java | None = None
) -> tuple[Part, ...]:
    """Return the parts of the platform in ``home``. ``java`` runs them; without it each start finds one."""
    tls = PlatformTls.of(home, config)
    broker = _broker_of(home, config, java)
    store = ObjectStore(
        lake=home.lake,
        folder=home.run,
        host=config.host,
        port=config.s3_port,
        access_key_id=config.access_key_id,
        secret_access_key=config.secret_access_key,
        bucket=config.bucket,
        region=config.region,
        account=config.account,
        signed=signed,
        home=home.root,
        tls=tls,
        allowed_hosts=config.allowed_host_names,
        insecure_plain_http=config.insecure_plain_http,
        arguments=(*config.audit_arguments, *config.rate_arguments),
    )
    server = ServerProcess(home=home.root, config=config, workers=workers, signed=signed, tls=tls)
    mutual = PortClaim(port=config.mtls_port, part="Kafka broker's mutual TLS", option="--mtls-port")
    return (
        Part(
            service=server.service(),
            address=config.endpoint_url,
            ports=(PortClaim(port=config.server_port, part="Penstock server", option="--server-port"),),
        ),
        Part(
            service=store.service(),
            address=config.s3_endpoint_url,
            ports=(PortClaim(port=config.s3_port, part="S3 endpoint", option="--s3-port"),),
        ),
        Part(
            service=broker.service(),
            address=config.brokers,
            ports=(
                PortClaim(port=config.kafka_port, part="Kafka broker", option="--kafka-port"),
                PortClaim(port=config.controller_port, part="Kafka controller", option="--controller-port"),
                *([mutual] if tls is not None and tls.mutual_port is not None else []),
            ),
        ),
    )


def _broker_of(home: Home, config: PlatformConfig, java: Java | None = None) -> Broker:
    return Broker(
        folder=home.kafka,
        host=config.host,
        port=config.kafka_port,
        controller_port=config.controller_port,
        username=config.kafka_username,
        password=config.kafka_password,
        tls=PlatformTls.of(home, config),
        java=java,
    )


class Platform:
    """One platform, run by this process: ``start``, then ``watch`` or do something else, then ``stop``.

    As a context manager it watches in the background: parts that crash or hang are restarted while the body runs.
    ``failure`` describes a part that keeps crashing until it is ready again. ``report`` gets human-readable lines.
    """

    def __init__(
        self,
        home: Home,
        config: PlatformConfig,
        *,
        workers: int = 1,
        signed: bool = True,
        policy: RestartPolicy | None = None,
        liveness: LivenessPolicy | None = None,
        report: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self.home = home
        # The home's own authority, also after the home was moved.
        self.config = replace(config, tls_authority=str(home.tls / "authority.crt")) if _own_authority(config) else config
        self._workers = workers
        self._signed = signed
        self._policy = policy
        self._liveness = liveness
        self._report = report
        self._instance = Instance(home.run)
        self._parts: Sequence[Part] = ()
        self._supervisor: Supervisor | None = None
        self._watcher: threading.Thread | None = None
        self._tls: PlatformTls | None = None
        self._renewer: threading.Thread | None = None
        self._stopping = threading.Event()
        self._writing = threading.Lock()
        self._phase = "starting"
        self._started_at = time.time()

    def start(self) -> None:
        """Start all parts and return when they are ready and the broker's credentials are in Secrets Manager.

        Raises :class:`EnvironmentProblem` for a missing Java, a taken port, a platform that already runs here, or a part
        that does not start; nothing runs then. Returns early if :meth:`request_stop` is called meanwhile.
        """
        check_plain(self.config.host, tls=self.config.tls, insecure=self.config.insecure_plain_http)
        java = find_java(os.environ)
        self._parts = parts_of(self.home, self.config, workers=self._workers, signed=self._signed, java=java)
        self._instance.acquire()
        try:
            self._tls = PlatformTls.of(self.home, self.config)
            if self._tls is not None:
                self._tls.refresh()
            if leftovers := self._instance.wait_for_leftovers():
                self._report(f"Waited for {leftovers} parts of a platform that was killed here.")
            check_ports(self.config.host, [claim for part in self._parts for claim in part.ports])
            self.home.make_private()
            self.home.save(self.config)
            self._supervisor = Supervisor(
                [part.service for part in self._parts],
                self.home.logs,
                policy=self._policy,
                liveness=self._liveness,
                changed=self._write_state,
                report=self._report,
            )
            self._write_state()
            if self._stopping.is_set():
                return
            self._supervisor.start()
            if self._stopping.is_set():
                return
            self._store_credentials()
            if self.config.mtls_port:
                guard_cluster(_broker_of(self.home, self.config).client_settings)
            if self._tls is not None:
                self._renewer = threading.Thread(target=self._renew, args=(self._tls,), name="certificates", daemon=True)
                self._renewer.start()
            self._phase = "running"
            self._write_state()
        except BaseException:
            self.stop()
            raise

    def watch(self) -> None:
        """Watch the parts until :meth:`request_stop`."""
        if self._supervisor is not None and not self._stopping.is_set():
            self._supervisor.run()

    def request_stop(self) -> None:
        """Make :meth:`start` and :meth:`watch` return; safe in a signal handler."""
        self._stopping.set()
        if self._supervisor is not None:
            self._supervisor.request_stop()

    def stop(self) -> None:
        """Stop all parts and release the home. Does nothing if the platform does not run."""
        self.request_stop()
        self._phase = "stopping"
        if self._watcher is not None:
            self._watcher.join()
            self._watcher = None
        if self._supervisor is not None:
            self._supervisor.stop()
            self._supervisor = None
        if self._renewer is not None:
            self._renewer.join()
            self._renewer = None
        with self._writing:
            self._instance.release()

    @property
    def failure(self) -> EnvironmentProblem | None:
        """Return why a part counts as failed now; None if all run or are restarting."""
        return None if self._supervisor is None else self._supervisor.failure

    @property
    def state(self) -> PlatformState:
        """Return what runs now."""
        states = self._supervisor.states if self._supervisor is not None else []
        addresses = {part.service.name: part.address for part in self._parts}
        parts = tuple(
            PartState(
                name=state.name,
                title=state.title,
                address=addresses[state.name],
                ready=state.ready,
                pid=state.pid,
                leash_started=process_started(state.pid),
                restarts=state.restarts,
                start_seconds=state.start_seconds,
                problem=state.problem,
            )
            for state in states
        )
        phase = "degraded" if self._phase == "running" and self.failure is not None else self._phase
        return PlatformState(pid=os.getpid(), phase=phase, started_at=self._started_at, parts=parts)

    def __enter__(self) -> Self:
        self.start()
        self._watcher = threading.Thread(target=self.watch, name="watch", daemon=True)
        self._watcher.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _write_state(self) -> None:
        with self._writing:
            if self._instance.held_here:
                # On a full disk the state file becomes stale, which must not end the platform.
                with contextlib.suppress(OSError) if self._phase == "running" else contextlib.nullcontext():
                    self._instance.write(self.state)

    def _store_credentials(self) -> None:
        """Store the broker's user where MSK's clients read it: the secret AmazonMSK_penstock of the server."""
        import boto3  # noqa: PLC0415 - slow to import
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

        value = json.dumps({"username": self.config.kafka_username, "password": self.config.kafka_password})
        client = boto3.client(
            "secretsmanager",
            endpoint_url=self.config.endpoint_url,
            region_name=self.config.region,
            aws_access_key_id=self.config.access_key_id,
            aws_secret_access_key=self.config.secret_access_key,
            verify=self.config.tls_authority or None,
        )
        name = self.config.secret_name
        try:
            try:
                if client.get_secret_value(SecretId=name)["SecretString"] != value:
                    client.put_secret_value(SecretId=name, SecretString=value)
            except client.exceptions.ResourceNotFoundException:
                client.create_secret(Name=name, SecretString=value, Description="The Kafka broker's SASL/SCRAM user.")
        except (BotoCoreError, ClientError) as error:
            if "UnrecognizedClientException" in str(error):
                raise EnvironmentProblem(
                    f"The access key of this home, {self.config.access_key_id}, was deactivated or deleted.",
                    remedy="Create another one with 'penstock up --new-key'; or start 'penstock serve' without it and let "
                    "another administrator activate it (aws iam update-access-key --status Active).",
                ) from None
            raise EnvironmentProblem(
                f"The broker's credentials could not be stored as the secret {name}: {str(error).rstrip('.')}.",
                remedy=f"See the server's log, {self.home.logs / 'server.log'}.",
            ) from error

    def _renew(self, tls: PlatformTls) -> None:
        """Renew certificates while the platform runs, or load renewed ones; the servers watch the files themselves."""
        last = ""
        stale = False
        while not self._stopping.wait(_RENEW_PAUSE):
            try:
                stale = tls.refresh() or stale
                if stale:
                    _broker_of(self.home, self.config).renew_certificate()
                    self._report(f"The broker loaded the renewed certificate in {tls.certificate}.")
                stale, last = False, ""
            except Exception as error:  # noqa: BLE001 -- only this thread renews, so it must not end
                # An incomplete renewal, a full disk, a broker that is down: the next check may succeed.
                if str(error) != last:
                    self._report(str(error))
                last = str(error)


def _own_authority(config: PlatformConfig) -> bool:
    return config.tls and not config.tls_certificate


def home_at(folder: Path | None) -> Home:
    """Return the home in ``folder``, or the environment's. Raises the errors of :meth:`Home.at`."""
    return Home.at(folder, os.environ)
