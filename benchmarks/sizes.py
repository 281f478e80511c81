"""How much a benchmark does: the usual amount, the user's, or as little as shows that it still runs."""

import os
from typing import TypeVar

__all__ = ["SMALL", "size"]

SMALL = os.environ.get("PENSTOCK_BENCH_SMALL") == "1"
"""Whether the figures do not matter: a test starts each benchmark so."""

Amount = TypeVar("Amount", int, float)


def size(name: str | None, usual: Amount, small: Amount) -> Amount:
    """Return the amount that the variable ``PENSTOCK_BENCH_<name>`` sets, else ``small`` or ``usual``."""
    text = os.environ.get(f"PENSTOCK_BENCH_{name}") if name else None
    if text:
        return type(usual)(text)
    return small if SMALL else usual
