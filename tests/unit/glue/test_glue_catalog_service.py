"""When a script's Spark gets the data catalog as its own."""

import pytest

from penstock.errors import InvalidInput
from penstock.glue.launch.catalog_service import wants_catalog

THERE = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ('spark.sql("SELECT * FROM shop.orders")', True),
        ('spark.sql(f"select a from {database}.{table}")', True),
        ('spark.sql("""INSERT OVERWRITE TABLE\n  shop.orders SELECT 1""")', True),
        ('spark.table("orders")', True),
        ('frame.write.saveAsTable("shop.orders")', True),
        ("spark.sql('use shop')", True),
        ('from awsglue.utils import x\nframe.toDF().createOrReplaceTempView("t")\nspark.sql("select a.b from t a")', False),
        ("import sys", False),
    ],
)
def test_a_script_that_names_tables_gets_the_catalog(script: str, wanted: bool) -> None:
    assert wants_catalog(script, [], THERE) is wanted
    assert wants_catalog(script, [], {}) is False
    assert wants_catalog(script, ["--enable-glue-datacatalog", "true", "--x", "1"], {}) is True
    assert wants_catalog(script, ["--enable-glue-datacatalog", "--x", "1"], {}) is True
    assert wants_catalog(script, ["--enable-glue-datacatalog=false"], THERE) is False


def test_another_value_is_refused() -> None:
    with pytest.raises(InvalidInput, match="enable-glue-datacatalog is 'perhaps'"):
        wants_catalog("", ["--enable-glue-datacatalog", "perhaps"], THERE)
