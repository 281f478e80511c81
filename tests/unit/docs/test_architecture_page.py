"""The sequence diagrams of docs/architecture.md: a numbered step for each arrow, and each step's files exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/architecture.md").read_text()
SECTIONS = {
    section.partition("\n")[0]: section
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)
    if "sequenceDiagram" in section
}


@pytest.mark.parametrize("title", SECTIONS)
def test_each_arrow_has_a_step_and_each_step_a_file(title: str) -> None:
    diagram = re.findall(r"```mermaid\n(.*?)```", SECTIONS[title], re.DOTALL)
    assert len(diagram) == 1
    arrows = re.findall(r"^ *\w+ *-{1,2}>>", diagram[0], re.MULTILINE)
    steps = re.findall(r"^(\d+)\. (.*)$", SECTIONS[title], re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, len(arrows) + 1))
    for number, text in steps:
        assert "`src/" in text, f"step {number} names no file"


def test_the_page_shows_a_registration_a_select_and_a_micro_batch() -> None:
    assert set(SECTIONS) >= {"A registration", "A SELECT", "A micro-batch"}


def test_files_that_the_page_names_exist() -> None:
    named = re.findall(r"`((?:src|tests|docs)/[^`]+)`", PAGE)
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("title", ["A new operation", "A new sink", "A new format", "A new error"])
def test_each_step_of_a_recipe_names_a_file(title: str) -> None:
    _, _, recipe = PAGE.partition(f"### {title}\n")
    recipe = re.split(r"^##", recipe, maxsplit=1, flags=re.MULTILINE)[0]
    steps = re.findall(r"^\d\. .*(?:\n   .*)*", recipe, re.MULTILINE)
    assert len(steps) >= 4
    assert [step for step in steps if not re.search(r"`(?:src|tests|docs)/", step)] == []
    assert any("`tests/" in step for step in steps)
