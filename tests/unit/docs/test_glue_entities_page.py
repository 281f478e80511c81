"""The page about sensitive data lists each type that is detected, as the code says it."""

from pathlib import Path

from penstock.glue.entities.types import TYPES

PAGE = Path(__file__).resolve().parents[3] / "docs" / "pipelines" / "glue-entities.md"


def test_the_page_has_each_type() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert rows == [f"| `{name}` | {kind.about} |" for name, kind in TYPES.items()]
