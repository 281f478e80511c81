"""Every type through every adapter, and through every two that data can take: nothing is lost without being named here."""

from collections.abc import Mapping
from itertools import permutations

import pytest

from penstock.errors import PenstockError
from penstock.types.hive import parse, render
from penstock.types.model import INTEGERS, SCALARS, LakeType
from penstock.types.widening import LOSSLESS, Rules, fits
from tests.unit.types.table import READERS, TYPES

_TEXTS = dict.fromkeys(("SQL", "Parquet", "crawler", "Spark", "Delta", "Avro"), "string")
_NO_HIVE = {name: None for name in READERS if name not in {"catalog", "Iceberg in Glue"}}
# As what a system has a type's values where that is another type; None where the system refuses the type.
OTHERS: Mapping[str, Mapping[str, str | None]] = {
    "tinyint": {**dict.fromkeys(("Iceberg", "Avro"), "int"), **dict.fromkeys(("PostgreSQL", "Redshift"), "smallint")},
    "smallint": dict.fromkeys(("Iceberg", "Avro"), "int"),
    "varchar(9)": {**_TEXTS, "Iceberg": None},
    "char(3)": {**_TEXTS, "Iceberg": None},
    "uuid": {**_TEXTS, "Iceberg in Glue": "string", "PostgreSQL": None, "Redshift": None},
    "time": {
        **{"SQL": "string", "Iceberg in Glue": "string", "crawler": "bigint", "Iceberg": "time(6)"},
        **dict.fromkeys(("Delta", "Avro", "PostgreSQL", "Redshift")),
    },
    "timestamp": {
        "Iceberg": "timestamp(6)",
        **dict.fromkeys(("PostgreSQL", "Redshift"), "timestamp with local time zone"),
    },
    "timestamp_ntz": {
        **dict.fromkeys(("catalog", "SQL", "Parquet", "crawler", "Avro"), "timestamp"),
        "Iceberg": "timestamp(6)",
    },
    "timestamp with local time zone": {
        "SQL": "string",
        "Iceberg": "timestamp(6) with local time zone",
        **dict.fromkeys(("crawler", "Iceberg in Glue", "Spark", "Delta", "Avro"), "timestamp"),
    },
    "void": {**dict.fromkeys(("SQL", "crawler", "PostgreSQL", "Redshift"), "string"), "Iceberg": None, "Delta": None},
    "variant": {name: None for name in _NO_HIVE if name not in {"Spark", "PostgreSQL", "Redshift"}},
    "geometry": _NO_HIVE,
    "geography": _NO_HIVE,
    **dict.fromkeys(TYPES[-3:], dict.fromkeys(("PostgreSQL", "Redshift"), "variant")),
}
HOLDS = Rules(
    wider={
        **LOSSLESS.wider,
        "string": LOSSLESS.wider["string"] | {"uuid", "time", "timestamptz", "void"},
        "bigint": frozenset({*INTEGERS, "time"}),
        **dict.fromkeys(("time", "variant"), SCALARS),
    }
)
"""What holds the values of what: a time of day as a number or a text, a moment as a text, anything as a database's JSON."""


def through(system: str, kind: LakeType) -> LakeType | None:
    """As what the system has the type, None if it refuses it. Any other error is a fault."""
    try:
        return READERS[system](kind)
    except PenstockError:
        return None


@pytest.mark.parametrize("text", TYPES)
def test_every_system_has_a_type_or_refuses_it(text: str) -> None:
    results = {name: through(name, parse(text)) for name in READERS}
    assert {name: kind if kind is None else render(kind) for name, kind in results.items()} == {
        name: OTHERS.get(text, {}).get(name, text) for name in READERS
    }


@pytest.mark.parametrize("text", TYPES)
def test_two_systems_after_each_other_lose_no_values(text: str) -> None:
    for first, second in permutations(READERS, 2):
        written = through(first, parse(text))
        read = None if written is None else through(second, written)
        if written is None or read is None:
            continue  # one of them refuses it, as above
        assert read.name == "variant" or fits(written, read, HOLDS), (first, second, render(written), render(read))


@pytest.mark.parametrize("text", TYPES)
def test_what_a_system_has_made_of_a_type_stays(text: str) -> None:
    for name in READERS:
        once = through(name, parse(text))
        if once is not None and once.name not in {"variant", "time"}:
            again = through(name, once)
            assert again is not None, (name, render(once))
            assert again == once or (again.name == once.name and not again.inner), (name, render(once), render(again))


def test_every_scalar_has_its_rows() -> None:
    assert {parse(text).name for text in TYPES} == {*SCALARS, "array", "map", "struct"}
