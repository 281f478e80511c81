"""Shared by the commands that start Spark: their options, and the form of a setting."""

import re
from collections.abc import Sequence
from pathlib import Path

import click

from penstock.cli.options import FILE, FOLDER, home_option, option_group

__all__ = ["configuration_option", "lake_option", "session_options", "spark_setting", "spark_settings"]

# As Spark's own spark.redaction.regex.
_SECRET = re.compile(r"secret|password|token|access[.]?key", re.IGNORECASE)

lake_option = click.option(
    "--lake",
    type=FOLDER,
    envvar="PENSTOCK_LAKE",
    help="Folder of the embedded lake's buckets, or PENSTOCK_LAKE; without it s3:// is S3.",
)
configuration_option = click.option(
    "--conf",
    "configuration",
    multiple=True,
    metavar="KEY=VALUE|@FILE",
    help="A Spark setting, or a file of them; repeatable.",
)
session_options = option_group(
    click.option("--master", default="local[*]", show_default=True, help="Spark's master."),
    lake_option,
    click.option("--log", type=FILE, help="File for Spark's log. [default: logs/ of the platform's home]"),
    click.option("--driver-memory", default="1g", show_default=True, help="Heap of Spark's driver."),
    configuration_option,
    home_option,
)
"""``master``, ``lake``, ``log``, ``driver_memory``, ``configuration`` and ``home``, of commands that start Spark."""


def spark_settings(texts: Sequence[str]) -> dict[str, str]:
    """Return the settings of an option ``--conf``: ``KEY=VALUE``, or ``@FILE`` with a line of that form for each.

    Raises :class:`click.BadParameter` for a secret that stands in the command line, which every user of the machine sees,
    and for a file that others may read.
    """
    settings: dict[str, str] = {}
    for text in texts:
        if text.startswith("@"):
            settings |= _settings_of(Path(text[1:]))
            continue
        key, value = spark_setting(text)
        if _is_secret(key):
            raise _refusal(
                f"{key} is a secret, and all users of the machine see a command line. Write it to a file that only you can "
                "read, and give @FILE."
            )
        settings[key] = value
    return settings


def _is_secret(key: str) -> bool:
    return _SECRET.search(key) is not None


def _settings_of(file: Path) -> dict[str, str]:
    try:
        mode, text = file.stat().st_mode, file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise _refusal(f"{file} cannot be read: {error}.") from None
    if mode & 0o077:
        raise _refusal(f"Other users may read {file}: chmod 600 {file}.")
    lines = (line.strip() for line in text.splitlines())
    return dict(spark_setting(line) for line in lines if line and not line.startswith("#"))


def spark_setting(text: str) -> tuple[str, str]:
    """Return key and value of one setting; raise :class:`click.BadParameter` for another form."""
    key, equals, value = text.partition("=")
    if not equals or not key.startswith("spark."):
        shown = key if _is_secret(key) else text
        raise _refusal(f"'{shown}' does not have the form spark.KEY=VALUE.")
    return key, value


def _refusal(message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint="--conf")
