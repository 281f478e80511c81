"""The options of servers about their audit log, and those about their callers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["audit_options", "caller_options", "issuer_keys", "kept_audit_options", "kept_caller_options"]

F = TypeVar("F", bound=Callable[..., object])

_AUDIT: tuple[tuple[str, Any, object, str], ...] = (
    ("--audit-log/--no-audit-log", bool, True, "Record every decision, in audit/ of the home."),
    ("--audit-reads/--no-audit-reads", bool, True, "Record allowed reads, too."),
    ("--audit-keep-days", click.IntRange(1), 90, "Days to keep records."),
    ("--audit-keep-mb", click.IntRange(16), 1024, "MB of records to keep."),
)
_CALLERS: tuple[tuple[str, Any, object, str], ...] = (
    ("--requests-per-second", click.FloatRange(0), 0.0, "What one access key may send; 0 is no bound."),
    ("--min-free-mb", click.IntRange(0), 64, "Disk that /readyz asks for, MB."),
    ("--access-log/--no-access-log", bool, True, "One JSON line a request on standard error."),
)


def audit_options(command: F) -> F:
    """Adds ``audit_log``, ``audit_reads``, ``audit_keep_days`` and ``audit_keep_mb``."""
    return _with(command, _AUDIT, kept=False)


def kept_audit_options(command: F) -> F:
    """The same for a command that remembers them: None where one is not given."""
    return _with(command, _AUDIT, kept=True)


def caller_options(command: F) -> F:
    """Adds ``requests_per_second``, ``min_free_mb``, ``access_log`` and ``oidc_keys``, which :func:`issuer_keys` reads."""
    return _with(_oidc_keys(command), _CALLERS, kept=False)


def kept_caller_options(command: F) -> F:
    """The same for a command that remembers them: None where one is not given."""
    return _with(_oidc_keys(command), _CALLERS, kept=True)


def issuer_keys(texts: tuple[str, ...]) -> dict[str, Path]:
    """Files of public keys by issuer; :class:`click.BadParameter` for what is not ``ISSUER=FILE``."""
    return dict(map(_issuer_keys, texts))


def _with(command: F, options: tuple[tuple[str, Any, object, str], ...], *, kept: bool) -> F:
    for names, kind, default, about in reversed(options):
        shown = ("off", "on")[default] if isinstance(default, bool) else default
        if kept:
            command = click.option(names, type=kind, default=None, help=f"{about} [default: {shown}]")(command)
        else:
            show = not isinstance(default, bool)
            command = click.option(names, type=kind, default=default, show_default=show, help=about)(command)
    return command


def _oidc_keys(command: F) -> F:
    return click.option(
        "--oidc-keys",
        multiple=True,
        metavar="ISSUER=FILE",
        help="Public keys (JWKS) of an issuer of web identity tokens, such as a Kubernetes cluster. Repeatable.",
    )(command)


def _issuer_keys(text: str) -> tuple[str, Path]:
    issuer, equals, file = text.rpartition("=")
    if not equals or not issuer.startswith("https://") or not file:
        raise click.BadParameter(f"'{text}' does not read https://HOST/PATH=FILE", param_hint="--oidc-keys")
    return issuer, Path(file).absolute()
