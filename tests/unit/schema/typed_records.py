"""Records for tests of derived schemas: of one type each place, with nulls, gaps and empty parts, as streams have them."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

__all__ = ["ANYTHING", "batches", "expected"]

_KEYS = st.sampled_from(["a", "b", "c", "_d", "E1", "field_with_a_longer_name"])
_LONGS = st.integers(-(2**63), 2**63 - 1)
_DOUBLES = st.floats(allow_nan=False)
_AWARE = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.just(UTC))
_SCALARS: list[st.SearchStrategy[Any]] = [
    st.booleans(),
    _LONGS,
    _DOUBLES,
    st.one_of(st.integers(-(2**53), 2**53), _DOUBLES),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.dates(),
    st.times(),
    _AWARE,
    st.datetimes(),
    st.uuids(),
    st.one_of(st.uuids().map(str), st.text(max_size=5)),
    st.decimals(-(10**20), 10**20, places=3),
]

ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), *_SCALARS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=3)),
    max_leaves=8,
)
"""Values without any plan, contradictions included."""


def _records(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={key: st.one_of(st.none(), values) for key, values in fields.items()})


def _plan(depth: int) -> st.SearchStrategy[st.SearchStrategy[Any]]:
    """What one place holds: values of one scalar type, of arrays, or of records."""
    scalars = st.sampled_from(_SCALARS)
    if depth == 0:
        return scalars
    inner = _plan(depth - 1)
    return st.one_of(
        scalars,
        inner.map(lambda items: st.lists(st.one_of(st.none(), items), max_size=3)),
        st.dictionaries(_KEYS, inner, max_size=3).map(_records),
    )


batches: st.SearchStrategy[list[dict[str, Any]]] = (
    st.dictionaries(_KEYS, _plan(2), max_size=5).map(_records).flatmap(lambda one: st.lists(one, min_size=1, max_size=5))
)
"""Records whose fields have one type each."""


def expected(value: Any, kind: Any) -> Any:
    """What ``value`` is read back as, written with a derived schema: gaps are null, and what has no type is not there."""
    if value is None:
        return None
    if isinstance(kind, list):
        return expected(value, kind[1])
    if isinstance(kind, dict) and kind["type"] == "record":
        return {field["name"]: expected(value.get(field["name"]), field["type"]) for field in kind["fields"]}
    if isinstance(kind, dict) and kind["type"] == "array":
        return [expected(item, kind["items"]) for item in value]
    return value
