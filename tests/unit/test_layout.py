"""Packages stay small enough to be read: no folder has more than sixteen modules, and each has a docstring."""

import ast
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
MOST_MODULES = 16
PACKAGES = sorted(path.parent for path in SOURCES.rglob("__init__.py"))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_a_package_is_small_and_has_a_docstring(package: Path) -> None:
    modules = [path for path in package.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= MOST_MODULES
    assert ast.get_docstring(ast.parse((package / "__init__.py").read_text()))
