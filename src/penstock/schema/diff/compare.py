"""The comparison of two schemas of one format: every change, with the rules that it breaks in either direction."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from penstock.errors import InvalidInput
from penstock.schema.diff.avro import avro_changes
from penstock.schema.diff.jsonschema import json_changes
from penstock.schema.diff.model import Break, Change, Changes, Direction, SchemaDiff
from penstock.schema.format import ParsedSchema
from penstock.schema.formats import format_of
from penstock.schema.incompatibility import Incompatibility
from penstock.schema.rules import GLUE_RULES, CompatibilityRules

__all__ = ["compare"]

_MAX_SPELLINGS = 20
_ALONE = frozenset({"name", "aliases", "package", "size", "order of fields"})  # parts that do not affect what is below them

# JSON: rules about types name the path of a schema, whose types come from these keywords or those of a combination.
_TYPE_RULES = frozenset({"TYPE_CHANGED", "TYPE_NARROWED"})
_COMBINATIONS = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref"})
_TYPE_KEYWORDS = _COMBINATIONS | {"type", "const", "enum"}

# Protobuf: rules about fields that both sides have, but only one side has in the oneof.
_MOVES = frozenset({"FIELD_MOVED_TO_EXISTING_ONEOF", "MULTIPLE_FIELDS_MOVED_TO_ONEOF"})

_MEMBERS = frozenset({"symbol", "branch", "enum"})
_DEFAULT_SYMBOL = "default symbol"  # replaces symbols that the reader's enum lacks


def compare(old: ParsedSchema, new: ParsedSchema, rules: CompatibilityRules = GLUE_RULES) -> SchemaDiff:
    """Return the differences. There are none exactly if both schemas mean the same, whatever their spelling.

    Raise :class:`~penstock.errors.InvalidInput` for schemas of two formats, and
    :class:`~penstock.schema.errors.TooComplex` as the compatibility check does.
    """
    if old.data_format != new.data_format:
        raise InvalidInput(
            f"The old schema is {old.data_format} and the new one is {new.data_format}.",
            remedy="Compare two schemas of one format.",
        )
    if old.fingerprint == new.fingerprint:
        return SchemaDiff(changes=())
    walked = _WALKS[old.data_format](old, new)
    changes = list(walked.changes) or [_whole(old, new)]
    readable = format_of(old.data_format).readable
    sides: tuple[tuple[Direction, ParsedSchema, ParsedSchema], ...] = (("BACKWARD", new, old), ("FORWARD", old, new))
    breaks = [
        Break(direction=direction, incompatibility=item)
        for direction, reader, writer in sides
        for item in readable(reader, writer, rules)
    ]
    by_change: dict[int, list[Break]] = {}
    elsewhere: list[Break] = []
    for item in breaks:
        causes = _in_direction(changes, _causes(changes, item.incompatibility, walked), item)
        for index in causes:
            by_change.setdefault(index, []).append(item)
        if not causes:
            elsewhere.append(item)
    return SchemaDiff(
        changes=tuple(replace(change, breaks=tuple(by_change.get(index, ()))) for index, change in enumerate(changes)),
        elsewhere=tuple(elsewhere),
    )


def _protobuf(old: ParsedSchema, new: ParsedSchema) -> Changes:
    from penstock.schema.diff.protobuf import protobuf_changes  # noqa: PLC0415 - Protobuf's library is an extra

    return protobuf_changes(old.tree, new.tree)


_WALKS: dict[str, Callable[[ParsedSchema, ParsedSchema], Changes]] = {
    "AVRO": lambda old, new: avro_changes(old.tree, new.tree),
    "JSON": json_changes,
    "PROTOBUF": _protobuf,
}


def _whole(old: ParsedSchema, new: ParsedSchema) -> Change:
    """Return the change for a difference that no walk finds, such as one in a referenced definition."""
    return Change(path="/", part="definition", old=old.fingerprint, new=new.fingerprint)


def _causes(changes: Sequence[Change], broken: Incompatibility, walked: Changes) -> list[int]:
    """Return the indexes of the changes that broke a rule.

    These are the changes at the rule's path; else the nearest around it, for example a field that was added with its whole
    type; else the nearest below it, for example a keyword that changes a type. A path through a type that was compared
    elsewhere is looked up there too.
    """
    for where in _spellings(broken.path, walked):
        effective = [index for index, change in enumerate(changes) if not change.inert]
        exact = [index for index in effective if where in (changes[index].path, *changes[index].also)]
        if exact:
            return exact
        around = [index for index in effective if changes[index].part not in _ALONE and _inside(where, changes[index].path)]
        if around:
            nearest = max(len(changes[index].path) for index in around)
            return [index for index in around if len(changes[index].path) == nearest]
        below = [index for index in effective if _inside(changes[index].path, where)]
        if broken.rule in _TYPE_RULES:
            below = [index for index in below if _changes_types(changes[index], where)] or below
        if below:
            steps = min(changes[index].path.count("/") for index in below)
            return [index for index in below if changes[index].path.count("/") == steps]
    return []


def _changes_types(change: Change, where: str) -> bool:
    """Return whether the change is of a keyword that determines the types of the schema at ``where``."""
    *between, _ = change.path[len(where.rstrip("/")) + 1 :].split("/")
    return change.part in _TYPE_KEYWORDS and all(step in _COMBINATIONS or step.isdecimal() for step in between)


def _in_direction(changes: Sequence[Change], causes: list[int], broken: Break) -> list[int]:
    """Filter ``causes`` to changes that can break a rule in this direction, or return all if none remains.

    Added members of a list break the old reader only, removed ones the new reader only. If a rule is about fields that moved
    into a oneof, fields that were added or removed do not count.
    """
    harmless = "added" if broken.direction == "BACKWARD" else "removed"

    def can_break(change: Change) -> bool:
        if broken.incompatibility.rule in _MOVES:
            return change.kind == "changed"
        if change.part == _DEFAULT_SYMBOL:
            return broken.direction == "BACKWARD" and change.kind == "removed"
        return change.part not in _MEMBERS or change.kind != harmless

    return [index for index in causes if can_break(changes[index])] or causes


def _inside(path: str, around: str) -> bool:
    return path.startswith(f"{around.rstrip('/')}/") and path != around


def _spellings(path: str, walked: Changes) -> list[str]:
    """Return ``path`` and the paths under which the same part was compared."""
    spellings = [path]
    for spelled in spellings:
        prefix = spelled
        while prefix:
            first = walked.same.get(prefix)
            if first is not None:
                other = first.rstrip("/") + spelled[len(prefix) :] or "/"
                if other not in spellings and len(spellings) < _MAX_SPELLINGS:
                    spellings.append(other)
            prefix = prefix.rpartition("/")[0]
    return spellings
