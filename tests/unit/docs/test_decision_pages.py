"""docs/adr: each decision has a number of its own, its heading has the same one, and each reference leads to a decision."""

import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGES = sorted((ROOT / "docs/adr").glob("0*.md"))
NUMBERS = [int(page.name[:4]) for page in PAGES]
REFERENCE = re.compile(r"\bADR 0*(\d+)|\bdocs/adr/(\d{4})")


def test_numbers_are_unique() -> None:
    assert [number for number, count in Counter(NUMBERS).items() if count > 1] == []


def test_headings_have_the_number_of_the_file() -> None:
    headings = [page.read_text(encoding="utf-8").partition(". ")[0] for page in PAGES]
    assert headings == [f"# {number}" for number in NUMBERS]


def test_references_lead_to_decisions() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.md", "*.py", "*.proto"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    missing = [
        (name, match[0])
        for name in listed.stdout.split()
        for match in REFERENCE.finditer((ROOT / name).read_text(encoding="utf-8"))
        if int(match[1] or match[2]) not in NUMBERS
    ]
    assert not missing
