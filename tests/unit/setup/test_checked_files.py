"""ruff and mypy check every Python file outside src, with and without the ending .py."""

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
