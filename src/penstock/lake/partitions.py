"""Hive-style partition folders: ``year=2013/origin=JFK`` to keys and values, and back.

The escaping is Hive's (``FileUtils.escapePathName``) as Spark writes it (``ExternalCatalogUtils``): a percent sign and two
hexadecimal digits for each ASCII character with a meaning in file systems or URIs; all others do not change.
"""

import re
from collections.abc import Sequence

from penstock.errors import InvalidInput

__all__ = [
    "HIVE_DEFAULT_PARTITION",
    "escape",
    "is_partition_folder",
    "parse_partition_folder",
    "parse_partition_path",
    "partition_path",
    "unescape",
]

HIVE_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The value, in paths and in the catalog, of rows whose partition column is null or an empty string."""

_ESCAPES = {ord(char): f"%{ord(char):02X}" for char in [*map(chr, range(0x01, 0x20)), *"\"#%'*/:=?\\\x7f{[]^"]}
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")


def escape(text: str) -> str:
    """Return ``text`` as one part of a folder's name; ``a:b`` becomes ``a%3Ab``."""
    return text.translate(_ESCAPES)


def unescape(text: str) -> str:
    """Reverse :func:`escape`. A percent sign that two hexadecimal digits do not follow does not change."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def partition_path(keys: Sequence[str], values: Sequence[str | None]) -> str:
    """Return the folder of a partition below its table's: ``partition_path(["a", "b"], ["1", "x"])`` is ``a=1/b=x``.

    A value that is None or empty becomes ``__HIVE_DEFAULT_PARTITION__``, as in Spark and Hive. No keys give an empty path.
    Raises :class:`InvalidInput` if counts differ, a key is empty or a name has a NUL.
    """
    if len(keys) != len(values):
        raise InvalidInput(
            f"A partition of {len(keys)} keys ({', '.join(keys)}) has {len(values)} values.",
            remedy="Give one value for each partition key, in the keys' order.",
        )
    for text in (*keys, *values):
        if text is not None and "\0" in text:
            raise InvalidInput(
                f"The partition {dict(zip(keys, values, strict=True))!r} has a NUL, which a path cannot have."
            )
    if not all(keys):
        raise InvalidInput("A partition key has an empty name.")
    return "/".join(
        f"{escape(key)}={escape(value) if value else HIVE_DEFAULT_PARTITION}"
        for key, value in zip(keys, values, strict=True)
    )


def is_partition_folder(name: str) -> bool:
    """Return whether a folder's name has the form ``key=value``."""
    key, equals, value = name.partition("=")
    return bool(key and equals and value)


def parse_partition_folder(name: str) -> tuple[str, str | None]:
    """Return key and value of a folder; None for ``__HIVE_DEFAULT_PARTITION__``. Raises :class:`InvalidInput`."""
    if not is_partition_folder(name):
        raise InvalidInput(
            f"The folder '{name[:200]}' is not a partition.", remedy="A partition's folder is named KEY=VALUE."
        )
    key, _, value = name.partition("=")
    return unescape(key), None if value == HIVE_DEFAULT_PARTITION else unescape(value)


def parse_partition_path(path: str) -> tuple[tuple[str, str | None], ...]:
    """Return keys and values, outermost first, of ``a=1/b=x``; the inverse of :func:`partition_path`.

    Slashes at the ends are ignored. Raises :class:`InvalidInput` for a folder without the form ``key=value``.
    """
    return tuple(parse_partition_folder(name) for name in path.strip("/").split("/")) if path.strip("/") else ()
