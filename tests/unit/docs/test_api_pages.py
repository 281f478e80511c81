"""docs/api lists the public names, each can be imported from its package, and the pages say what the docstrings say."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STUBS = sorted((ROOT / "src/penstock").rglob("__init__.pyi"))


def package_name(stub: Path) -> str:
    return ".".join(stub.parent.relative_to(ROOT / "src").parts)


def test_the_pages_are_what_the_sources_say() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools/api-docs", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("stub", STUBS, ids=package_name)
def test_every_public_name_can_be_imported_and_is_listed(stub: Path) -> None:
    name = package_name(stub)
    package = import_module(name)
    declared = [
        alias.name for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    assert sorted(package.__all__) == sorted(declared)
    for item in declared:
        assert getattr(package, item).__class__.__name__ != "module", item
    page = (ROOT / "docs/api" / f"{name.removeprefix('penstock.')}.md").read_text()
    listed = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert sorted(listed) == sorted(declared)
