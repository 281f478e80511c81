"""The suites run over a store of somebody else's, as docs/operations/stores.md says, and find what it lacks."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.testing import suites

PAGE = (Path(__file__).parents[3] / "docs/operations/stores.md").read_text()
STORE = '''
import shelve

from penstock.catalog.connections import ConnectionExists, ConnectionNotFound


class ShelfConnectionStore:
    """Connections on a shelf: pickled, one by name."""

    def __init__(self, path):
        self._path = str(path)

    def _shelf(self):
        return shelve.open(self._path)

    def create(self, connection):
        with self._shelf() as shelf:
            if connection.name in shelf:
                raise ConnectionExists(f"Connection {connection.name} exists.")
            shelf[connection.name] = connection

    def get(self, name):
        with self._shelf() as shelf:
            return shelf.get(name)

    def list(self, *, after, limit):
        with self._shelf() as shelf:
            names = [name for name in sorted(shelf) if after is None or name > after]
            return [shelf[name] for name in names[:limit]]

    def change(self, name, change):
        with self._shelf() as shelf:
            if name not in shelf:
                raise ConnectionNotFound(f"Connection {name} is not found.")
            shelf[name] = change(shelf[name])

    def delete(self, name):
        with self._shelf() as shelf:
            if name not in shelf:
                raise ConnectionNotFound(f"Connection {name} is not found.")
            del shelf[name]
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a store, and its test as the page has it."""
    [example] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "our_stores.py").write_text(STORE)
    (tmp_path / "test_our_stores.py").write_text(example)
    return tmp_path


def run(project: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(project), str(project)]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_store_of_somebody_else_runs_the_suite(project: Path) -> None:
    status, said = run(project)
    assert status == 0, said
    assert re.search(r"^[3-9]\d* passed", said, re.MULTILINE), said


def test_what_it_lacks_is_shown_value_by_value(project: Path) -> None:
    store = project / "our_stores.py"
    wrong = store.read_text().replace("sorted(shelf)", "sorted(shelf, reverse=True)").replace("raise Conn", "return Conn")
    store.write_text(wrong)
    status, said = run(project)
    assert status == 1
    assert "DID NOT RAISE" in said
    assert "assert ['c', 'b'] == ['a', 'b']" in said


def test_the_page_names_every_suite() -> None:
    assert set(re.findall(r"`(\w+Suite)`", PAGE)) == set(dir(suites))
