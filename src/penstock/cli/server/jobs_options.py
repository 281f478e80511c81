"""Options of ``penstock serve`` about the runs of jobs."""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import click

from penstock.cli.options import PATH, option_group
from penstock.local.artefacts import cache_folder
from penstock.settings.home import Home
from penstock.settings.jobs import JobsSettings

__all__ = ["jobs_options", "jobs_settings"]

jobs_options = option_group(
    click.option("--jobs/--no-jobs", default=False, show_default=True, help="Run Glue's jobs, each in a sandbox."),
    click.option("--jobs-master", default="local[*]", show_default=True, help="Spark's master for jobs."),
    click.option(
        "--jobs-at-once", type=click.IntRange(1, 1000), default=4, show_default=True, help="Job runs with a process at once."
    ),
    click.option(
        "--jobs-environment",
        multiple=True,
        envvar="PENSTOCK_JOBS_ENVIRONMENT",
        metavar="NAME",
        help="Variable of this process that jobs inherit. Repeatable.",
    ),
    click.option(
        "--jobs-connect",
        type=click.IntRange(1, 65535),
        multiple=True,
        metavar="PORT",
        help="TCP port that jobs may connect to, beside the server's, the S3 endpoint's and those of their "
        "connections. Repeatable.",
    ),
    click.option(
        "--jobs-read", type=PATH, multiple=True, help="File or folder of this machine that jobs may read. Repeatable."
    ),
    click.option(
        "--jobs-python-index",
        envvar="PENSTOCK_JOBS_PYTHON_INDEX",
        metavar="URL|default",
        help="Index from which --additional-python-modules of jobs are installed, 'default' for that of "
        "PIP_INDEX_URL or pip's own. [default: none, so that jobs use wheels in the lake only]",
    ),
    click.option(
        "--jobs-user",
        multiple=True,
        metavar="ACCOUNT=NAME",
        help="System user of an account's jobs; needs root. Repeatable. [one is made for each account]",
    ),
    click.option(
        "--jobs-users/--no-jobs-users",
        default=True,
        help="Let jobs of each account be a system user of its own, where this process is root.",
    ),
    click.option(
        "--jobs-scratch",
        type=PATH,
        default="/var/tmp",  # noqa: S108
        show_default=True,
        help="Parent folder of the files of such users.",
    ),
    click.option(
        "--jobs-lake-folder",
        is_flag=True,
        help="Without an S3 endpoint, give jobs the lake's folder, whatever their roles; for one account.",
    ),
    click.option(
        "--jobs-without-sandbox",
        is_flag=True,
        help="Where this machine has neither a sandbox nor system users, give jobs this user's rights.",
    ),
)
"""The options that :func:`jobs_settings` reads."""


def jobs_settings(options: dict[str, Any]) -> JobsSettings | None:
    """Take the values of :data:`jobs_options` out of ``options``, and return the settings; None without ``--jobs``."""
    own = {name: options.pop(name) for name in [*options] if name == "jobs" or name.startswith("jobs_")}
    if not own["jobs"]:
        return None
    home = Home.at(options["home"], os.environ)
    own_paths = (home.config_file, home.root / "store", home.audit, home.kafka, home.tls, home.logs, home.run, home.jobs)
    lakes = (options["lake"] or home.lake, options["account_lakes"] or home.account_lakes)
    return JobsSettings(
        folder=home.jobs.absolute(),
        master=own["jobs_master"],
        at_once=own["jobs_at_once"],
        environment=own["jobs_environment"],
        connect=own["jobs_connect"],
        readable=tuple(path.absolute() for path in own["jobs_read"]),
        private=tuple(path.absolute() for path in (*own_paths, *lakes, options["master_key_file"] or home.master_key_file)),
        users=_users(own["jobs_user"]),
        own_users=own["jobs_users"],
        scratch=own["jobs_scratch"].absolute(),
        python_index=_index(own["jobs_python_index"]),
        cache=cache_folder(os.environ).parent,
        lake_folder=own["jobs_lake_folder"],
        without_sandbox=own["jobs_without_sandbox"],
    )


def _index(text: str | None) -> str | None:
    if not text:
        return None
    index = (os.environ.get("PIP_INDEX_URL") or text) if text == "default" else text
    parts = urlsplit(index)
    if index != "default" and (parts.scheme not in {"http", "https"} or not parts.hostname):
        # Not the text itself, which may have a password.
        raise click.BadParameter("it is neither the URL of an index nor 'default'", param_hint="--jobs-python-index")
    return index


def _users(texts: tuple[str, ...]) -> Mapping[str, str]:
    users = {}
    for text in texts:
        account, equals, name = text.partition("=")
        if not equals or not account.isdigit() or not name:
            raise click.BadParameter(f"'{text}' does not have the form ACCOUNT=NAME", param_hint="--jobs-user")
        users[account] = name
    return users
