"""Modules of Glue's library that have no file here.

Glue Studio's ``gs_*`` make their transforms methods of the frames. Of the others, each name can be imported, and raises at
its use.
"""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from penstock.glue.errors import refused_name
from penstock.glue.library.table import ROWS

__all__ = ["install"]


class _Finder(MetaPathFinder, Loader):
    """The last finder of all, so that a module that exists, such as a script's own, is used instead."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        modules = {row.module for row in ROWS}
        package = any(module.startswith(f"{fullname}.") for module in modules)
        if fullname not in modules and not package:
            return None
        return ModuleSpec(fullname, self, is_package=package)

    def exec_module(self, module: ModuleType) -> None:
        def named(name: str) -> Any:
            return refused_name(module.__name__, name)

        if module.__name__.startswith("gs_"):
            from penstock.glue.frames import studio  # noqa: PLC0415 - it needs Spark

            studio.attach()
            module.__dict__.update({name: function for name, function in studio.STUDIO.items() if name == module.__name__})
        rows = [row for row in ROWS if row.module == module.__name__ and not row.owner]
        module.__dict__["__all__"] = [row.name for row in rows if row.name != "*"]
        module.__dict__["__getattr__"] = named


def install() -> None:
    """Make the modules importable in this process; a second call changes nothing."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
