"""Trino's documented results, for every function and operator that is served.

The files in ``examples`` have one example a line: ``expression | type | value`` or ``expression | error | CODE``. NULL
is the absent value; a value in double quotes is a Python string. Sources: the pages of Trino's documentation, and the
results in Trino's own tests (trinodb/trino, core/trino-main), restated.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlglot import exp

from penstock.sql.errors import StatementError
from penstock.sql.functions.table import BY_NAME
from penstock.sql.grammar import TrinoCalls
from tests.unit.sql.engine import Engine

FILES = sorted(Path(__file__).parent.joinpath("examples").glob("*.txt"))


def _examples(file: Path) -> Iterator[tuple[str, str, str]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            expression, type_, value = line.rsplit(" | ", 2)
            yield expression.strip(), type_.strip(), value.strip()


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


def _answer(engine: Engine, expression: str) -> tuple[str, str | None]:
    try:
        return engine.value(expression)
    except StatementError as error:
        return "error", error.code


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_examples_have_trinos_results(engine: Engine, file: Path) -> None:
    wrong = []
    for expression, type_, text in _examples(file):
        expected = None if text == "NULL" else ast.literal_eval(text) if text.startswith('"') else text
        answer = _answer(engine, expression)
        if answer != (type_, expected):
            wrong.append(f"{expression}: expected {type_} {expected!r}, got {answer[0]} {answer[1]!r}")
    assert not wrong, "\n".join(wrong)


def test_every_served_function_has_an_example() -> None:
    called = set()
    for file in FILES:
        for expression, _, _ in _examples(file):
            (tree,) = TrinoCalls().parse(f"SELECT {expression}")
            assert tree is not None
            called |= {node.name.lower() for node in tree.find_all(exp.Anonymous)}
    assert sorted(name for name, row in BY_NAME.items() if row.refused is None and name not in called) == []


@pytest.mark.parametrize(
    "call",
    """
    getenv('HOME') current_setting('memory_limit') pg_sleep(100) sleep_ms(100) write_log('x') read_text('/etc/passwd')
    query('x') getvariable('x') nextval('x') json_execute_serialized_sql('x') which_secret('x','s3') stats(1) error('x')
    """.split(),  # noqa: SIM905
)
def test_functions_of_the_engine_do_not_exist(engine: Engine, call: str) -> None:
    with pytest.raises(
        StatementError, match=rf"FUNCTION_NOT_FOUND: line 1:8: Function '{call.split('(', maxsplit=1)[0]}' not registered"
    ):
        engine.value(call)
