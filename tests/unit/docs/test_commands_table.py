"""README.md: its table names every command that ``penstock --help`` lists, and no other."""

import re
from pathlib import Path

from penstock.cli.main import COMMANDS

README = (Path(__file__).parents[3] / "README.md").read_text()


def test_the_table_names_every_command() -> None:
    table = README.partition("| command | what it does |\n")[2].partition("\n\n")[0]
    named: set[str] = set()
    for line in table.splitlines()[1:]:
        first, *others = re.findall(r"`([^`]+)`", line.strip("| ").split(" | ")[0])
        words = first.removeprefix("penstock ").split()
        named.add(words[0])
        # Behind a command stand others, behind a command of a group those of its group.
        if len(words) == 1:
            named.update(others)
    assert sorted(set(COMMANDS) - named) == []
    assert sorted(named - set(COMMANDS)) == []
