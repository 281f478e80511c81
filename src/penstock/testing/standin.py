"""The base of the stand-ins of AWS's services: one service in a child process, with clients for it."""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from penstock.local.processes.child import Child, Service
from penstock.names import DEFAULT_REGION
from penstock.testing.clients import boto3_client

__all__ = ["StandIn", "running_service"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """A stand-in that answers at ``endpoint_url``, whatever the credentials; ``service`` is boto3's name."""

    service: ClassVar[str]
    endpoint_url: str
    region: str = DEFAULT_REGION

    def client(self, **overrides: Any) -> Any:
        """Return a boto3 client of the service, without retries."""
        keys = {"access_key_id": "AKIATESTING", "secret_access_key": "testing"}
        return boto3_client(self.service, self.endpoint_url, self.region, **keys, **overrides)

    def environment(self) -> dict[str, str]:
        """Return the variables that point a child process's clients of the service here, without keys and region."""
        return {f"AWS_ENDPOINT_URL_{self.service.upper()}": self.endpoint_url}


@contextlib.contextmanager
def running_service(service: Service) -> Iterator[None]:
    """Run ``service`` during the block, once it is ready; raise an error with its output if it does not start."""
    with tempfile.TemporaryDirectory(prefix=f"penstock-{service.name}-") as folder:
        child = Child(service, Path(folder) / f"{service.name}.log")
        try:
            child.start()
            child.wait_ready()
            yield
        finally:
            child.stop()
