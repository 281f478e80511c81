"""docs/architecture.md: the files that it names exist, and each step of a recipe leads to one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/architecture.md").read_text()
RECIPES = PAGE.partition("\n## Recipes\n")[2].partition("\n## ")[0]
FILE = re.compile(r"`((?:src|tests|docs|tools)/[^`]+|README\.md|pyproject\.toml)`")


def test_files_that_the_page_names_exist() -> None:
    named = FILE.findall(PAGE)
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("title", re.findall(r"^### (.*)$", RECIPES, re.MULTILINE))
def test_each_step_of_a_recipe_names_a_file(title: str) -> None:
    recipe = RECIPES.partition(f"### {title}\n")[2].partition("\n### ")[0]
    steps = re.findall(r"^\d\. .*(?:\n   .*)*", recipe, re.MULTILINE)
    assert steps
    assert [step for step in steps if not FILE.search(step)] == []
    assert any("`tests/" in step for step in steps)
