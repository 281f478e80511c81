"""The SQL standard's JSON functions as Trino writes them, read from the parser's tokens to calls with options.

A call's arguments are the document, the path, the values of PASSING and the defaults; all else is in :class:`JsonOptions`,
which :func:`options_of` returns. Source: Trino's documentation, "JSON functions and operators".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

__all__ = ["PARSERS", "JsonOptions", "options_of"]

_META = "penstock_json"
_MAKE_JSON = frozenset({"JSON_QUERY", "JSON_ARRAY", "JSON_OBJECT"})
"""Calls whose texts are JSON wherever a JSON function takes one, without FORMAT JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonOptions:
    """What a call of a JSON function says beside its arguments."""

    is_json: Sequence[bool] = ()
    """For each argument whether FORMAT JSON follows it, or another JSON function has made it."""
    names: Sequence[str] = ()
    """The names of the values of PASSING: as written in quotes, else in upper case."""
    returning: exp.DataType | None = None
    on_empty: str = ""
    """NULL, ERROR, DEFAULT, EMPTY ARRAY or EMPTY OBJECT; empty if the call does not say it."""
    on_error: str = ""
    """As ``on_empty``, or TRUE, FALSE or UNKNOWN."""
    defaults: Mapping[str, int] = field(default_factory=dict)
    """For ``EMPTY`` and ``ERROR`` the number of the argument that is the default."""
    wrapper: str = "WITHOUT"
    """WITHOUT, WITH or CONDITIONAL."""
    quotes: str = ""
    """KEEP or OMIT; empty if the call does not say it."""
    on_null: str = ""
    """NULL or ABSENT; empty if the call does not say it."""
    unique_keys: bool = False

    def __deepcopy__(self, _: object) -> "JsonOptions":
        return self


def options_of(node: exp.Expr) -> JsonOptions:
    """Return the options of a call that this module has read."""
    options = node.meta.get(_META)
    return options if isinstance(options, JsonOptions) else JsonOptions()


def _value(parser: Any) -> tuple[exp.Expr | None, bool]:
    value = parser._parse_disjunction()
    is_json = isinstance(value, exp.Anonymous) and value.name.upper() in _MAKE_JSON
    return value, _format(parser) or is_json


def _format(parser: Any) -> bool:
    if not parser._match_text_seq("FORMAT", "JSON"):
        return False
    if parser._match_text_seq("ENCODING") and not parser._match_text_seq("UTF8"):
        parser.raise_error("Only the encoding UTF8 is supported")
    return True


def _returning(parser: Any) -> exp.DataType | None:
    if not parser._match_text_seq("RETURNING"):
        return None
    type_ = parser._parse_types()
    _format(parser)
    return type_ if isinstance(type_, exp.DataType) else parser.raise_error("Expecting a type")


def _call(parser: Any, name: str, read: Callable[[Any, list[exp.Expr | None], list[bool]], dict[str, Any]]) -> exp.Expr:
    token = parser._tokens[parser._index - 2]
    values: list[exp.Expr | None] = []
    formats: list[bool] = []
    arguments = read(parser, values, formats)
    node = exp.Anonymous(this=name, expressions=[item for item in values if item is not None])
    if None in values:
        parser.raise_error("Expecting an expression")
    node.meta[_META] = JsonOptions(is_json=tuple(formats), **arguments)
    return node.update_positions(token)


def _invocation(parser: Any, values: list[exp.Expr | None], formats: list[bool]) -> dict[str, Any]:
    """Read the document, the path and PASSING."""

    def add() -> None:
        value, is_json = _value(parser)
        values.append(value)
        formats.append(is_json)

    add()
    if not parser._match(TokenType.COMMA):
        parser.raise_error("Expecting a path")
    values.append(parser._parse_disjunction())
    formats.append(False)
    names: list[str] = []
    if parser._match_text_seq("PASSING"):
        while True:
            add()
            parser._match(TokenType.ALIAS)
            name = parser._parse_id_var()
            if not isinstance(name, exp.Identifier):
                parser.raise_error("Expecting a name")
            names.append(name.name if name.quoted else name.name.upper())
            if not parser._match(TokenType.COMMA):
                break
    return {"names": tuple(names)}


def _behaviours(parser: Any, values: list[exp.Expr | None], formats: list[bool], choices: Sequence[str]) -> dict[str, Any]:
    """Read ``NULL ON EMPTY ERROR ON ERROR`` and the like."""
    behaviours: dict[str, Any] = {}
    defaults: dict[str, int] = {}
    while True:
        words = next((choice for choice in choices if parser._match_text_seq(*choice.split())), None)
        if words is None:
            return {**behaviours, "defaults": defaults}
        if words == "DEFAULT":
            values.append(parser._parse_disjunction())
            formats.append(False)
        when = "EMPTY" if parser._match_text_seq("ON", "EMPTY") else "ERROR"
        if when == "ERROR" and not parser._match_text_seq("ON", "ERROR"):
            parser.raise_error("Expecting ON EMPTY or ON ERROR")
        if f"on_{when.lower()}" in behaviours or (when == "EMPTY" and "on_error" in behaviours):
            parser.raise_error("ON EMPTY stands once, and before ON ERROR")
        behaviours[f"on_{when.lower()}"] = words
        if words == "DEFAULT":
            defaults[when] = len(values) - 1


def _exists(parser: Any, values: list[exp.Expr | None], formats: list[bool]) -> dict[str, Any]:
    call = _invocation(parser, values, formats)
    return {**call, **_behaviours(parser, values, formats, ("TRUE", "FALSE", "UNKNOWN", "ERROR"))}


def _scalar(parser: Any, values: list[exp.Expr | None], formats: list[bool]) -> dict[str, Any]:
    call = _invocation(parser, values, formats)
    call["returning"] = _returning(parser)
    return {**call, **_behaviours(parser, values, formats, ("NULL", "ERROR", "DEFAULT"))}


def _query(parser: Any, values: list[exp.Expr | None], formats: list[bool]) -> dict[str, Any]:
    call = _invocation(parser, values, formats)
    call["returning"] = _returning(parser)
    if parser._match_text_seq("WITHOUT"):
        _wrapper(parser)
    elif parser._match_text_seq("WITH"):
        conditional = parser._match_text_seq("CONDITIONAL")
        if not conditional:
            parser._match_text_seq("UNCONDITIONAL")
        _wrapper(parser)
        call["wrapper"] = "CONDITIONAL" if conditional else "WITH"
    quotes = next((name for name in ("KEEP", "OMIT") if parser._match_text_seq(name, "QUOTES")), "")
    if quotes:
        parser._match_text_seq("ON", "SCALAR", "STRING")
    call["quotes"] = quotes
    return {**call, **_behaviours(parser, values, formats, ("NULL", "ERROR", "EMPTY ARRAY", "EMPTY OBJECT"))}


def _wrapper(parser: Any) -> None:
    parser._match_text_seq("ARRAY")
    if not parser._match_text_seq("WRAPPER"):
        parser.raise_error("Expecting WRAPPER")


def _on_null(parser: Any) -> str:
    return next((name for name in ("NULL", "ABSENT") if parser._match_text_seq(name, "ON", "NULL")), "")


def _array(parser: Any, values: list[exp.Expr | None], formats: list[bool]) -> dict[str, Any]:
    on_null = _on_null(parser)
    while not on_null and not _ends(parser):
        value, is_json = _value(parser)
        values.append(value)
        formats.append(is_json)
        if not parser._match(TokenType.COMMA):
            break
    return {"on_null": on_null or _on_null(parser), "returning": _returning(parser)}


def _object(parser: Any, values: list[exp.Expr | None], formats: list[bool]) -> dict[str, Any]:
    on_null = _on_null(parser)
    while not on_null and not _ends(parser):
        if parser._next.token_type not in {TokenType.COLON} and parser._next.text.upper() != "VALUE":
            parser._match_text_seq("KEY")
        values.append(parser._parse_bitwise())
        formats.append(False)
        if not parser._match(TokenType.COLON) and not parser._match_text_seq("VALUE"):
            parser.raise_error("Expecting VALUE or ':'")
        value, is_json = _value(parser)
        values.append(value)
        formats.append(is_json)
        if not parser._match(TokenType.COMMA):
            break
    options: dict[str, Any] = {"on_null": on_null or _on_null(parser)}
    for words, unique in (("WITHOUT", False), ("WITH", True)):
        if parser._match_text_seq(words, "UNIQUE"):
            parser._match_text_seq("KEYS")
            options["unique_keys"] = unique
            break
    return {**options, "returning": _returning(parser)}


def _ends(parser: Any) -> bool:
    return parser._curr is None or parser._curr.token_type is TokenType.R_PAREN or parser._curr.text.upper() == "RETURNING"


_READERS = {
    "JSON_EXISTS": _exists,
    "JSON_VALUE": _scalar,
    "JSON_QUERY": _query,
    "JSON_ARRAY": _array,
    "JSON_OBJECT": _object,
}
PARSERS: Mapping[str, Callable[[Any], exp.Expr]] = {
    name: lambda parser, name=name, read=read: _call(parser, name.lower(), read)  # type: ignore[misc]
    for name, read in _READERS.items()
}
"""The parser of what is in the brackets of each function, by its name in upper case."""
