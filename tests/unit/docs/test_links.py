"""Links between the pages lead to files that are there, and docs/README.md leads to every page."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def pages() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split()]


def linked(page: Path) -> set[Path]:
    targets = [match[1] for match in LINK.finditer(page.read_text(encoding="utf-8")) if "://" not in match[1]]
    return {(page.parent / target).resolve() for target in targets}


def test_links_lead_to_files() -> None:
    dead = [(str(page.relative_to(ROOT)), str(target)) for page in pages() for target in linked(page) if not target.exists()]
    assert not dead


def test_every_page_is_linked() -> None:
    # The decisions are listed by their folder; their file names are their titles.
    indexes = [ROOT / "docs/README.md", ROOT / "docs/api/README.md", *(ROOT / "docs/adr").glob("*.md")]
    reached = set().union(*(linked(index) for index in indexes), indexes)
    left = [page.name for page in pages() if (ROOT / "docs") in page.parents and page not in reached]
    assert not left
