"""``penstock env``: each format gives back the values it was given."""

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.platform.env import render
from penstock.local.files import properties_text

VALUES = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=30)


@given(VALUES)
def test_a_shell_reads_back_what_was_printed(value: str) -> None:
    export, assignment = shlex.split(render({"NAME": value}, "sh"))
    assert export == "export"
    assert assignment == f"NAME={value}"


@given(VALUES)
def test_json_reads_back(value: str) -> None:
    assert json.loads(render({"NAME": value}, "json")) == {"NAME": value}


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("fish", "set -gx NAME 'it\\'s \\\\ $HOME'"),
        ("dotenv", 'NAME="it\'s \\\\ \\$HOME"'),
        ("sh", "export NAME='it'\"'\"'s \\ $HOME'"),
    ],
)
def test_quoting(form: str, line: str) -> None:
    assert render({"NAME": "it's \\ $HOME"}, form) == line


def test_properties_escape_what_java_would_read_otherwise() -> None:
    assert properties_text({"a": "C:\\x\ny"}) == "a=C:\\\\x\\ny\n"
