"""A job's arguments."""

from collections.abc import Sequence
from typing import Any

from penstock.glue.errors import refused_name
from penstock.glue.jobs.arguments import GlueArgumentError, GlueArgumentParser, resolved_options, without_hyphens

__all__ = ["GlueArgumentError", "GlueArgumentParser", "getResolvedOptions", "strip_option_prefix"]

strip_option_prefix = without_hyphens


def getResolvedOptions(args: Sequence[str], options: Sequence[str]) -> dict[str, Any]:  # noqa: N802 - AWS's name
    """See :func:`penstock.glue.jobs.arguments.resolved_options`."""
    return resolved_options(args, options)


def __getattr__(name: str) -> Any:
    return refused_name(__name__, name)
