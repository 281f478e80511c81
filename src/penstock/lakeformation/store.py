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
        """Replace a document by what ``update`` makes of it; None is no document. Return the new one.

        Writers of one account come one after the other. What ``update`` raises passes, and nothing changes.
        """
        ...
