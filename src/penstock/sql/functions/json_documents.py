"""JSON documents: read with the text of their numbers, written as Trino writes them, and Trino's own path language.

That language (``$.a.b[0]["c"]``) is the one of ``json_extract``; the SQL standard's is in :mod:`path`.
Source: Trino's documentation, "JSON functions and operators"; numbers as in Trino's tests of json_parse.
"""

import json
import re
from functools import lru_cache
from typing import Any

from penstock.sql.functions.java import java_text
from penstock.sql.functions.python import invalid

__all__ = ["Number", "extract", "extract_scalar", "parse", "read_steps", "scalar_text", "write"]

_MAX_DEPTH = 500
_STEP = re.compile(r"\.([^.\[\]\"']+)|\[\s*([\w:-]+)\s*\]|\[\s*\"((?:[^\"\\]|\\.)*)\"\s*\]")


class Number(str):
    """A number's text, exactly as in a document."""

    __slots__ = ()

    @property
    def is_whole(self) -> bool:
        """Whether it has neither a point nor an exponent."""
        return self.lstrip("-").isdecimal()


def _refused(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


_DECODER = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=_refused)


def parse(text: str) -> Any:
    """Return the document: dict, list, str, :class:`Number`, bool or None. Raises :class:`ValueError`."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it nests too deeply") from None


def write(value: Any, *, sort: bool = False, depth: int = 0) -> str:
    """Return the text of a document; numbers with a point or an exponent in the form of Java's doubles."""
    if depth > _MAX_DEPTH:
        raise ValueError("it nests too deeply")
    if isinstance(value, Number):
        return str(value) if value.is_whole else java_text(float(value))
    if isinstance(value, dict):
        items = sorted(value.items()) if sort else value.items()
        pairs = (f"{json.dumps(key, ensure_ascii=False)}:{write(item, sort=sort, depth=depth + 1)}" for key, item in items)
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(write(item, sort=sort, depth=depth + 1) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def scalar_text(value: Any) -> str | None:
    """Return the text of a string, a number or a boolean; None of everything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str) else None


@lru_cache(maxsize=256)
def read_steps(path: str) -> tuple[str, ...]:
    """Return the steps of a path of ``json_extract``. Raises the error of an invalid argument."""
    at = 1 if path.startswith("$") else 0
    steps = []
    if at == 0:
        raise invalid(f"Invalid JSON path: '{path[:200]}'")
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise invalid(f"Invalid JSON path: '{path[:200]}'")
        quoted = step[3]
        steps.append(re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else (step[1] or step[2]).strip())
        at = step.end()
    if any("*" in step for step in steps):
        raise invalid(f"Invalid JSON path: '{path[:200]}'")
    return tuple(steps)


_MISSING = object()


def _value_at(text: str, path: str) -> Any:
    steps = read_steps(path)
    try:
        value = parse(text)
    except ValueError:
        return _MISSING
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return _MISSING
    return value


def extract(text: str, path: str) -> str | None:
    """Return the JSON at ``path``, None if there is none or ``text`` is not JSON."""
    value = _value_at(text, path)
    return None if value is _MISSING else write(value)


def extract_scalar(text: str, path: str) -> str | None:
    """Return the text of the scalar at ``path``, None if there is none, or an object, an array or null."""
    value = _value_at(text, path)
    return None if value is _MISSING else scalar_text(value)
