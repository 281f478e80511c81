"""Job."""

from typing import Any

from penstock.glue.errors import refused_name
from penstock.glue.jobs.job import Job

__all__ = ["Job"]


def __getattr__(name: str) -> Any:
    return refused_name(__name__, name)
