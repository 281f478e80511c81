"""Python child processes of the whole tree are started without the working directory on their path."""

import re
from pathlib import Path

import penstock
from penstock.interpreter import python_module

# -I implies -P.
_SAFE = re.compile(r'\[\s*sys\.executable,\s*"-(P|I)"')
_ANY = re.compile(r"\[\s*sys\.executable,")


def test_a_module_is_run_without_the_working_directory() -> None:
    assert python_module("penstock", "serve")[1:] == ["-P", "-m", "penstock", "serve"]


def test_no_command_line_of_ours_does_without() -> None:
    sources = [*Path(penstock.__file__).parent.rglob("*.py")]
    paths = [path for path in sources if _ANY.search(path.read_text())]
    assert len(paths) >= 5
    unsafe = [path for path in paths if len(_ANY.findall(path.read_text())) != len(_SAFE.findall(path.read_text()))]
    assert unsafe == []
