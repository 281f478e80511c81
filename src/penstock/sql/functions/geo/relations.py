"""Functions that compare two shapes.

Source: Trino's documentation, "Geospatial functions", "Relationship tests"; Trino's own tests of them.
"""

import re
from collections.abc import Sequence
from typing import Any

from penstock.sql.functions.geo.shapes import called, shapely
from penstock.sql.functions.geo.signatures import GEOMETRY, Function, for_each_row
from penstock.sql.functions.python import invalid
from penstock.sql.trino_types import BOOLEAN, VARCHAR

__all__ = ["FUNCTIONS"]

_PATTERN = re.compile(r"[TF*012]{9}")


def _related(first: Any, second: Any, pattern: str) -> bool:
    if not _PATTERN.fullmatch(pattern):
        raise invalid(f"relation string: {pattern[:100]}")
    return bool(shapely.relate_pattern(first, second, pattern))


def _relation(name: str, predicate: str) -> Function:
    """Return the function that is shapely's ``predicate``."""
    return Function(name, [GEOMETRY, GEOMETRY], BOOLEAN, called(predicate))


FUNCTIONS: Sequence[Function] = [
    _relation("ST_Contains", "contains"),
    _relation("ST_Crosses", "crosses"),
    _relation("ST_Disjoint", "disjoint"),
    _relation("ST_Equals", "equals"),
    _relation("ST_Intersects", "intersects"),
    _relation("ST_Overlaps", "overlaps"),
    _relation("ST_Touches", "touches"),
    # GEOS prepares the first of two shapes that are compared often: here the one that contains the other.
    Function("ST_Within", [GEOMETRY, GEOMETRY], BOOLEAN, lambda a, b: shapely.contains(b, a)),
    Function("ST_Relate", [GEOMETRY, GEOMETRY, VARCHAR], BOOLEAN, for_each_row(_related)),
]
