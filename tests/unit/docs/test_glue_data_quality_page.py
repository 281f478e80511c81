"""The page's table of rules is that of the code."""

from collections.abc import Iterator
from pathlib import Path

from penstock.glue.quality.rule_types import RULE_TYPES, RuleType

PAGE = Path(__file__).parents[3] / "docs" / "pipelines" / "glue-data-quality.md"


def rows() -> Iterator[str]:
    for name in sorted(RULE_TYPES, key=str.lower):
        yield row(RULE_TYPES[name])


def row(rule: RuleType) -> str:
    if rule.refused:
        return f"| `{rule.name}` | | | | | | refused: {rule.refused} |"
    least, most = rule.parameters
    count = str(least) if least == most else f"{least} or more" if most > 3 else f"{least} to {most}"
    kinds = ", ".join(sorted(rule.conditions)) + (", or none" if rule.optional else "")
    marks = ["yes" if item else "" for item in (rule.threshold, rule.where, rule.rows)]
    cells = [f"`{rule.name}`", count, kinds, *marks, rule.note]
    return f"| {' | '.join(cells)} |".replace("  ", " ")


def test_the_table_has_every_rule() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index("## Rules") + 3
    end = lines.index("", start)
    assert lines[start:end] == list(rows())
