"""Shapes from outside: what is nested or large is refused before GEOS reads it, in Trino's words."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.sql.errors import StatementError
from tests.unit.sql.engine import Engine

ROOT = Path(__file__).parents[3]
_POINT = struct.pack("<BIdd", 1, 1, 1.0, 2.0)
_DEEP = 100_000  # at which GEOS, which reads by recursion, ends the process


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


def _nested(kind: int, depth: int) -> str:
    return f"X'{(struct.pack('<BII', 1, kind, 1) * depth + _POINT).hex()}'"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            f"ST_GeometryFromText('{'GEOMETRYCOLLECTION (' * _DEEP}POINT (1 2){')' * _DEEP}')",
            "Invalid WKT: GEOMETRYCOLLECTION",
        ),
        (f"ST_GeometryFromText('{'(' * _DEEP}')", r"Invalid WKT: \(\("),
        (f"ST_GeomFromBinary({_nested(7, _DEEP)})", "Invalid WKB"),
        (f"ST_GeomFromBinary({_nested(6, _DEEP)})", "Invalid WKB"),
        (f"ST_GeomFromBinary({_nested(1007, _DEEP)})", "Invalid WKB"),
        ("ST_GeomFromBinary(X'01070000000200000001')", "Invalid WKB"),
        ("ST_GeomFromBinary(X'0102000000FFFFFFFF')", "Invalid WKB"),
        ("ST_GeomFromBinary(X'0105000000FFFFFFFF0102000000FFFFFFFF')", "Invalid WKB"),
        (f"from_geojson_geometry('{'[' * _DEEP}')", r"Invalid GeoJSON: \[\["),
        ("ST_GeometryFromText(rpad('POINT (1 2)', 20000000, ' '))", "Invalid WKT: more than 16 MB are not supported"),
        ("ST_GeomFromBinary(to_utf8(rpad('x', 20000000, ' ')))", "A WKB of more than 16 MB is not supported"),
        ("ST_Polygon('POLYGON(-1 1, 1 -1)')", r"Invalid WKT: POLYGON\(-1 1, 1 -1\)"),
        ("ST_LineFromText('POINT (1 2)')", "ST_LineFromText only applies to LINE_STRING. Input type is: POINT"),
        (
            "ST_Length(ST_GeometryFromText('POLYGON EMPTY'))",
            "ST_Length only applies to LINE_STRING or MULTI_LINE_STRING. Input type is: POLYGON",
        ),
        (
            "ST_Area(to_spherical_geography(ST_Point(0, 1)))",
            "When applied to SphericalGeography inputs, ST_Area only supports POLYGON or MULTI_POLYGON.",
        ),
        ("ST_MultiPoint(ARRAY[ST_Point(1, 2), NULL])", "Invalid input to ST_MultiPoint: null at index 2"),
    ],
    ids=range(16),
)
def test_values_that_are_not_shapes_are_refused_in_trinos_words(engine: Engine, call: str, message: str) -> None:
    with pytest.raises(StatementError, match=rf"^INVALID_FUNCTION_ARGUMENT: {message}"):
        engine.value(call)


@pytest.mark.parametrize(
    ("wkb", "text"),
    [
        (struct.pack(">BIdd", 0, 1, 1.0, 2.0), "POINT (1 2)"),
        (struct.pack("<BII", 1, 0x20000001, 4326) + _POINT[5:], "POINT (1 2)"),
        (struct.pack("<BIddd", 1, 0x80000001, 1.0, 2.0, 3.0), "POINT Z (1 2 3)"),
        (struct.pack("<BIddd", 1, 1001, 1.0, 2.0, 3.0), "POINT Z (1 2 3)"),
        (struct.pack("<BII", 1, 7, 2) + _POINT + struct.pack("<BII", 1, 4, 1) + _POINT,
         "GEOMETRYCOLLECTION (POINT (1 2), MULTIPOINT ((1 2)))"),
        (struct.pack("<BII", 1, 7, 0), "GEOMETRYCOLLECTION EMPTY"),
        (struct.pack("<BIIBII", 1, 5, 1, 1, 2, 2) + struct.pack("<4d", 0, 0, 1, 1), "MULTILINESTRING ((0 0, 1 1))"),
        (struct.pack("<BIIBIII", 1, 6, 1, 1, 3, 1, 4) + struct.pack("<8d", 0, 0, 1, 0, 1, 1, 0, 0),
         "MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)))"),
    ],
    ids=["big endian", "with a reference", "z by flag", "z by number", "nested", "empty", "lines", "polygons"],
)  # fmt: skip
def test_every_form_of_wkb_is_read(engine: Engine, wkb: bytes, text: str) -> None:
    assert engine.value(f"ST_AsText(ST_GeomFromBinary(X'{wkb.hex()}'))") == ("varchar", text)


def test_a_value_of_unknown_type_is_not_a_shape(engine: Engine) -> None:
    engine.create("held", "SELECT X'00' AS b")
    engine._tables["held"] = {"b": None}
    with pytest.raises(StatementError, match="NOT_SUPPORTED: line 1:8: st_astext is not supported for a value whose type"):
        engine.rows("SELECT ST_AsText(b) FROM held")


def test_shapes_of_many_rows_are_compared_with_one_polygon(engine: Engine) -> None:
    engine.create("places", "SELECT ST_Point(i % 100, i / 100) AS p, i FROM UNNEST(sequence(0, 9999)) AS t(i)")
    polygon = "ST_GeometryFromText('POLYGON ((-0.5 -0.5, 9.5 -0.5, 9.5 9.5, -0.5 9.5))')"
    assert engine.rows(
        f"SELECT count_if(ST_Contains({polygon}, p)), count_if(ST_Within(p, {polygon})), "
        "ST_AsText(ST_Envelope(geometry_union_agg(p))) FROM places"
    ) == [("100", "100", "POLYGON ((0 0, 99 0, 99 99, 0 99, 0 0))")]


def test_shapely_is_imported_by_the_first_shape_only() -> None:
    program = (
        "import sys, duckdb, tests.unit.sql.engine as e\n"
        "engine = e.Engine()\n"
        "engine.value('abs(-1)')\n"
        "assert 'shapely' not in sys.modules\n"
        "engine.value('ST_Point(1, 2)')\n"
        "assert 'shapely' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
