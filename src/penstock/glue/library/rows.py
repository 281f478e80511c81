"""One row of the table, and the functions that write several at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Row", "Status", "differs", "refused", "served"]

Status = Literal["served", "differs", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A public name of Glue's library.

    ``owner`` is the class, "" for a name of the module. ``note`` is empty if ``served``; how the name differs from AWS's;
    or what to write instead of one that is ``refused``. A refused name that AWS has ``elsewhere`` is in another module of
    its library: ``import *`` leaves the script's own import of it alone.
    """

    module: str
    owner: str
    name: str
    status: Status
    note: str = ""
    elsewhere: bool = False

    @property
    def shown(self) -> str:
        """The name as messages and pages write it: ``GlueContext.getSink``, ``awsglue.transforms.Join``, ``gs_now``."""
        return f"{self.owner or self.module}.{self.name}" if self.name else self.module


def served(module: str, owner: str, names: str) -> Sequence[Row]:
    """Rows of ``names``, which are words of one text."""
    return [Row(module=module, owner=owner, name=name, status="served") for name in names.split()]


def differs(module: str, owner: str, names: str, note: str) -> Sequence[Row]:
    """Rows of names that are served and differ as ``note`` says."""
    return [Row(module=module, owner=owner, name=name, status="differs", note=note) for name in names.split()]


def refused(module: str, owner: str, names: str, note: str, *, elsewhere: bool = False) -> Sequence[Row]:
    """Rows of names that raise at their use; ``note`` is a whole sentence that says what to write instead."""
    return [
        Row(module=module, owner=owner, name=name, status="refused", note=note, elsewhere=elsewhere)
        for name in names.split()
    ]
