"""When a script's Spark gets the data catalog as its own."""

import pytest

from penstock.errors import InvalidInput
from penstock.glue.launch.catalog_service import wants_catalog

THERE = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        ([], THERE, True),
        ([], {"AWS_PROFILE": "work"}, True),
        ([], {}, False),
        (["--enable-glue-datacatalog", "true", "--x", "1"], {}, True),
        (["--enable-glue-datacatalog", "--x", "1"], {}, True),
        (["--enable-glue-datacatalog=false"], THERE, False),
    ],
)
def test_spark_has_the_catalog_by_the_argument_or_where_one_is_reached(
    arguments: list[str], environment: dict[str, str], expected: bool
) -> None:
    assert wants_catalog(arguments, environment) is expected


def test_another_value_is_refused() -> None:
    with pytest.raises(InvalidInput, match="enable-glue-datacatalog is 'perhaps'"):
        wants_catalog(["--enable-glue-datacatalog", "perhaps"], THERE)
