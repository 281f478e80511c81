"""make, tools/sync and the product compute the same folder of downloads."""

import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from penstock.local.artefacts import cache_folder

ROOT = Path(__file__).parents[3]


def of_make(environment: dict[str, str], folder: Path) -> Path:
    """What the Makefile exports."""
    show = folder / "show.mk"
    show.write_text('show:\n\t@printf %s "$$PENSTOCK_CACHE"\n')
    command = ["make", "-s", "-f", "Makefile", "-f", str(show), f"PYTHON={sys.executable}", "show"]
    return Path(subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout)


def of_sync(environment: dict[str, str]) -> Path:
    loader = SourceFileLoader("sync_tool_for_cache", str(ROOT / "tools" / "sync"))
    tool = module_from_spec(spec_from_loader("sync_tool_for_cache", loader))  # type: ignore[arg-type]
    loader.exec_module(tool)
    path: Path = tool.cache_folder(environment)
    return path


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "HOME/.cache/penstock"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/penstock"),
        ({"XDG_CACHE_HOME": "", "PENSTOCK_CACHE": ""}, "HOME/.cache/penstock"),
        ({"XDG_CACHE_HOME": "/x", "PENSTOCK_CACHE": "/chosen"}, "/chosen"),
    ],
)
def test_all_three_have_the_same(
    variables: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]} | variables
    wanted = Path(expected.replace("HOME", str(tmp_path), 1) if expected.startswith("HOME") else expected)
    assert of_make(environment, tmp_path) == wanted
    assert of_sync(environment) == wanted
    assert cache_folder(environment) == wanted / "jvm"
