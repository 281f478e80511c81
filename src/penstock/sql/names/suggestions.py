"""Suggestions for a name that does not resolve: the known name that is nearest to it."""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["did_you_mean"]

_MAX_COMPARED = 5_000


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """Return a sentence with the name of ``candidates`` that is nearest to ``name``, None if none is near."""
    candidates = list(dict.fromkeys(item.lower() for item in names))[:_MAX_COMPARED]
    matches = get_close_matches(name.lower(), candidates, n=1, cutoff=0.7)
    return f"Did you mean '{matches[0]}'?" if matches else None
