"""Errors about data on their way through the engine, which passes on nothing but an error's text."""

import re

from penstock.sql.errors import StatementError

__all__ = ["bad_data", "carried_in", "carry", "carry_sql"]

_START, _NEXT, _END = "\x02", "\x1f", "\x03"
_CARRIED = re.compile(f"{_START}([A-Z_]+){_NEXT}(.*?){_NEXT}(.*?){_END}", re.DOTALL)


def bad_data(path: str, what: str) -> StatementError:
    """Return the error about a file whose data is not what the table says; the caller's text gets its ``s3://`` name."""
    return StatementError(
        "HIVE_BAD_DATA",
        f"{path}: {what}",
        remedy="Correct the table's format and types, or remove or rewrite the file.",
    )


def carry(error: StatementError) -> str:
    """Return a text that :func:`carried_in` finds in whatever the engine writes around it."""
    message = error.message.removeprefix(f"{error.code}: ")
    return f"{_START}{error.code}{_NEXT}{message}{_NEXT}{error.remedy or ''}{_END}"


def carry_sql(code: str, before: str, value: str, remedy: str) -> str:
    """Return SQL that fails with an error that shows the value of the expression ``value``."""
    first = _literal(f"{_START}{code}{_NEXT}{before} '")
    last = _literal(f"'.{_NEXT}{remedy}{_END}")
    return f"error({first} || left({value}, 100) || {last})"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def carried_in(text: str) -> StatementError | None:
    """Return the error that ``text`` carries, None if it carries none."""
    match = _CARRIED.search(text)
    if match is None:
        return None
    code, message, remedy = match.groups()
    return StatementError(code, message, remedy=remedy or None)
