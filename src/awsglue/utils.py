"""A job's arguments."""

from collections.abc import Sequence
from typing import Any

from penstock.spark.glue.errors import refused_name
from penstock.spark.glue.jobs.arguments import GlueArgumentError, resolved_options

__all__ = ["GlueArgumentError", "getResolvedOptions"]


def getResolvedOptions(args: Sequence[str], options: Sequence[str]) -> dict[str, Any]:  # noqa: N802 - AWS's name
    """See :func:`penstock.spark.glue.jobs.arguments.resolved_options`."""
    return resolved_options(args, options)


def __getattr__(name: str) -> Any:
    return refused_name(__name__, name)
