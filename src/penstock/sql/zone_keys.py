"""Timestamps with zones that are read from data, as keys of groups.

Two timestamps of one instant are equal in Trino, whatever their zones are; the engine's structs of them are not. Zones that
the query names are one a column. Zones from data may differ, so a statement that groups by such timestamps fails for one
that is not UTC.
"""

from collections.abc import Callable, Iterator

from sqlglot import exp

from penstock.sql.functions.rows import call_engine
from penstock.sql.trino_types import Type

__all__ = ["guard_zones"]

_FROM_DATA = {"trino_from_iso8601_timestamp", "trino_parse_zoned", "trino_to_timestamptz"}
_NAMED = "trino_zoned"
_WITHOUT_ZONE = {"trino_utc", "trino_instant"}
_ZONED = "timestamp with time zone"


def guard_zones(tree: exp.Expr, type_of: Callable[[exp.Expr], Type | None]) -> None:
    """Make a translated statement fail for a zone from data other than UTC, if it groups by timestamps with zones."""
    calls = [node for node in tree.find_all(exp.Anonymous) if _is_from_data(node)]
    if not calls or not any(_has_zone(type_of(key)) for key in _keys(tree)):
        return
    for node in calls:
        node.replace(call_engine("trino_only_utc", node.copy()))


def _is_from_data(node: exp.Anonymous) -> bool:
    name = node.name.lower()
    zone = node.expressions[1] if name == _NAMED else None
    if name not in _FROM_DATA and (zone is None or isinstance(zone, exp.Literal)):
        return False
    parent = node.parent
    return not (isinstance(parent, exp.Anonymous) and parent.name.lower() in _WITHOUT_ZONE)


def _has_zone(type_: Type | None) -> bool:
    return type_ is not None and (type_.name == _ZONED or any(map(_has_zone, type_.inner)))


def _keys(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the expressions by which a statement compares rows."""
    for node in tree.walk():
        if isinstance(node, exp.Select) and (node.args.get("group") or node.args.get("distinct")):
            yield from node.expressions
        if isinstance(node, exp.Group):
            yield from (item for item in node.find_all(exp.Expr) if item is not node)
        elif isinstance(node, exp.Window):
            yield from node.args.get("partition_by") or ()
        elif isinstance(node, exp.Distinct):
            yield from node.expressions
        elif isinstance(node, exp.SetOperation) and node.args.get("distinct"):
            yield from (
                item for part in (node.left, node.right) for item in part.find_all(exp.Alias, exp.Column, exp.Anonymous)
            )
        elif isinstance(node, exp.Join) and node.args.get("using"):
            yield from node.args["using"]
