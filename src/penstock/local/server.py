"""Penstock's own server as a part of the embedded platform: a child process like the broker and the S3 endpoint."""

import http.client
from dataclasses import dataclass
from pathlib import Path

from penstock.interpreter import python_module
from penstock.local.processes.child import Service
from penstock.local.processes.probes import answers_http
from penstock.local.tls.listeners import PlatformTls, listen_arguments, trust_environment, trusting, unverified
from penstock.settings.home import PlatformConfig

__all__ = ["ServerProcess"]

_TIMEOUT = 5  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProcess:
    """``penstock serve`` over the state in ``home``, with the platform's configuration."""

    home: Path
    config: PlatformConfig
    workers: int = 1
    signed: bool = True
    tls: PlatformTls | None = None

    def service(self) -> Service:
        """Return the service by which a supervisor runs the server. Its environment has the access key."""
        config = self.config
        command = python_module("penstock", "serve", "--home", str(self.home), "--host", config.host)
        command += ["--port", str(config.server_port), "--workers", str(self.workers), "--region", config.region]
        command += ["--account", config.account, "--s3-endpoint-url", config.s3_endpoint_url]
        command += listen_arguments(self.tls, config.allowed_host_names, insecure_plain_http=config.insecure_plain_http)
        flags = {
            "--no-auth": not self.signed,
            "--insecure-basic-auth": config.insecure_basic_auth,
            "--metrics-without-key": config.metrics_without_key,
        }
        command += [flag for flag, is_set in flags.items() if is_set]
        command += [*config.audit_arguments, *config.caller_arguments, *config.jobs_arguments]
        environment = {
            **trust_environment(self.tls),
            "PENSTOCK_BOOTSTRAP_ACCESS_KEY_ID": config.access_key_id,
            "PENSTOCK_BOOTSTRAP_SECRET_ACCESS_KEY": config.secret_access_key,
        }
        return Service(
            name="server",
            title="Penstock server",
            command=lambda: command,
            environment=environment,
            is_ready=self.healthy,
            is_alive=lambda seconds: answers_http(
                config.host, config.server_port, "/healthz", seconds, tls=None if self.tls is None else unverified()
            ),
            stop_grace=25,
        )

    def healthy(self) -> bool:
        """Return whether the server is ready."""
        host, port = self.config.host, self.config.server_port
        connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT)
        try:
            if self.tls is not None:
                context = trusting(self.tls.authority)
                connection = http.client.HTTPSConnection(host, port, timeout=_TIMEOUT, context=context)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
