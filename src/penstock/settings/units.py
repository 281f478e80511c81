"""Sizes and durations as people write them: ``128MB``, ``24h``."""

import re

from penstock.errors import InvalidInput

__all__ = ["parse_duration", "parse_size"]

_SIZES = {"": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def parse_size(text: str) -> int:
    """Return the bytes of ``128MB``. Raises :class:`InvalidInput`."""
    match = re.fullmatch(r"([0-9]{1,18})\s*(B|KB|MB|GB|)", text.strip(), re.IGNORECASE)
    if match is None or not int(match[1]):
        raise InvalidInput(f"'{text[:40]}' is not a size.", remedy="Write it as 128MB; the units are B, KB, MB and GB.")
    return int(match[1]) * _SIZES[match[2].upper()]


def parse_duration(text: str) -> float:
    """Return the seconds of ``24h``. Raises :class:`InvalidInput`."""
    match = re.fullmatch(r"([0-9]{1,18})\s*([smhd])", text.strip(), re.IGNORECASE)
    if match is None:
        raise InvalidInput(f"'{text[:40]}' is not a duration.", remedy="Write it as 24h; the units are s, m, h and d.")
    return float(int(match[1]) * _SECONDS[match[2].lower()])
