"""Sizes and durations as people write them."""

import pytest

from penstock.errors import InvalidInput
from penstock.settings.units import parse_duration, parse_size


def test_sizes_and_durations() -> None:
    assert [parse_size(text) for text in ("1", "2kb", "128MB", "1 GB")] == [1, 2048, 128 * 2**20, 2**30]
    assert [parse_duration(text) for text in ("90s", "5m", "24h", "7d")] == [90, 300, 86_400, 604_800]
    for text in ("", "0", "x", "1TB", "9" * 5_000):
        with pytest.raises(InvalidInput, match="is not a size"):
            parse_size(text)
    for text in ("24", "9" * 5_000 + "h"):
        with pytest.raises(InvalidInput, match="is not a duration"):
            parse_duration(text)
