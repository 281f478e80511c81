"""What ``from_json`` does not check of a document: regular expressions over its text, and over its schema as a variant's.

``from_json`` refuses text for numbers, but makes text of any value where text is expected, and drops properties that it does
not know. :func:`suspect` finds, in the text alone and nearly for free, all documents of which that may be true, and a few
others; for those :func:`exact` is compared with the result of Spark's ``schema_of_variant``.
"""

import re
from collections.abc import Iterator

from penstock.schema.jsonschema.columns import JsonShape

__all__ = ["exact", "suspect"]

_ALWAYS = ""
_DEPTH = 24  # levels of values that no schema describes
_KEY = r"(?:`(?:[^`]|``)*+`|[^`:<> ]++)"
_NO_VALUE = "VOID|ARRAY<VOID>|OBJECT<>"
_PLAIN = r"[A-Z]++(?:\([0-9]++,[0-9]++\))?+"


def suspect(shape: JsonShape) -> str | None:
    r"""Return the expression that finds the documents to look at more closely; empty if that is every document.

    None if ``from_json`` checks all that the shape says. A document with a backslash is always suspect, since it may
    spell a name with escapes.
    """
    parts = list(_parts(shape))
    strings = {name for name, inner in parts if inner.kind == "string"}
    others = {name for name, inner in parts if inner.kind != "string"}
    nested = any(inner.kind in ("struct", "map", "array") for _, inner in parts)
    closed = shape.closed or any(inner.closed for _, inner in parts)
    if strings & others or None in strings or (closed and nested):
        return _ALWAYS
    if not strings and not closed:
        return None
    tests = [r"\\"]
    if strings:
        tests.append(rf'"(?:{_names(strings)})"\s*:\s*+(?!"|null)')
    if closed:
        tests.append(rf'"(?!(?:{_names(strings | others)})")[^"]*+"\s*+:')
    return "|".join(tests)


def _parts(shape: JsonShape) -> Iterator[tuple[str | None, JsonShape]]:
    """Yield all shapes inside, with the name that a document gives to a value; None in arrays and maps."""
    for member in shape.members:
        yield member.name, member.shape
        yield from _parts(member.shape)
    if shape.items is not None:
        yield None, shape.items
        yield from _parts(shape.items)


def _names(names: set[str | None]) -> str:
    return "|".join(_literal(name) for name in sorted(name for name in names if name is not None))


def exact(shape: JsonShape) -> str:
    """Return the expression that the schema of a variant matches if text is text, and no unknown property is dropped."""
    return f"^(?:{_type(shape)})$"


def _type(shape: JsonShape) -> str:
    match shape.kind:
        case "struct":
            return _object(shape)
        case "map":
            assert shape.items is not None
            return rf"OBJECT<(?:{_KEY}: (?:{_type(shape.items)})(?:, |(?=>)))*+>|VOID"
        case "array":
            assert shape.items is not None
            return f"ARRAY<(?:{_type(shape.items)})>|ARRAY<VOID>|VOID"
        case "string":
            return "STRING|VOID"
        case "text":
            return _any()
        case _:
            return _PLAIN


def _object(shape: JsonShape) -> str:
    """Members in any order, as each name occurs once; others have no value, unless the object is open."""
    choices = [f"{_shown(member.name)}: (?:{_type(member.shape)})" for member in shape.members]
    members = "|".join(f"{_shown(member.name)}: " for member in shape.members)
    choices.append(f"(?!{members}){_KEY}: (?:{_NO_VALUE if shape.closed else _any()})")
    return f"OBJECT<(?:(?:{'|'.join(choices)})(?:, |(?=>)))*+>|VOID"


def _any() -> str:
    inner = r"[^<>`]"
    for _ in range(_DEPTH):
        inner = rf"[^<>`]|`(?:[^`]|``)*+`|<(?:{inner})*+>"
    return rf"{_PLAIN}|(?:ARRAY|OBJECT)<(?:{inner})*+>"


def _shown(name: str) -> str:
    """Return a name as a variant's schema writes it."""
    return f"(?:{_literal(name)}|{_literal('`' + name.replace('`', '``') + '`')})"


def _literal(text: str) -> str:
    """Return text as a regular expression of Java's."""
    return re.sub(r"([^\w ])", r"\\\1", text, flags=re.ASCII) if text.isascii() else r"\Q" + text + r"\E"
