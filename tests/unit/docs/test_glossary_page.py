"""docs/glossary.md: its places in the code exist."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "src/penstock"
PAGE = (ROOT / "docs/glossary.md").read_text()
WORDS, _, _ = PAGE.partition("## Names given up")


def rows(text: str) -> Iterator[list[str]]:
    """The cells of each row of the tables in ``text``, without their heads."""
    for line in re.findall(r"^\|(.*)\|$", text, re.MULTILINE):
        cells = [cell.strip() for cell in line.split("|")]
        if not set(line) <= set("|-") and cells[0] != "term":
            yield cells


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
    assert listed
    named = {name for *_, where in listed for name in re.findall(r"`([^`]+)`", where)}
    assert [name for name in sorted(named) if not is_there(name)] == []
    assert [term for term, _, where in listed if "`" not in where] == []
