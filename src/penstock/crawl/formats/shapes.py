"""Types of JSON values, merged over records.

Integers are int or bigint, by their size; other numbers are double. Where records differ, numbers become the wider one and
all else a string, as Glue's classifier for JSON does.
"""

from collections.abc import Mapping, Sequence

from penstock.catalog.model import Column
from penstock.crawl.types import nameable
from penstock.errors import DataProblem
from penstock.types import hive
from penstock.types.model import MAX_DEPTH, STRING, VOID, Array, Field, LakeType, Map, Scalar, Struct, fold, replace_fields
from penstock.types.widening import JSON_VALUES, widen

__all__ = ["columns_of", "members_of", "merged", "type_of"]

_MOST_COLUMNS = 10_000
_INT, _BIGINT, _DOUBLE = Scalar("int"), Scalar("bigint"), Scalar("double")
_SCALARS: Mapping[type, Scalar] = {type(None): VOID, bool: Scalar("boolean"), float: _DOUBLE}


def type_of(value: object, depth: int = 0) -> LakeType:
    """Return the type of a JSON value; of null ``void``. Raises :class:`DataProblem` for more than 64 levels."""
    if depth > MAX_DEPTH:
        raise DataProblem(f"its records are nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        return Struct(tuple(Field(name, member_type) for name, member_type in members_of(value, depth + 1).items()))
    if isinstance(value, list):
        element: LakeType = VOID
        for entry in value:
            element = merged(element, type_of(entry, depth + 1))
        return Array(element)
    if isinstance(value, int) and not isinstance(value, bool):
        return _INT if -(2**31) <= value < 2**31 else _BIGINT if -(2**63) <= value < 2**63 else _DOUBLE
    return _SCALARS.get(type(value), STRING)


def members_of(record: Mapping[str, object], depth: int = 0) -> dict[str, LakeType]:
    """Return the types of a JSON object's members, by their names in lower case."""
    members: dict[str, LakeType] = {}
    for name, value in record.items():
        key = name.lower()
        members[key] = merged(members.get(key, VOID), type_of(value, depth))
    return members


def merged(first: LakeType, second: LakeType) -> LakeType:
    """Return the type of values of both."""
    return widen(first, second, JSON_VALUES) or STRING


def columns_of(members: Mapping[str, LakeType]) -> Sequence[Column]:
    """Return the columns of records with ``members``. Raises :class:`DataProblem` for too many of them."""
    if len(members) > _MOST_COLUMNS:
        raise DataProblem(f"its records have {len(members):,} different fields, more than {_MOST_COLUMNS:,}")
    return tuple(Column(name=name, type=_text(column_type)) for name, column_type in members.items())


def _text(lake_type: LakeType) -> str:
    return hive.render(nameable(fold(lake_type, scalar=_scalar, array=Array, mapping=Map, struct=_struct)))


def _scalar(scalar: Scalar) -> LakeType:
    return STRING if scalar == VOID else scalar


def _struct(struct: Struct, types: tuple[LakeType, ...]) -> LakeType:
    return replace_fields(struct, types) if types else STRING  # no member was ever seen
