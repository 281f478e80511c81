"""Processes of statements that serve the lakes of all tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.query.execution.children import ChildPool
from penstock.query.execution.process import StatementProcess

__all__ = ["SharedChildren"]


class SharedChildren(ChildPool):
    """A pool whose processes may read ``lakes``, the parent folder of every test's lake.

    A process serves one lake alone and costs a second of processor time to start: more than the statements of most tests.
    """

    def __init__(self, lakes: Path) -> None:
        super().__init__()
        self._lakes = lakes

    @contextmanager
    def acquire(self, account: str, lake: Path | None = None, files: Path | None = None) -> Iterator[StatementProcess]:
        """See :class:`ChildPool`."""
        assert lake is None or lake.is_relative_to(self._lakes)
        with super().acquire(account, self._lakes, files) as child:
            yield child
