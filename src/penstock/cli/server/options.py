"""Options of the commands that serve: state and identities, the audit log, and callers."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from penstock.cli.options import PATH, option_group
from penstock.cli.server.listen_options import tls_files
from penstock.names import DEFAULT_ACCOUNT, DEFAULT_REGION
from penstock.settings.addresses import is_loopback
from penstock.settings.home import Home
from penstock.settings.server import DEFAULT_REQUESTS_PER_SECOND, BootstrapKey, ServerSettings

__all__ = [
    "audit_options",
    "caller_options",
    "issuer_keys",
    "rate_option",
    "remembered_audit_options",
    "remembered_caller_options",
    "settings_of",
    "state_options",
]

Declared = tuple[str, Any, object, str]  # names, type, default, help

_AUDIT: tuple[Declared, ...] = (
    ("--audit-log/--no-audit-log", bool, True, "Write every decision to audit/ of the home."),
    ("--audit-reads/--no-audit-reads", bool, True, "Record allowed reads, too."),
    ("--audit-keep-days", click.IntRange(1), 90, "Days to keep records."),
    ("--audit-keep-mb", click.IntRange(16), 1024, "MB of records to keep."),
)
_RATE: Declared = (
    "--requests-per-second",
    click.FloatRange(0),
    DEFAULT_REQUESTS_PER_SECOND,
    "Limit per access key; 0 means no limit.",
)
_CALLERS: tuple[Declared, ...] = (
    _RATE,
    ("--min-free-mb", click.IntRange(0), 64, "Free disk space, in MB, that /readyz requires."),
    ("--access-log/--no-access-log", bool, True, "Write one JSON line per request to standard error."),
)


def _option(declared: Declared) -> Callable[[Any], Any]:
    names, option_type, default, about = declared
    show = not isinstance(default, bool)
    return click.option(names, type=option_type, default=default, show_default=show, help=about)


def _remembered(declared: Declared) -> Callable[[Any], Any]:
    """Return the option for a command that remembers its value: None if it is not given."""
    names, option_type, default, about = declared
    shown = ("off", "on")[default] if isinstance(default, bool) else default
    return click.option(names, type=option_type, default=None, help=f"{about} [default: {shown}]")


_oidc_keys = click.option(
    "--oidc-keys",
    multiple=True,
    metavar="ISSUER=FILE",
    help="Public keys (JWKS) of an issuer of web identity tokens, such as a Kubernetes cluster. Repeatable.",
)

rate_option = _option(_RATE)
audit_options = option_group(*map(_option, _AUDIT))
remembered_audit_options = option_group(*map(_remembered, _AUDIT))
# :func:`issuer_keys` reads the last one.
caller_options = option_group(*map(_option, _CALLERS), _oidc_keys)
remembered_caller_options = option_group(*map(_remembered, _CALLERS), _oidc_keys)


def _account(_context: click.Context, _option: click.Parameter, value: str) -> str:
    if len(value) != 12 or not value.isascii() or not value.isdigit():
        raise click.BadParameter("an account id is twelve digits")
    return value


state_options = option_group(
    click.option("--home", type=PATH, envvar="PENSTOCK_HOME", help="Folder of the state. [.penstock]"),
    click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
    click.option(
        "--region", envvar="AWS_REGION", default=DEFAULT_REGION, show_default=True, help="AWS region of the server."
    ),
    click.option(
        "--account", default=DEFAULT_ACCOUNT, show_default=True, callback=_account, help="Account id, twelve digits."
    ),
    click.option("--store-url", envvar="PENSTOCK_STORE_URL", help="SQLAlchemy URL. [SQLite in the home]"),
    click.option("--lake", type=PATH, help="Folder of the first account's buckets. [lake/ in the home]"),
    click.option("--account-lakes", type=PATH, help="Further accounts' lakes. [lakes/ in the home]"),
    click.option("--master-key-file", type=PATH, help="Key that encrypts secrets at rest. [master.key in the home]"),
    click.option(
        "--auth/--no-auth", default=True, help="--no-auth allows every request without authentication: for trials."
    ),
)
"""The options of a server's state, account and region; :func:`settings_of` reads the values."""


def settings_of(options: dict[str, Any], **more: Any) -> ServerSettings:
    """Return the settings of ``state_options``, ``listen_options``, ``audit_options`` and ``--port``.

    ``more`` are fields of :class:`ServerSettings`. Warns on standard error if there is no authentication.
    """
    home, host = options["home"], options["host"]
    folder = Home.at(home, os.environ)
    if folder.master_key_file.exists():
        # Only a home of an earlier release, not a folder that becomes one now.
        folder.make_private()
    if not options["auth"]:
        click.echo("penstock: WARNING: --no-auth: everybody who reaches this port may do everything.", err=True)
        if not is_loopback(host):
            click.echo(f"penstock: WARNING: {host} is not loopback: others on the network reach this port.", err=True)
    return ServerSettings(
        store_url=options["store_url"] or folder.store_url,
        lake=(options["lake"] or folder.lake).absolute(),
        account_lakes=(options["account_lakes"] or folder.account_lakes).absolute(),
        master_key_file=(options["master_key_file"] or folder.master_key_file).absolute(),
        region=options["region"],
        account=options["account"],
        host=host,
        port=options["port"],
        tls=tls_files(options["tls_certificate"], options["tls_key"], options["tls_client_authority"]),
        allowed_hosts=options["allowed_host"],
        insecure_plain_http=options["insecure_plain_http"],
        authenticate=options["auth"],
        audit_folder=folder.audit if options["audit_log"] else None,
        audit_reads=options["audit_reads"],
        audit_keep_days=options["audit_keep_days"],
        audit_keep_bytes=options["audit_keep_mb"] * 1024 * 1024,
        bootstrap_key=BootstrapKey.from_environment(os.environ),
        **more,
    )


def issuer_keys(texts: tuple[str, ...]) -> dict[str, Path]:
    """Return files of public keys by issuer; :class:`click.BadParameter` for a text that is not ``ISSUER=FILE``."""
    return dict(map(_issuer_keys, texts))


def _issuer_keys(text: str) -> tuple[str, Path]:
    issuer, equals, file = text.rpartition("=")
    if not equals or not issuer.startswith("https://") or not file:
        raise click.BadParameter(f"'{text}' does not have the form https://HOST/PATH=FILE", param_hint="--oidc-keys")
    return issuer, Path(file).absolute()
