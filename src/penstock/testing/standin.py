"""What fixtures of AWS's services have in common: one service in a child process, with clients that reach it."""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import boto3
from botocore.config import Config

from penstock.local.child import Child, Service
from penstock.names import DEFAULT_REGION

__all__ = ["StandIn", "running_service"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """One that answers at ``endpoint_url``, whatever the credentials; ``service`` is boto3's name of it."""

    service: ClassVar[str]
    endpoint_url: str
    region: str = DEFAULT_REGION

    def client(self, **overrides: Any) -> Any:
        """A boto3 client of the service, without retries."""
        options: dict[str, Any] = {
            "endpoint_url": self.endpoint_url,
            "region_name": self.region,
            "aws_access_key_id": "AKIATESTING",
            "aws_secret_access_key": "testing",
            "config": Config(retries={"total_max_attempts": 1}),
        }
        make_client: Any = boto3.session.Session().client
        return make_client(self.service, **(options | overrides))

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
