"""The options of servers about their audit log."""

from collections.abc import Callable
from typing import TypeVar

import click

__all__ = ["audit_options"]

F = TypeVar("F", bound=Callable[..., object])

_OPTIONS = (
    click.option("--audit-log/--no-audit-log", default=True, help="Record every decision, in audit/ of the home."),
    click.option("--audit-reads/--no-audit-reads", default=True, help="Record allowed reads, too."),
    click.option("--audit-keep-days", type=click.IntRange(1), default=90, show_default=True, help="Days to keep records."),
    click.option("--audit-keep-mb", type=click.IntRange(16), default=1024, show_default=True, help="MB of records to keep."),
)


def audit_options(command: F) -> F:
    """Adds ``audit_log``, ``audit_reads``, ``audit_keep_days`` and ``audit_keep_mb``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
