"""The port of Lake Formation's store: documents by kind and key."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

__all__ = ["Document", "LakeFormationStore"]

Document = Mapping[str, Any]
"""A value as JSON has it."""


class LakeFormationStore(Protocol):
    """Documents of one account. Keys are text of up to 2,048 characters; every change is atomic."""

    def get(self, kind: str, key: str) -> Document | None:
        """Return one document, or None."""
        ...

    def list(self, kind: str) -> Sequence[tuple[str, Document]]:
        """Return all documents of ``kind`` with their keys, in order of the keys."""
        ...

    def change(self, kind: str, key: str, update: Callable[[Document | None], Document | None]) -> Document | None:
        """Replace a document by the result of ``update``, and return it. None stands for a missing document.

        Writers of one account queue. An exception from ``update`` reaches the caller, and nothing is changed.
        """
        ...
