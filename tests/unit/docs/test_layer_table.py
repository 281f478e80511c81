"""The table of layers in docs/architecture.md: each package and sub-package has its place, and nothing else is listed."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "src/penstock"
NAME = re.compile(r"`([a-z0-9_.]+)`")


def rows() -> list[list[str]]:
    """Cells of each row: number, packages, description, sub-packages."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = page.partition("## Layers")[2].partition("\n\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if re.match(r"\| \d+ \|", line)
    ]


def packages(folder: Path) -> set[str]:
    return {init.parent.name for init in folder.glob("*/__init__.py")}


def test_each_package_and_each_module_beside_them_has_a_row() -> None:
    listed = [name for row in rows() for name in NAME.findall(row[1])]
    modules = {file.stem for file in SOURCES.glob("*.py") if not file.stem.startswith("__")}
    assert sorted(listed) == sorted(packages(SOURCES) | modules)


def test_each_sub_package_is_in_its_packages_row() -> None:
    missing = []
    for _, names, _, parts in rows():
        listed = set(NAME.findall(parts))
        for name in NAME.findall(names):
            missing += [f"{name}.{part}" for part in sorted(packages(SOURCES / name) - listed)]
    assert missing == []


def test_sub_packages_that_are_listed_exist() -> None:
    gone = []
    for _, names, _, parts in rows():
        for part in NAME.findall(parts):
            if not (SOURCES / names.strip("`") / part.replace(".", "/")).is_dir():
                gone.append(f"{names.strip('`')}.{part}")
    assert gone == []
