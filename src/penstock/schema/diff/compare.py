"""Two schemas of one format compared: every change, with the rules that each breaks in either direction."""

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
_ALONE = frozenset({"name", "aliases", "package", "size", "order of fields"})  # parts of a place that are not what is below

# JSON: rules about types speak of a schema, which says them in these keywords, its own or those of a combination.
_TYPE_RULES = frozenset({"TYPE_CHANGED", "TYPE_NARROWED"})
_COMBINATIONS = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref"})
_SAY_TYPES = _COMBINATIONS | {"type", "const", "enum"}

# Protobuf: rules about fields that are on both sides, and in a oneof on one of them.
_MOVES = frozenset({"FIELD_MOVED_TO_EXISTING_ONEOF", "MULTIPLE_FIELDS_MOVED_TO_ONEOF"})

_MEMBERS = frozenset({"symbol", "branch", "enum"})
_DEFAULT_SYMBOL = "default symbol"  # stands in for symbols that its own side, as the reader, does not know


def compare(old: ParsedSchema, new: ParsedSchema, rules: CompatibilityRules = GLUE_RULES) -> SchemaDiff:
    """The difference; without changes exactly where the two mean the same, whatever their spelling.

    Raises :class:`~penstock.errors.InvalidInput` for schemas of two formats, and
    :class:`~penstock.schema.errors.TooComplex` as the compatibility check does.
    """
    if old.data_format != new.data_format:
        raise InvalidInput(f"One side is {old.data_format}, the other {new.data_format}: they have nothing to compare.")
    if old.fingerprint == new.fingerprint:
        return SchemaDiff(changes=())
    walked = _WALKS[old.data_format](old, new)
    changes = list(walked.found) or [_whole(old, new)]
    readable = format_of(old.data_format).readable
    sides: tuple[tuple[Direction, ParsedSchema, ParsedSchema], ...] = (("BACKWARD", new, old), ("FORWARD", old, new))
    breaks = [
        Break(direction=direction, incompatibility=item)
        for direction, reader, writer in sides
        for item in readable(reader, writer, rules)
    ]
    charged: dict[int, list[Break]] = {}
    elsewhere: list[Break] = []
    for item in breaks:
        guilty = _without_innocent(changes, _guilty(changes, item.incompatibility, walked), item)
        for index in guilty:
            charged.setdefault(index, []).append(item)
        if not guilty:
            elsewhere.append(item)
    return SchemaDiff(
        changes=tuple(replace(change, breaks=tuple(charged.get(index, ()))) for index, change in enumerate(changes)),
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
    """For what differs in nothing that is walked, such as what referenced definitions say."""
    return Change(path="/", part="definition", old=old.fingerprint, new=new.fingerprint)


def _guilty(changes: Sequence[Change], broken: Incompatibility, walked: Changes) -> list[int]:
    """The changes that a broken rule speaks of.

    Those at its path; else the nearest around it, as where a field came with all its type; else the nearest below it, as
    where a type is changed by a keyword. A path through a type that was compared elsewhere is looked up there too.
    """
    for where in _spellings(broken.path, walked):
        meant = [index for index, change in enumerate(changes) if not change.inert]
        exact = [index for index in meant if where in (changes[index].path, *changes[index].also)]
        if exact:
            return exact
        around = [index for index in meant if changes[index].part not in _ALONE and _inside(where, changes[index].path)]
        if around:
            nearest = max(len(changes[index].path) for index in around)
            return [index for index in around if len(changes[index].path) == nearest]
        below = [index for index in meant if _inside(changes[index].path, where)]
        if broken.rule in _TYPE_RULES:
            below = [index for index in below if _says_types(changes[index], where)] or below
        if below:
            steps = min(changes[index].path.count("/") for index in below)
            return [index for index in below if changes[index].path.count("/") == steps]
    return []


def _says_types(change: Change, where: str) -> bool:
    """Whether the change is of a keyword that says what types the schema at ``where`` has."""
    *between, _ = change.path[len(where.rstrip("/")) + 1 :].split("/")
    return change.part in _SAY_TYPES and all(step in _COMBINATIONS or step.isdecimal() for step in between)


def _without_innocent(changes: Sequence[Change], guilty: list[int], broken: Break) -> list[int]:
    """Without the members of a list that the reader has: additions trouble the old reader, removals the new one.

    And without the fields of a oneof that came or went, where those are meant that moved.
    """
    innocent = "added" if broken.direction == "BACKWARD" else "removed"

    def meant(change: Change) -> bool:
        if broken.incompatibility.rule in _MOVES:
            return change.kind == "changed"
        if change.part == _DEFAULT_SYMBOL:
            return broken.direction == "BACKWARD" and change.kind == "removed"
        return change.part not in _MEMBERS or change.kind != innocent

    return [index for index in guilty if meant(changes[index])] or guilty


def _inside(path: str, around: str) -> bool:
    return path.startswith(f"{around.rstrip('/')}/") and path != around


def _spellings(path: str, walked: Changes) -> list[str]:
    """``path`` and the paths under which the same place was compared."""
    found = [path]
    for spelled in found:
        prefix = spelled
        while prefix:
            first = walked.same.get(prefix)
            if first is not None:
                other = first.rstrip("/") + spelled[len(prefix) :] or "/"
                if other not in found and len(found) < _MAX_SPELLINGS:
                    found.append(other)
            prefix = prefix.rpartition("/")[0]
    return found
