"""Statements by which Redshift loads files of S3, and writes them: COPY and UNLOAD, as text.

Source: https://docs.aws.amazon.com/redshift/latest/dg/r_COPY.html, https://docs.aws.amazon.com/redshift/latest/dg/r_UNLOAD.html,
and https://docs.aws.amazon.com/redshift/latest/dg/copy-parameters-authorization.html.
"""

import json
import re
from collections.abc import Iterable, Sequence

from penstock.client.databases.postgresql import Database
from penstock.errors import InvalidInput

__all__ = ["by_keys", "by_role", "copied_rows", "copy_statement", "is_redshift", "literal", "manifest", "unload_statement"]

_ROLE = re.compile(
    r"arn:[\w-]+:iam::\d{12}:role/[\w+=,.@/-]{1,577}(,arn:[\w-]+:iam::\d{12}:role/[\w+=,.@/-]{1,577}){0,9}|default"
)
_KEY = re.compile(r"[\w+/=-]{1,4096}")


def is_redshift(database: Database) -> bool:
    """Return whether the server is Redshift, and not PostgreSQL, whose protocol both speak."""
    return "redshift" in str(database.run("SELECT version()")[0][0]).lower()


def literal(text: str, *, double_backslashes: bool) -> str:
    """Return a text in single quotes."""
    doubled = text.replace("'", "''")
    return "'" + (doubled.replace("\\", "\\\\") if double_backslashes else doubled) + "'"


def by_role(role: str) -> str:
    """Return the authorization by a role of the cluster: its ARN, several of a chain, or ``default``."""
    if not _ROLE.fullmatch(role):
        raise InvalidInput(f"{role[:100]!r} is not the ARN of a role.", remedy="Write arn:aws:iam::ACCOUNT:role/NAME.")
    return "IAM_ROLE default" if role == "default" else f"IAM_ROLE '{role}'"


def by_keys(key: str, secret: str, token: str | None) -> str:
    """Return the authorization by an access key, which is a secret of its own."""
    parts = {"ACCESS_KEY_ID": key, "SECRET_ACCESS_KEY": secret, **({"SESSION_TOKEN": token} if token else {})}
    if not all(_KEY.fullmatch(value) for value in parts.values()):
        raise InvalidInput("The access key of this process has characters that no AWS key has.")
    return " ".join(f"{name} '{value}'" for name, value in parts.items())


def copy_statement(
    table: str, columns: Sequence[str], place: str, authorization: str, *, null: str, region: str | None, more: str
) -> str:
    """Return the statement that loads files of CSV, compressed by gzip, which the manifest at ``place`` names.

    ``table`` and ``columns`` are quoted already. ``more`` are options of COPY, as a script gives them.
    """
    where = f" REGION AS '{region}'" if region else ""
    return (
        f"COPY {table} ({', '.join(columns)}) FROM {literal(place, double_backslashes=True)} {authorization} "
        f"MANIFEST{where} FORMAT AS CSV NULL AS '{null}' GZIP DATEFORMAT 'auto' TIMEFORMAT 'auto'{_more(more)}"
    )


def unload_statement(
    query: str, place: str, authorization: str, *, double_backslashes: bool, region: str | None, key: str | None, more: str
) -> str:
    """Return the statement that writes a query's rows as Parquet files, whose names begin with ``place``, and a manifest.

    ``key`` is the id of a key of KMS that encrypts them.
    """
    options = [f"REGION AS '{region}'"] if region else []
    options += [f"KMS_KEY_ID {literal(key, double_backslashes=double_backslashes)} ENCRYPTED"] if key else []
    return (
        f"UNLOAD ({literal(query, double_backslashes=double_backslashes)}) "
        f"TO {literal(place, double_backslashes=double_backslashes)} {authorization} "
        f"FORMAT AS PARQUET MANIFEST{''.join(f' {option}' for option in options)}{_more(more)}"
    )


def manifest(files: Iterable[str]) -> bytes:
    """Return a manifest of COPY, by which every file is loaded or none.

    https://docs.aws.amazon.com/redshift/latest/dg/loading-data-files-using-manifest.html
    """
    return json.dumps({"entries": [{"url": file, "mandatory": True} for file in files]}).encode()


def copied_rows(database: Database) -> int:
    """Return how many rows the last COPY of the session has loaded."""
    return int(database.run("SELECT pg_last_copy_count()")[0][0])


def _more(text: str) -> str:
    return f" {text.strip().rstrip(';')}" if text.strip() else ""
