"""Statements from start to result."""

from lake_of_flights import Ask, Rows


def test_select(rows: Rows, ask: Ask) -> None:
    assert rows("SELECT carrier, count(*) FROM flights WHERE month = 3 GROUP BY 1 ORDER BY 1") == [["AA", "5"], ["UA", "5"]]
    s = ask("SELECT * FROM flights WHERE month IN (1,2) ORDER BY flight")
    print(s)
    print(rows("SELECT * FROM flights WHERE month IN (1,2) ORDER BY flight"))
