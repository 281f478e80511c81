"""ruff and mypy check every Python file outside src, with and without the ending .py."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
TOOLS = [f"tools/{path.name}" for path in sorted((ROOT / "tools").iterdir()) if b"python3" in path.read_bytes()[:30]]


def test_the_checks_read_tools_and_benchmarks() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert TOOLS
    assert settings["ruff"]["extend-include"] == TOOLS
    files = settings["mypy"]["files"]
    assert [path for path in files if path.startswith("tools/")] == TOOLS
    assert {"benchmarks", "tests", "src/penstock"} <= set(files)


def test_no_tool_has_the_name_of_a_standard_module() -> None:
    """mypy reads tools as modules, and would take such a one for Python's own."""
    assert {path.removeprefix("tools/") for path in TOOLS} & sys.stdlib_module_names == set()
