"""Every package says what it is for."""

import ast
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
PACKAGES = sorted(path.parent for path in SOURCES.rglob("__init__.py"))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_a_package_has_a_docstring(package: Path) -> None:
    assert ast.get_docstring(ast.parse((package / "__init__.py").read_text()))
