"""Nobody reads a table's files through another table without the right to read the files.

The reader, who has that right, gets the secret by every attack: so each of them would work.
"""

from collections.abc import Sequence

import pytest
from botocore.exceptions import ClientError

from tests.security.files.attacks import ATTACKS, SECRET
from tests.security.files.conftest import Person, World

PEOPLE = ("without", "denied")
ENGINES = ("primary", "spark")


def _attack(by: Person, name: str, groups: Sequence[str] = ("primary",)) -> list[str]:
    try:
        sql = ATTACKS[name](by)
    except ClientError as error:
        return [f"refused: {error}"]
    return [by.start(sql, group) for group in groups]


@pytest.mark.parametrize("name", list(ATTACKS))
def test_no_table_shows_files_that_its_reader_may_not_read(world: World, name: str) -> None:
    reader = world.people["reader"]
    started = {person: _attack(world.people[person], name, ENGINES) for person in PEOPLE}
    state, text = reader.end(_attack(reader, name)[0])
    if name == "a foreign list of files":
        assert state == "FAILED"
        assert "HIVE_BAD_DATA" in text
    else:
        assert state == "SUCCEEDED", text
        assert (SECRET in text) or ("secret/ice/data" in text)
    for who, state, text in [(who, *world.people[who].end(item)) for who, all_of in started.items() for item in all_of]:
        assert state == "FAILED", (who, text)
        assert SECRET not in text, who
        assert "not authorized to perform" in text, who
        assert str(world.server.home) not in text, who
