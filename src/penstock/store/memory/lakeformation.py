"""Lake Formation's store in memory."""

import threading
from collections.abc import Callable, Sequence

from penstock.lakeformation.store import Document

__all__ = ["MemoryLakeFormationStore"]


class MemoryLakeFormationStore:
    """A :class:`~penstock.lakeformation.store.LakeFormationStore` over a dictionary."""

    def __init__(self) -> None:
        self._documents: dict[tuple[str, str], Document] = {}
        self._lock = threading.Lock()

    def get(self, kind: str, key: str) -> Document | None:
        return self._documents.get((kind, key))

    def list(self, kind: str) -> Sequence[tuple[str, Document]]:
        with self._lock:
            found = ((key, document) for (own, key), document in self._documents.items() if own == kind)
            return sorted(found, key=lambda each: each[0])

    def change(self, kind: str, key: str, update: Callable[[Document | None], Document | None]) -> Document | None:
        with self._lock:
            new = update(self._documents.get((kind, key)))
            if new is None:
                self._documents.pop((kind, key), None)
            else:
                self._documents[kind, key] = new
            return new
