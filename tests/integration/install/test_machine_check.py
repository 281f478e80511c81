"""Set-up prints in one line what the machine lacks, and exits with 3 before anything is fetched."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CHECK = ROOT / "tools" / "check-machine"


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def check(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    given = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | environment
    return subprocess.run([str(CHECK), *arguments], env=given, capture_output=True, text=True, check=False, timeout=600)


def refused(done: "subprocess.CompletedProcess[str]", *words: str) -> None:
    assert done.returncode == 3, done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith("penstock: ")
    for word in words:
        assert word in line


def test_this_machine_has_what_is_needed() -> None:
    done = check(sys.executable)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_python_is_reported() -> None:
    refused(check(""), "Python 3.11 or newer", "no python3 is on the PATH", "apt install")


def test_a_missing_python_is_reported(tmp_path: Path) -> None:
    refused(check(str(tmp_path / "python3")), "does not run", "make PYTHON=")


def test_an_old_python_is_named_with_its_version(tmp_path: Path) -> None:
    old = program(tmp_path, "python3", 'case "$2" in *version_info*"<"*) exit 1;; *) echo 3.9.18;; esac')
    refused(check(str(old)), "3.9.18", "3.11 or newer", str(old), "make PYTHON=")


def test_a_missing_venv_module_is_reported(tmp_path: Path) -> None:
    trimmed = program(tmp_path, "python3", f'case "$2" in *ensurepip*) exit 1;; esac\nexec "{sys.executable}" "$@"')
    refused(check(str(trimmed)), "venv module is missing", "apt install python3-venv")


@pytest.mark.parametrize(
    ("java", "words"),
    [
        (None, ("Java is needed", "apt install openjdk-17-jre-headless")),
        ("11", ("Java 17 or 21 is needed", "Java 11, which is too old")),
        ("25", ("Java 17 or 21 is needed", "Java 25, which is not supported")),
    ],
)
def test_java_is_looked_at_without_the_environment(tmp_path: Path, java: str | None, words: tuple[str, ...]) -> None:
    # The PATH of a machine that has what check-machine itself runs on, and this java or none.
    for name in ("bash", "dirname", "env"):
        path = next(Path(item) / name for item in ("/bin", "/usr/bin") if (Path(item) / name).exists())
        (tmp_path / name).symlink_to(path)
    if java:
        program(tmp_path, "java", f"echo '    java.home = /opt/java'; echo '    java.specification.version = {java}'")
    python = str(Path(sys.executable).resolve())
    refused(check(python, "java", PATH=str(tmp_path)), *words)
