"""The wheel holds the package with its data and nothing else, and its command runs outside the checkout."""

import os
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=600)
    [path] = folder.glob("*.whl")
    with zipfile.ZipFile(path) as opened:
        yield opened


def metadata(wheel: zipfile.ZipFile) -> Message:
    [name] = [item for item in wheel.namelist() if item.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def test_it_holds_every_tracked_file_of_the_package_and_no_other(wheel: zipfile.ZipFile) -> None:
    listed = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    tracked = {name.removeprefix("src/") for name in listed if (ROOT / name).exists()}
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert {"penstock/py.typed", "penstock/local/jvm.lock"} <= tracked
    assert any(name.startswith("penstock/store/sql/migrations/versions/") for name in tracked)
    assert tracked <= inside
    assert {name.partition("/")[0] for name in inside} == {"awsglue", "awsgluedq", "awsglueml", "penstock"}


def test_its_metadata_are_those_of_pyproject(wheel: zipfile.ZipFile) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    said = metadata(wheel)
    assert (said["Name"], said["Version"], said["Requires-Python"]) == ("penstock", project["version"], ">=3.11")
    assert set(said.get_all("Provides-Extra", [])) == set(project["optional-dependencies"])
    assert said["License-Expression"] == "Apache-2.0"


def test_its_command_runs_outside_the_checkout(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "installed")
    # The wheel's own package comes first on the path, before the checkout that is installed in this environment.
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

    def run(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("-m", "penstock", "--version").strip() == f"penstock, version {version}"
    assert run("-c", "import penstock; print(penstock.__file__)").startswith(str(tmp_path))
    assert "CreateSchema" in run("-m", "penstock", "operations", "--json")
