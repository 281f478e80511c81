"""A job's arguments: ``--NAME value`` on its command line, as Glue passes them.

Rules: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-extensions-get-resolved-options.html
"""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from penstock.errors import InvalidInput

__all__ = ["BOOKMARKS", "GlueArgumentError", "GlueArgumentParser", "resolved_options", "without_hyphens"]

BOOKMARKS = ("job-bookmark-enable", "job-bookmark-disable", "job-bookmark-pause")
_CONTINUATIONS = {  # the older name of the same option
    "continuation-enabled": "job-bookmark-enable",
    "continuation-readonly": "job-bookmark-pause",
    "continuation-ignore": "job-bookmark-disable",
}
_RESERVED = {
    "job-bookmark-option": BOOKMARKS,
    "job-bookmark-from": None,
    "job-bookmark-to": None,
    "continuation-option": tuple(_CONTINUATIONS),
    "JOB_ID": None,
    "JOB_RUN_ID": None,
    "SECURITY_CONFIGURATION": None,
    "encryption-type": ("sse-s3", "sse-kms"),
}
_FOLDERS = ("TempDir", "RedshiftTempDir")  # one folder under two names; never required


class GlueArgumentError(InvalidInput):
    """The arguments lack one that the script needs, or one has an invalid value."""


class GlueArgumentParser(argparse.ArgumentParser):
    """A parser that raises :class:`GlueArgumentError` instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise GlueArgumentError(
            f"The job's arguments are wrong: {message}.", remedy="Write each as --NAME value on the job's command line."
        )


def without_hyphens(option: str) -> str:
    """Return the name of an argument without the hyphens before it."""
    return option.lstrip("-")


def resolved_options(args: Sequence[str], options: Sequence[str]) -> dict[str, Any]:
    """Return the values of ``options`` in ``args`` (``sys.argv``), all required, by name with hyphens as underscores.

    Other arguments are ignored. Glue's own, such as ``job_bookmark_option``, are in the result, too, None if missing.
    Raises :class:`GlueArgumentError`, and RuntimeError for names that are reserved, as AWS's does.
    """
    # As in AWS's parser, an abbreviation that only one name has is that name.
    parser = GlueArgumentParser(add_help=False)
    for name, choices in _RESERVED.items():
        if name in options or name.replace("-", "_") in options:
            raise RuntimeError(f"Using reserved arguments --{name}")
        parser.add_argument(f"--{name}", choices=choices)
    for name in _FOLDERS:
        parser.add_argument(f"--{name}")
    for name in dict.fromkeys(options):
        if name not in _FOLDERS:
            parser.add_argument(f"--{name}", required=True)
    arguments = vars(parser.parse_known_args(list(args[1:]))[0])
    for one, other in (_FOLDERS, _FOLDERS[::-1]):
        arguments[one] = arguments[one] if arguments[one] is not None else arguments[other]
    older = _CONTINUATIONS.get(arguments.pop("continuation_option"), "job-bookmark-disable")
    arguments["job_bookmark_option"] = arguments["job_bookmark_option"] or older
    return arguments
