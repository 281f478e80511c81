"""URL functions.

Source: Trino's documentation, "URL functions"; a text that is not a URI gives NULL, as Java's URI class reads it.
"""

import re
from collections.abc import Callable, Sequence
from urllib.parse import quote_plus, unquote, unquote_plus

from penstock.sql.functions.python import by_row, invalid
from penstock.sql.functions.rows import Definition, Row, renamed
from penstock.sql.trino_types import BIGINT, VARCHAR

__all__ = ["DEFINITIONS", "ROWS"]

# RFC 3986, appendix B, with the characters that java.net.URI accepts.
_URI = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_BAD = re.compile(r"[\x00-\x20\"<>\\^`{|}\x7f]|%(?![0-9A-Fa-f]{2})")
_AUTHORITY = re.compile(r"(?:[^@]*@)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*)?)(?::(\d*))?")


def _read(value: str) -> re.Match[str] | None:
    return None if _BAD.search(value) or value.count("#") > 1 else _URI.fullmatch(value)


def _part(number: int) -> Callable[[str], str | None]:
    def read(value: str) -> str | None:
        url = _read(value)
        return None if url is None else unquote(url[number] or "")

    return read


def _host(value: str) -> str | None:
    url = _read(value)
    if url is None:
        return None
    authority = _AUTHORITY.fullmatch(url[2] or "")
    return authority[1] if authority is not None else ""


def _port(value: str) -> int | None:
    url = _read(value)
    authority = _AUTHORITY.fullmatch(url[2] or "") if url is not None else None
    return int(authority[2]) if authority is not None and authority[2] else None


def _parameter(value: str, name: str) -> str | None:
    url = _read(value)
    if url is None or url[4] is None:
        return None
    for pair in url[4].split("&"):
        key, _, content = pair.partition("=")
        if unquote(key) == name:
            return unquote(content)
    return None


def _decode(value: str) -> str:
    if re.search(r"%(?![0-9A-Fa-f]{2})", value):
        raise invalid("URLDecoder: Illegal hex characters in escape (%) pattern")
    return unquote_plus(value)


_TEXTS: Sequence[tuple[str, Callable[[str], str | None]]] = [
    ("url_extract_fragment", _part(5)),
    ("url_extract_host", _host),
    ("url_extract_path", _part(3)),
    ("url_extract_protocol", _part(1)),
    ("url_extract_query", _part(4)),
    ("url_encode", lambda value: quote_plus(value, safe="*").replace("~", "%7E")),
    ("url_decode", _decode),
]

ROWS: Sequence[Row] = [
    *(renamed(name, f"trino_{name}", 1, VARCHAR) for name, _ in _TEXTS),
    renamed("url_extract_port", "trino_url_extract_port", 1, BIGINT),
    renamed("url_extract_parameter", "trino_url_extract_parameter", 2, VARCHAR),
]

DEFINITIONS: Sequence[Definition] = [
    *(by_row(f"trino_{name}", ["VARCHAR"], "VARCHAR", function) for name, function in _TEXTS),
    by_row("trino_url_extract_port", ["VARCHAR"], "BIGINT", _port),
    by_row("trino_url_extract_parameter", ["VARCHAR", "VARCHAR"], "VARCHAR", _parameter),
]
