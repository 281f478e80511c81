"""Penstock's own server as a part of the embedded platform: a child process like the broker and the S3 endpoint."""

import http.client
from dataclasses import dataclass
from pathlib import Path

from penstock.interpreter import python_module
from penstock.local.processes.child import Service
from penstock.local.processes.probes import answers_http
from penstock.local.tls.listeners import PlatformTls, listen_arguments, trust_environment, trusting, unverified

__all__ = ["ServerProcess"]

_TIMEOUT = 5  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProcess:
    """``penstock serve`` on ``host:port`` over the state in ``home``."""

    home: Path
    host: str
    port: int
    region: str
    account: str
    access_key_id: str
    secret_access_key: str
    s3_endpoint_url: str
    workers: int = 1
    signed: bool = True
    tls: PlatformTls | None = None
    allowed_hosts: tuple[str, ...] = ()
    insecure_plain_http: bool = False
    insecure_basic_auth: bool = False
    metrics_without_key: bool = False
    arguments: tuple[str, ...] = ()
    """Further arguments of the command."""

    def service(self) -> Service:
        """Return the service by which a supervisor runs the server. Its environment has the access key."""
        command = python_module("penstock", "serve", "--home", str(self.home), "--host", self.host)
        command += ["--port", str(self.port), "--workers", str(self.workers), "--region", self.region]
        command += ["--account", self.account, "--s3-endpoint-url", self.s3_endpoint_url]
        command += listen_arguments(self.tls, self.allowed_hosts, insecure_plain_http=self.insecure_plain_http)
        flags = {
            "--no-auth": not self.signed,
            "--insecure-basic-auth": self.insecure_basic_auth,
            "--metrics-without-key": self.metrics_without_key,
        }
        command += [*(flag for flag, is_set in flags.items() if is_set), *self.arguments]
        environment = {
            **trust_environment(self.tls),
            "PENSTOCK_BOOTSTRAP_ACCESS_KEY_ID": self.access_key_id,
            "PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY": self.secret_access_key,
        }
        return Service(
            name="server",
            title="Penstock server",
            command=lambda: command,
            environment=environment,
            is_ready=self.healthy,
            is_alive=lambda seconds: answers_http(
                self.host, self.port, "/healthz", seconds, tls=None if self.tls is None else unverified()
            ),
            stop_grace=25,
        )

    def healthy(self) -> bool:
        """Return whether the server is ready."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_TIMEOUT)
        try:
            if self.tls is not None:
                context = trusting(self.tls.authority)
                connection = http.client.HTTPSConnection(self.host, self.port, timeout=_TIMEOUT, context=context)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
