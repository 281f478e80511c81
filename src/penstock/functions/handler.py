"""Checks a handler without running it: that its module exists and is Python.

Lambda reports it at the first invocation (Runtime.ImportModuleError, Runtime.UserCodeSyntaxError), which a mapping would
retry for ever.
"""

import ast
import sys
from collections.abc import Sequence
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from pathlib import Path

from penstock.errors import InvalidInput

__all__ = ["require_module"]

_STANDARD = (BuiltinImporter, FrozenImporter, PathFinder)


def require_module(code: Path, handler: str) -> None:
    """Raise :class:`InvalidInput` if the module of ``handler`` (MODULE.FUNCTION) is not in ``code``, or is not Python.

    The module is not run, so errors at its import are not found.
    """
    name = handler.rpartition(".")[0].replace("/", ".")
    spec = _found(name, code)
    if spec is None:
        raise InvalidInput(f"module '{name}' of handler {handler} is not in {code}", remedy="Correct Handler or CodeUri.")
    if spec.origin is None or not spec.origin.endswith(".py"):
        return
    try:
        ast.parse(Path(spec.origin).read_bytes(), spec.origin)
    except SyntaxError as error:
        raise InvalidInput(
            f"module '{name}' is not Python: {spec.origin}:{error.lineno or 1}: {error.msg}", remedy="Correct it."
        ) from None
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidInput(f"module '{name}' cannot be read: {spec.origin}: {error}", remedy="Correct it.") from None


def _found(name: str, code: Path) -> ModuleSpec | None:
    """Return where the import system finds a module, package by package, without importing them."""
    path: list[str] = [str(code), *sys.path]
    spec: ModuleSpec | None = None
    so_far = ""
    for part in name.split("."):
        so_far = f"{so_far}.{part}" if so_far else part
        spec = PathFinder.find_spec(so_far, path) or _by_hook(so_far, None if spec is None else path)
        if spec is None:
            return spec
        path = list(spec.submodule_search_locations or ())
    return spec


def _by_hook(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Return the result of finders that installed packages have added, as editable installs do."""
    for finder in sys.meta_path:
        spec = None if finder in _STANDARD else finder.find_spec(name, path)
        if spec is not None:
            return spec
    return None
