"""Partition paths: round trips, and Spark's own results as the reference."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidInput
from penstock.lake.partitions import HIVE_DEFAULT_PARTITION, escape, parse_partition_path, partition_path, unescape

_NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20)
_VALUES = st.none() | _NAMES.filter(lambda value: value != HIVE_DEFAULT_PARTITION)

# Results of org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils in Spark 4.1.1.
SPARK_ESCAPED = {
    "a:b": "a%3Ab",
    ":ab": "%3Aab",
    "%a": "%25a",
    "": "",
    "é=x": "é%3Dx",
    "a b+c": "a b+c",
    "a%zz": "a%25zz",
    "{x": "%7Bx",
    "}x": "}x",
    "\t\n\x7f": "%09%0A%7F",
    "\"#%'*/:=?\\{[]^": "%22%23%25%27%2A%2F%3A%3D%3F%5C%7B%5B%5D%5E",
    "<>|&;,.~`!@$()-_": "<>|&;,.~`!@$()-_",
}
SPARK_UNESCAPED = {"%3A": ":", "a%3a": "a:", "%C3%A9": "Ã©", "%": "%", "%4": "%4", "%+1": "%+1", "%25": "%", "%zz": "%zz"}


@pytest.mark.parametrize(("text", "escaped"), SPARK_ESCAPED.items())
def test_escapes_as_spark_does(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@pytest.mark.parametrize(("escaped", "text"), SPARK_UNESCAPED.items())
def test_unescapes_as_spark_does(escaped: str, text: str) -> None:
    assert unescape(escaped) == text


@given(st.lists(st.tuples(_NAMES, _VALUES), max_size=4))
def test_round_trip(spec: list[tuple[str, str | None]]) -> None:
    path = partition_path([key for key, _ in spec], [value for _, value in spec])
    assert parse_partition_path(path) == tuple(spec)
    assert parse_partition_path(f"/{path}/") == tuple(spec)


def test_null_and_empty_share_hives_default_folder() -> None:
    assert partition_path(["a", "b"], [None, ""]) == f"a={HIVE_DEFAULT_PARTITION}/b={HIVE_DEFAULT_PARTITION}"
    assert parse_partition_path(f"a={HIVE_DEFAULT_PARTITION}") == (("a", None),)


@pytest.mark.parametrize(("keys", "values"), [(["a"], []), (["a"], ["x\0"]), ([""], ["x"])])
def test_refuses_values_that_a_path_cannot_have(keys: list[str], values: list[str]) -> None:
    with pytest.raises(InvalidInput):
        partition_path(keys, values)


@pytest.mark.parametrize("path", ["a", "a=1//b=2", "=1", "a=", "a=1/b"])
def test_refuses_folders_that_are_not_partitions(path: str) -> None:
    with pytest.raises(InvalidInput, match="is not a partition"):
        parse_partition_path(path)
