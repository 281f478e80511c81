"""The text by which stores order and find a partition."""

import re
from collections.abc import Sequence
from typing import TypeAlias

__all__ = ["PartitionValues", "partition_key", "split_key"]

PartitionValues: TypeAlias = tuple[str, ...]

_ESCAPED = re.compile("\x02[\x02\x03]")
_UNESCAPED = {"\x02\x02": "\x02", "\x02\x03": "\x01"}


def partition_key(values: Sequence[str]) -> str:
    """Return a text for a partition's values, by which stores order them; it is unique among lists of one length.

    The separator sorts before every printable character, so that keys sort as the lists of values do.
    """
    return "\x01".join(value.replace("\x02", "\x02\x02").replace("\x01", "\x02\x03") for value in values)


def split_key(key: str) -> PartitionValues:
    """Return the values of a text from :func:`partition_key`."""
    if "\x02" not in key:
        return tuple(key.split("\x01"))
    return tuple(_ESCAPED.sub(lambda match: _UNESCAPED[match[0]], part) for part in key.split("\x01"))
