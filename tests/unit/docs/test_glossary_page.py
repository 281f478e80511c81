"""docs/glossary.md: its places in the code exist, and names given up are not defined again."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "src/penstock"
PAGE = (ROOT / "docs/glossary.md").read_text()
WORDS, _, GIVEN_UP = PAGE.partition("## Names given up")
IDENTIFIER = re.compile(r"`([A-Za-z_]\w*)`")


def rows(text: str) -> Iterator[list[str]]:
    """The cells of each row of the tables in ``text``, without their heads."""
    for line in re.findall(r"^\|(.*)\|$", text, re.MULTILINE):
        cells = [cell.strip() for cell in line.split("|")]
        if not set(line) <= set("|-") and cells[0] not in {"term", "given up"}:
            yield cells


@cache
def defined(package: str) -> frozenset[str]:
    """All names that modules of a package define: modules, classes, functions, parameters, variables, attributes."""
    found: set[str] = set()
    for file in sorted((SOURCES / package).rglob("*.py")):
        found.add(file.stem)
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    found.add(name)
                case ast.arg(arg=name):
                    found.add(name)
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    found.add(name)
    return frozenset(found)


def is_there(dotted: str) -> bool:
    """Whether ``dotted`` is a package, a module or a class below ``penstock``."""
    path = SOURCES / dotted.removesuffix(".*").replace(".", "/")
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    module, _, name = dotted.rpartition(".")
    file = SOURCES / f"{module.replace('.', '/')}.py"
    return file.is_file() and bool(re.search(rf"^class {name}\b", file.read_text(), re.MULTILINE))


def test_each_word_has_a_place_in_the_code() -> None:
    listed = list(rows(WORDS))
    assert len(listed) > 30
    named = {name for *_, where in listed for name in re.findall(r"`([^`]+)`", where)}
    assert [name for name in sorted(named) if not is_there(name)] == []
    assert [term for term, _, where in listed if "`" not in where] == []


@pytest.mark.parametrize("row", list(rows(GIVEN_UP)), ids=lambda row: row[0])
def test_a_name_that_was_given_up_is_not_defined_again(row: list[str]) -> None:
    given_up, _, package = row
    names = set(IDENTIFIER.findall(given_up))
    assert sorted(names & defined(package.strip("`").replace(".", "/"))) == []
