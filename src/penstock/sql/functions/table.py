"""The table: every area's rows, by the name of a call and by the parser's node."""

from collections.abc import Mapping, Sequence
from types import ModuleType

from sqlglot import exp

from penstock.sql.functions.casts import conversion
from penstock.sql.functions.geo import functions as shape_functions
from penstock.sql.functions.groups import aggregates, checksum, collections, ordered, windows
from penstock.sql.functions.json import functions as json_functions
from penstock.sql.functions.json import standard
from penstock.sql.functions.nested import arrays, maps, records
from penstock.sql.functions.rows import Row
from penstock.sql.functions.scalars import (
    arithmetic,
    binary,
    comparison,
    concatenation,
    conditional,
    numbers,
    others,
    regexp,
    strings,
    urls,
)
from penstock.sql.functions.sketches import rows as sketches
from penstock.sql.functions.times import arithmetic as times_arithmetic
from penstock.sql.functions.times import clock, fields, formats, moments, units, zones

__all__ = ["AREAS", "BY_NAME", "BY_NODE", "is_repeatable", "row_of"]

AREAS: Mapping[str, Sequence[ModuleType]] = {
    "Comparison and logic": (comparison,),
    "Conditional": (conditional,),
    "Conversion": (conversion,),
    "Mathematical and bitwise": (arithmetic, numbers),
    "String": (strings, concatenation),
    "Regular expression": (regexp,),
    "JSON": (json_functions, standard),
    "Binary": (binary,),
    "URL": (urls,),
    "Array": (arrays,),
    "Map": (maps,),
    "Row": (records,),
    "Aggregate": (aggregates, collections, ordered, checksum),
    "Window": (windows,),
    "HyperLogLog, T-Digest and quantile digest": (sketches,),
    "Date and time": (times_arithmetic, clock, fields, formats, moments, units, zones),
    "Geospatial": (shape_functions,),
    "Session, formats, and areas that are not served": (others,),
}
"""The chapters of Trino's reference, and the modules that have their rows."""

_ROWS: Sequence[Row] = [row for modules in AREAS.values() for module in modules for row in module.ROWS]
BY_NAME: Mapping[str, Row] = {row.name: row for row in _ROWS if not row.nodes}
BY_NODE: Mapping[type[exp.Expr], Row] = {node: row for row in _ROWS for node in row.nodes}


def row_of(node: exp.Expr) -> Row | None:
    """Return the row of a call or an operator, None if there is none."""
    return BY_NAME.get(node.name.lower()) if isinstance(node, exp.Anonymous) else BY_NODE.get(type(node))


def is_repeatable(tree: exp.Expr) -> bool:
    """Return whether the query, as written, returns the same rows over the same data at any time."""
    for node in tree.walk():
        if isinstance(node, exp.TableSample):
            return False
        row = row_of(node)
        if row is not None and not row.repeatable:
            return False
    return True
