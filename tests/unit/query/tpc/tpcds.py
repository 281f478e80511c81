"""TPC-DS: the texts of its 99 questions (of databricks-tpcds, in Spark's dialect), and small tables made up for them.

``tpcds_columns.txt`` has the columns that the questions use; one without a type is an int. Values are made so that most
questions have an answer: a column has the constants that the questions compare it with, and some others.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa
import sqlglot
from sqlglot import exp

__all__ = ["NAMES", "columns", "made", "question"]

# Four questions have two parts, each a statement of its own.
NAMES = [
    name
    for number in range(1, 100)
    for name in ([f"{number}a", f"{number}b"] if number in {14, 23, 24, 39} else [f"{number}"])
]
_ROWS = {
    "call_center": 3, "catalog_page": 10, "customer": 80, "customer_address": 40, "customer_demographics": 100,
    "household_demographics": 20, "income_band": 5, "item": 80, "promotion": 6, "reason": 5, "ship_mode": 4, "store": 4,
    "warehouse": 3, "web_page": 4, "web_site": 3, "inventory": 2_000, "time_dim": 96,
}  # fmt: skip
_SALES = {"store_sales": "ss", "catalog_sales": "cs", "web_sales": "ws"}
_RETURNS = {"store_returns": ("sr", "ss"), "catalog_returns": ("cr", "cs"), "web_returns": ("wr", "ws")}
_LINES = 5_000
_FIRST, _DAYS = date(1998, 1, 1), 5 * 365
_KEYS = [
    (r"date_sk", "date_dim"), (r"time_sk", "time_dim"), (r"item_sk", "item"), (r"customer_sk", "customer"),
    (r"addr_sk", "customer_address"), (r"cdemo_sk", "customer_demographics"), (r"hdemo_sk", "household_demographics"),
    (r"store_sk", "store"), (r"promo_sk", "promotion"), (r"call_center_sk", "call_center"), (r"page_sk", "web_page"),
    (r"ship_mode_sk", "ship_mode"), (r"warehouse_sk", "warehouse"), (r"site_sk", "web_site"), (r"reason_sk", "reason"),
    (r"income_band_sk", "income_band"),
]  # fmt: skip
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")
_WHOLE = {"78"}  # divides whole numbers, whose quotient is whole in Trino, and not in Spark and DuckDB
_EXACT = {"ca_gmt_offset", "s_gmt_offset"}
_COMPARED = (exp.EQ, exp.NEQ, exp.In, exp.Between, exp.GT, exp.GTE, exp.LT, exp.LTE)
_ARROW = {"int": pa.int32(), "decimal(7,2)": pa.decimal128(7, 2), "date": pa.date32(), "string": pa.string()}


@cache
def columns() -> Mapping[str, Mapping[str, str]]:
    """Return Hive's type of each column, by table."""
    text = Path(__file__).with_name("tpcds_columns.txt").read_text()
    types = {}
    for name, listed in re.findall(r"^(\w+) = (.*(?:\n .*)*)", text, re.MULTILINE):
        pairs = (part.partition(":") for part in listed.split())
        types[name] = {column: type_ or "int" for column, _, type_ in pairs}
    return types


@cache
def _tree(name: str) -> exp.Expr:
    text = resources.files("resources").joinpath("queries", f"q{name}.sql").read_text()
    tree = sqlglot.parse_one(text.strip().rstrip(";"), read="databricks")
    for literal in list(tree.find_all(exp.Literal)):
        # Trino compares no date with a text.
        if literal.is_string and _DATE.fullmatch(literal.this) and not isinstance(literal.parent, exp.Cast):
            day = date(*map(int, literal.this.split("-")))
            literal.replace(exp.cast(exp.Literal.string(day.isoformat()), "DATE"))
    for quotient in list(tree.find_all(exp.Div)) if name in _WHOLE else ():
        quotient.set("this", exp.cast(quotient.this, "DOUBLE"))
    return tree


def question(name: str, dialect: str) -> str:
    """Return a question in ``dialect``, with all rows of its answer: which come first is open where its order has ties."""
    tree = _tree(name).copy()
    tree.set("limit", None)
    return tree.sql(dialect, comments=False)


@cache
def _constants() -> Mapping[str, Sequence[Any]]:
    """Return the constants that each column is compared with."""
    constants: dict[str, set[Any]] = {}
    for name in NAMES:
        for node in _tree(name).find_all(*_COMPARED):
            named = {column.name.lower() for column in node.find_all(exp.Column)}
            if len(named) == 1 and not node.find(exp.Select):
                values = {_constant(literal) for literal in node.find_all(exp.Literal)}
                constants.setdefault(named.pop(), set()).update(values)
    return {name: sorted(values, key=str) for name, values in constants.items()}


def _constant(literal: exp.Literal) -> str | float:
    if literal.is_string:
        return str(literal.this)
    return -float(literal.this) if isinstance(literal.parent, exp.Neg) else float(literal.this)


def made() -> Iterator[tuple[str, pa.Table]]:
    """Yield each table with its name."""
    chance = random.Random(19)
    lines: dict[str, list[dict[str, Any]]] = {}
    for name, kinds in columns().items():
        if name == "date_dim":
            rows = [_day(at) for at in range(_DAYS + 120)]
        elif name in _SALES:
            rows = lines[_SALES[name]] = _sales(chance, _SALES[name], kinds)
        elif name not in _RETURNS:
            rows = [_row(chance, kinds, at, dimension=name != "inventory") for at in range(_ROWS[name])]
        else:
            continue
        yield name, _table(kinds, rows)
    for name, (prefix, sold) in _RETURNS.items():
        kinds = columns()[name]
        taken = chance.sample(lines[sold], _LINES // 4)
        yield name, _table(kinds, [_returned(chance, kinds, prefix, sold, line) for line in taken])


def _table(kinds: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], _ARROW[type_]) for name, type_ in kinds.items()})


def _day(at: int) -> dict[str, Any]:
    day = _FIRST + timedelta(at)
    quarter = (day.month - 1) // 3 + 1
    return {
        "d_date_sk": at + 1, "d_date": day, "d_year": day.year, "d_moy": day.month, "d_dom": day.day, "d_qoy": quarter,
        "d_dow": day.isoweekday() % 7, "d_month_seq": (day.year - 1900) * 12 + day.month - 1,
        "d_week_seq": (day - date(1899, 12, 31)).days // 7 + 1, "d_day_name": day.strftime("%A"),
        "d_quarter_name": f"{day.year}Q{quarter}",
    }  # fmt: skip


def _sales(chance: random.Random, prefix: str, kinds: Mapping[str, str]) -> list[dict[str, Any]]:
    """Make orders of up to twenty lines, which have the order's customer, day and place in common."""
    order = f"{prefix}_ticket_number" if prefix == "ss" else f"{prefix}_order_number"
    own = re.compile(rf"{prefix}_(item|promo|warehouse|ship_date|ship_mode)_sk")
    rows: list[dict[str, Any]] = []
    number = 0
    while len(rows) < _LINES:
        number += 1
        shared: dict[str, Any] = {}
        for line in [_row(chance, kinds, number, dimension=False) for _ in range(chance.randint(1, 20))]:
            for name, value in line.items():
                if name.endswith("_sk") and not own.fullmatch(name):
                    line[name] = shared.setdefault(name, value)
            sold, shipped = line.get(f"{prefix}_sold_date_sk"), f"{prefix}_ship_date_sk"
            if shipped in line and sold is not None:
                line[shipped] = sold + chance.randint(1, 119)
            rows.append({**line, order: number})
    return rows


def _returned(
    chance: random.Random, kinds: Mapping[str, str], prefix: str, sold: str, line: Mapping[str, Any]
) -> dict[str, Any]:
    row = _row(chance, kinds, 0, dimension=False)
    for name in row:
        stem = name.removeprefix(f"{prefix}_").replace("returning_", "").replace("refunded_", "")
        match = next((line[item] for item in (f"{sold}_{stem}", f"{sold}_bill_{stem}") if item in line), None)
        if match is not None and name.endswith(("_sk", "_number")):
            row[name] = match
    day = line[f"{sold}_sold_date_sk"]
    if day is not None:
        row[f"{prefix}_returned_date_sk"] = day + chance.randint(1, 90)
    return row


def _row(chance: random.Random, kinds: Mapping[str, str], at: int, *, dimension: bool) -> dict[str, Any]:
    key = next(iter(kinds)) if dimension else None
    return {
        name: at + 1
        if name == key
        else None
        if not dimension and chance.random() < 0.02
        else _value(chance, name, type_, at)
        for name, type_ in kinds.items()
    }


def _value(chance: random.Random, name: str, type_: str, at: int) -> Any:
    if name.endswith("_sk"):
        table = next((table for pattern, table in _KEYS if re.search(rf"(^|_){pattern}$", name)), "date_dim")
        return chance.randint(1, _DAYS if table == "date_dim" else _ROWS[table])
    if name.endswith("_id") and type_ == "string":
        return f"AAAA{at // 2:04}"
    if name in _MADE:
        return _MADE[name](chance, at)
    known = [item for item in _constants().get(name, ()) if isinstance(item, str) == (type_ == "string")]
    if type_ == "string":
        return chance.choice(known) if known and chance.random() < 0.9 else f"{name} {chance.randint(1, 4)}"
    if known and chance.random() < 0.8:
        number = chance.choice(known) + chance.choice([0, 0, chance.randint(0, 20)])
    else:
        number = chance.uniform(1, 100)
    return (
        int(number)
        if type_ == "int"
        else Decimal(f"{max(-9_999, min(number, 9_999)) + (chance.random() if name not in _EXACT else 0):.2f}")
    )


_MADE: Mapping[str, Callable[[random.Random, int], Any]] = {
    "t_hour": lambda _, at: at // 4,
    "t_minute": lambda _, at: at % 4 * 15 + 5,
    "t_time": lambda _, at: at * 900,
    "ib_lower_bound": lambda _, at: at * 10_000,
    "ib_upper_bound": lambda _, at: (at + 1) * 10_000,
    "s_market_id": lambda chance, _: chance.choice([5, 7, 8, 10]),
}
