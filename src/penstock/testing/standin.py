"""What fixtures of AWS's services have in common: one service in a child process, with clients that reach it."""

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
    """One that answers at ``endpoint_url``, whatever the credentials; ``service`` is boto3's name of it."""

    service: ClassVar[str]
    endpoint_url: str
    region: str = DEFAULT_REGION

    def client(self, **overrides: Any) -> Any:
        """A boto3 client of the service, without retries."""
        keys = {"access_key_id": "AKIATESTING", "secret_access_key": "testing"}
        return boto3_client(self.service, self.endpoint_url, self.region, **keys, **overrides)

    def environment(self) -> dict[str, str]:
        """Variables that point the service's clients of a child process here; keys and region come from elsewhere."""
        return {f"AWS_ENDPOINT_URL_{self.service.upper()}": self.endpoint_url}


@contextlib.contextmanager
def running_service(service: Service) -> Iterator[None]:
    """``service``, ready, for the time of the block; raises with its own words where it does not start."""
    with tempfile.TemporaryDirectory(prefix=f"penstock-{service.name}-") as folder:
        child = Child(service, Path(folder) / f"{service.name}.log")
        try:
            child.start()
            child.wait_ready()
            yield
        finally:
            child.stop()
