"""The error for a name of Glue's library that is not supported, by the table of :mod:`penstock.glue.library`.

A refused name can be imported, and raises at its use, with what to write instead.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from penstock.errors import OperationNotServed
from penstock.glue.library.table import refusals, row

__all__ = ["CONTEXT", "FRAME", "NotSupported", "Refused", "not_supported", "refused_name"]


class NotSupported(OperationNotServed):
    """AWS's library has this name; Penstock's does not yet."""


CONTEXT: Mapping[str, str] = refusals("awsglue.context", "GlueContext")
"""Names of GlueContext."""

FRAME: Mapping[str, str] = refusals("awsglue.dynamicframe", "DynamicFrame")
"""Names of DynamicFrame."""


def not_supported(table: Mapping[str, str], owner: str, name: str, there: Iterable[str] = ()) -> Exception:
    """Return the error for ``owner``'s attribute ``name``: :class:`NotSupported` if AWS has it, else AttributeError."""
    if name in table:
        supported_names = ", ".join(sorted(there))
        supported = f" Supported are: {supported_names}." if supported_names else ""
        return NotSupported(
            f"{owner}.{name} of AWS Glue's library is not supported by Penstock yet.", remedy=f"{table[name]}{supported}"
        )
    return AttributeError(f"{owner} has no attribute {name!r}")


class Refused:
    """A name that a script can import and not use: a call of it, and each of its attributes, raise :class:`NotSupported`."""

    def __init__(self, module: str, name: str, note: str) -> None:
        self._refusal = (module, name, note)

    def _refuse(self) -> NoReturn:
        module, name, note = self._refusal
        raise not_supported({name: note}, module, name)

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def __mro_entries__(self, _: tuple[type, ...]) -> NoReturn:
        self._refuse()

    def __iter__(self) -> NoReturn:
        self._refuse()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __repr__(self) -> str:
        module, name, _ = self._refusal
        return f"<{module}.{name}, not supported by Penstock>"


def refused_name(module: str, name: str) -> Refused:
    """Return what ``module`` has in the place of ``name``. Raises AttributeError if AWS's library has no such name."""
    refusal = row(module, name) if not name.startswith("__") else None
    if refusal is None or refusal.status != "refused":
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return Refused(module, name, refusal.note)
