"""Regular expression functions.

ASCII text is matched by the engine (RE2) where both know the pattern; other text, and what RE2 does not have (look-around,
backreferences, groups that took no part), by :class:`~penstock.sql.regular_expressions.Pattern`: in linear time where the
pattern is regular. Both `\\w` and `\\d` know Unicode's letters and digits in Trino, `$` is the end or the place before a
last line feed, and `\\s` has the vertical tab: RE2 knows neither, so text with them is matched there, too. What RE2,
Python and Trino (Joni with Java's syntax) read in three ways is refused.
Source: Trino's documentation, "Regular expression functions".
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from penstock.sql.functions.build import text
from penstock.sql.functions.nested.lambdas import applied, body, fresh, function, lambda_of
from penstock.sql.functions.python import by_row, invalid
from penstock.sql.functions.rows import Call, Definition, Macro, Row, Write, call_engine
from penstock.sql.regular_expressions import Pattern, TooSlow
from penstock.sql.trino_types import BIGINT, BOOLEAN, INTEGER, VARCHAR, Type

__all__ = ["DEFINITIONS", "ROWS"]

_JAVA = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)|\(\?<(?P<name>[A-Za-z][A-Za-z0-9]*)>|\(\?(?P<flags>[A-Za-z]*-?[A-Za-z]*)[:)]"
    r"|\\x\{(?P<point>[0-9A-Fa-f]+)\}|\\(?P<escape>[hHRzZsS])|\\."
    r"|(?P<set>\[\^?\]?)|(?P<end>\])|(?P<both>&&)|(?P<brace>\{(?=,))",
    re.DOTALL,
)
_BLANKS = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_ESCAPES = {
    "h": r"[ \t\xa0\u2000-\u200a\u3000]",
    "H": r"[^ \t\xa0\u2000-\u200a\u3000]",
    "R": r"(?:\r\n|[\n\r\x0b\x0c\x85\u2028\u2029])",
    "z": r"\Z",
    "Z": r"(?=\n?\Z)",
    "s": f"[{_BLANKS}]",
    "S": f"[^{_BLANKS}]",
}
_IN_SETS = {"s": _BLANKS, "S": r"\S"}
_FLAGS = frozenset("imsx-")
_OPTIONAL_GROUP = re.compile(r"\)[?*{]|\|")
_ENDS_OR_BLANKS = re.compile(r"\$|\\[sS]|\[:")


class _Ambiguous(ValueError):
    """A construct that RE2 or Python reads, and Trino reads in another way or not at all."""


class _Rewriting:
    """Writes a pattern of Java's syntax as Python's."""

    def __init__(self) -> None:
        self._in_set = False

    def __call__(self, match: re.Match[str]) -> str:
        group, value = match.lastgroup, match[match.lastgroup] if match.lastgroup else ""
        result = match[0]
        if group in {"set", "end", "both"}:
            self._enter_or_leave(match, group)
        elif group == "quoted":
            result = re.escape(value)
        elif group == "point":
            result = re.escape(chr(int(value, 16)))
        elif group == "escape":
            result = (_IN_SETS if self._in_set else _ESCAPES).get(value, result)
        elif group == "name" and not self._in_set:
            result = f"(?P<{value}>"
        elif group == "brace" and not self._in_set:  # without a least number it is a text
            result = "\\{"
        elif group == "flags" and not self._in_set and not _FLAGS.issuperset(value):
            raise _Ambiguous(f"the flags '{value}' are not supported")
        return result

    def _enter_or_leave(self, match: re.Match[str], group: str) -> None:
        if not self._in_set:
            self._in_set = group == "set"
        elif group == "end":
            self._in_set = False
        elif match.string.startswith("[:", match.start()):
            raise ValueError("Python has no classes of POSIX")
        else:
            raise _Ambiguous("a set within a set is not supported")


def _python_pattern(pattern: str) -> str:
    return _JAVA.sub(_Rewriting(), pattern)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> Pattern:
    try:
        return Pattern(_python_pattern(pattern))
    except (re.error, OverflowError, RecursionError, ValueError) as error:
        raise invalid(f"Invalid pattern '{pattern[:200]}': {error}") from None


@lru_cache(maxsize=512)
def _is_re2(pattern: str) -> bool:
    try:
        _python_pattern(pattern)
    except _Ambiguous:
        return False
    except ValueError:
        pass
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid:
        return False
    # RE2's end of text is Java's \z; it has these letters with another meaning, or none.
    return re.search(r"\\[GhHRZ]", pattern) is None


def _is_python(pattern: str) -> bool:
    try:
        _compiled(pattern)
    except ValueError:
        return False
    return True


def _check(call: Call) -> str | None:
    """Return the pattern if it is a literal. Raises an error for other types, or a pattern that neither engine can read."""
    for type_ in call.types[:2]:
        if type_ is not None and not type_.is_text and type_.name != "unknown":
            raise call.unexpected(f"{call.name}(varchar, pattern)")
    pattern = call.text(1)
    if pattern is not None:
        # The engine's RE2 knows only this form of a named group.
        pattern = re.sub(r"(?<!\\)\(\?<(?=[A-Za-z])", "(?P<", pattern)
        call.arguments[1].set("this", pattern)
    if pattern is not None and not _is_re2(pattern) and not _is_python(pattern):
        raise call.error(
            f"The pattern '{pattern[:200]}' is not valid, or has a construct that is not supported.",
            remedy="Look-around, backreferences and Unicode classes cannot be in one pattern; sets within sets are refused.",
        )
    return pattern


def _best(pattern: str | None, *, empty: bool = True) -> str:
    """Return which macro to use: '' for both, '_engine' or '_python' for one; ``empty``: may it match the empty text.

    '_guarded' is the engine, except for texts that it would read differently: they fail.
    """
    if pattern is None or not _is_re2(pattern):
        return "_python"
    if not _is_python(pattern):
        return "_guarded" if _ENDS_OR_BLANKS.search(pattern) else "_engine"
    return "" if empty or _compiled(pattern).search("") is None else "_python"


def _simple(name: str, *, empty: bool) -> Write:
    def write(call: Call) -> exp.Expr:
        return call_engine(f"trino_{name}{_best(_check(call), empty=empty)}", *call.arguments)

    return write


def _grouped(name: str) -> Write:
    def write(call: Call) -> exp.Expr:
        pattern = _check(call)
        group = call.arguments[2] if len(call.arguments) == 3 else exp.Literal.number(0)
        best = _best(pattern, empty=False)
        if pattern is not None and _is_python(pattern) and isinstance(group, exp.Literal):
            groups = _compiled(pattern).groups
            if int(group.name) > groups:
                raise call.error(f"Pattern has {groups} groups. Cannot access group {group.name}")
            if best == "" and int(group.name) > 0 and _OPTIONAL_GROUP.search(pattern):
                best = "_python"
        elif len(call.arguments) == 3:
            best = "_python"
        return call_engine(f"trino_{name}{best}", call.arguments[0], call.arguments[1], group)

    return write


def _replace(call: Call) -> exp.Expr:
    pattern = _check(call)
    if len(call.arguments) == 3 and isinstance(call.arguments[2], exp.Lambda):
        return _by_lambda(call)
    replacement = call.text(2) if len(call.arguments) == 3 else ""
    value = call.arguments[0]
    third = call.arguments[2] if len(call.arguments) == 3 else text("")
    best = _best(pattern, empty=False)
    if pattern is None or replacement is None or best == "_python" or not _is_python(pattern):
        return call_engine("trino_regexp_replace_python", value, call.arguments[1], third)
    try:
        parts = _parts(_compiled(pattern), replacement)
    except ValueError as error:
        raise call.error(str(error).partition("] ")[2]) from None
    # Groups that take no part give the empty text in both.
    own = "".join(f"\\{part}" if isinstance(part, int) else part.replace("\\", "\\\\") for part in parts)
    if any(isinstance(part, int) and part > 9 for part in parts):
        return call_engine("trino_regexp_replace_python", value, call.arguments[1], third)
    return call_engine("trino_regexp_replace", value, call.arguments[1], text(own), third)


def _by_lambda(call: Call) -> exp.Expr:
    """Replace each match by what a lambda makes of its groups; NULL for one makes all of the text NULL, as in Trino."""
    lambda_ = lambda_of(call, 2, 1)
    matches, one = (fresh(name, call.node) for name in ("matches", "match"))
    groups = call_engine("trino_without_first", exp.to_identifier(one))
    start = call_engine("list_extract", exp.to_identifier(one), exp.Literal.number(1))
    replaced = exp.DPipe(this=start, expression=body(lambda_, groups))
    before = call_engine("trino_without_last", exp.to_identifier(matches))
    parts = call_engine("list_transform", before, function(one, replaced))
    rest = call_engine("list_extract", exp.to_identifier(matches), exp.Literal.number(-1))
    joined = call_engine("trino_joined", parts, call_engine("list_extract", rest, exp.Literal.number(1)))
    return applied(function(matches, joined), call_engine("trino_regexp_matches", *call.arguments[:2]))


def _position(call: Call) -> exp.Expr:
    _check(call)
    defaults = [exp.Literal.number(1), exp.Literal.number(1)]
    return call_engine("trino_regexp_position", *call.arguments, *defaults[len(call.arguments) - 2 :])


def _split(call: Call) -> exp.Expr:
    _check(call)
    return call_engine("trino_regexp_split", *call.arguments)


_TEXTS = Type.array(VARCHAR)

ROWS: Sequence[Row] = [
    Row("regexp_like", arity=2, returns=BOOLEAN, write=_simple("regexp_like", empty=True)),
    Row("regexp_count", arity=2, returns=BIGINT, write=_simple("regexp_count", empty=False)),
    Row("regexp_extract", arity=(2, 3), returns=VARCHAR, write=_grouped("regexp_extract")),
    Row("regexp_extract_all", arity=(2, 3), returns=_TEXTS, write=_grouped("regexp_extract_all")),
    Row("regexp_position", arity=(2, 4), returns=INTEGER, write=_position),
    Row("regexp_replace", arity=(2, 3), returns=VARCHAR, write=_replace, lambdas=lambda _: ((_TEXTS,),)),
    Row("regexp_split", arity=2, returns=_TEXTS, write=_split),
]


def _count(value: str, pattern: str) -> int:
    return sum(1 for _ in _compiled(pattern).finditer(value))


def _check_group(compiled: Pattern, group: int) -> None:
    if not 0 <= group <= compiled.groups:
        raise invalid(f"Pattern has {compiled.groups} groups. Cannot access group {group}")


def _extract(value: str, pattern: str, group: int) -> str | None:
    compiled = _compiled(pattern)
    _check_group(compiled, group)
    match = compiled.search(value)
    return None if match is None else match[group]


def _extract_all(value: str, pattern: str, group: int) -> list[str | None]:
    compiled = _compiled(pattern)
    _check_group(compiled, group)
    return [match[group] for match in compiled.finditer(value)]


@lru_cache(maxsize=512)
def _parts(compiled: Pattern, replacement: str) -> tuple[str | int, ...]:
    """Return a replacement's pieces: text, and numbers of groups."""
    parts: list[str | int] = []
    at = 0
    while at < len(replacement):
        sign = replacement[at]
        at += 1
        if sign == "\\":
            if at == len(replacement):
                raise invalid("Invalid replacement sequence: a backslash at the end")
            parts.append(replacement[at])
            at += 1
        elif sign == "$":
            match = re.compile(r"\{(\w+)\}|(\d+)").match(replacement, at)
            if match is None:
                raise invalid(f"Invalid replacement sequence: {replacement[:100]}")
            group, used = _group(compiled, match)
            parts.append(group)
            at += used
        else:
            parts.append(sign)
    return tuple(parts)


def _group(compiled: Pattern, match: re.Match[str]) -> tuple[int, int]:
    """Return a group's number, and how many characters of the replacement name it."""
    if match[1] is not None:
        if match[1] not in compiled.groupindex:
            raise invalid(f"Invalid replacement sequence: unknown group {{ {match[1]} }}")
        return compiled.groupindex[match[1]], len(match[0])
    digits = match[2]
    used = 1
    while used < len(digits) and int(digits[: used + 1]) <= compiled.groups:
        used += 1
    if int(digits[:used]) > compiled.groups:
        raise invalid(f"Invalid replacement sequence: unknown group {{ {digits[:used]} }}")
    return int(digits[:used]), used


def _replaced(value: str, pattern: str, replacement: str) -> str:
    compiled = _compiled(pattern)
    parts = _parts(compiled, replacement)

    def expand(match: Any) -> str:
        return "".join((match[part] or "") if isinstance(part, int) else part for part in parts)

    return compiled.sub(expand, value)


def _matches_of(value: str, pattern: str) -> list[list[str | None]]:
    """Return for each match the text before it and its groups, and last the text behind all of them."""
    matches: list[list[str | None]] = []
    at = 0
    for match in _compiled(pattern).finditer(value):
        matches.append([value[at : match.start()], *match.groups()])
        at = match.end()
    return [*matches, [value[at:]]]


def _position_of(value: str, pattern: str, start: int, occurrence: int) -> int:
    if start < 1 or occurrence < 1:
        raise invalid("start position and occurrence cannot be smaller than 1")
    if start > len(value):
        return -1
    for number, match in enumerate(_compiled(pattern).finditer(value, start - 1), start=1):
        if number == occurrence:
            return int(match.start()) + 1
    return -1


def _split_of(value: str, pattern: str) -> list[str]:
    parts, at = [], 0
    for match in _compiled(pattern).finditer(value):
        parts.append(value[at : match.start()])
        at = match.end()
    return [*parts, value[at:]]


_GUARDED = (
    "CAST(CAST('TRINO[NOT_SUPPORTED] This pattern is not supported for text with a vertical tab or a line feed at its end' "
    "AS INTEGER) AS {})"
)


def _both(name: str, parameters: str, engine: str, returns: str) -> Sequence[Macro]:
    """Return the macro that matches ASCII text by the engine, and those that match all of it there."""
    python = f"trino_{name}_python({parameters})"
    return [
        Macro(f"trino_{name}", f"({parameters}) AS CASE WHEN trino_is_re2_text(x) THEN {engine} ELSE {python} END"),
        Macro(f"trino_{name}_engine", f"({parameters}) AS {engine}"),
        Macro(
            f"trino_{name}_guarded",
            f"({parameters}) AS CASE WHEN trino_has_odd_blank(x) THEN {_GUARDED.format(returns)} ELSE {engine} END",
        ),
    ]


def _python(name: str, others: Sequence[str], returns: str, function: Any) -> Definition:
    def bounded(*values: Any) -> Any:
        try:
            return function(*values)
        except TooSlow as error:
            raise invalid(str(error)) from None

    return by_row(f"trino_{name}", ["VARCHAR", "VARCHAR", *others], returns, bounded)


DEFINITIONS: Sequence[Definition] = [
    Macro("trino_has_odd_blank", "(x) AS suffix(x, chr(10)) OR contains(x, chr(11))"),
    Macro("trino_is_re2_text", "(x) AS strlen(x) = length(x) AND NOT trino_has_odd_blank(x)"),
    *_both("regexp_like", "x, p", "regexp_matches(x, p)", "BOOLEAN"),
    *_both("regexp_count", "x, p", "CAST(len(regexp_extract_all(x, p)) AS BIGINT)", "BIGINT"),
    *_both("regexp_extract", "x, p, g", "CASE WHEN regexp_matches(x, p) THEN regexp_extract(x, p, g) END", "VARCHAR"),
    *_both("regexp_extract_all", "x, p, g", "regexp_extract_all(x, p, g)", "VARCHAR[]"),
    Macro(
        "trino_regexp_replace",
        "(x, p, own, other) AS CASE WHEN trino_is_re2_text(x) THEN regexp_replace(x, p, own, 'g') "
        "ELSE trino_regexp_replace_python(x, p, other) END",
    ),
    _python("regexp_like_python", [], "BOOLEAN", lambda value, pattern: _compiled(pattern).search(value) is not None),
    _python("regexp_count_python", [], "BIGINT", _count),
    _python("regexp_extract_python", ["BIGINT"], "VARCHAR", _extract),
    _python("regexp_extract_all_python", ["BIGINT"], "VARCHAR[]", _extract_all),
    _python("regexp_replace_python", ["VARCHAR"], "VARCHAR", _replaced),
    _python("regexp_matches", [], "VARCHAR[][]", _matches_of),
    Macro("trino_without_first", "(x) AS x[2:]"),
    Macro("trino_without_last", "(x) AS x[1:len(x) - 1]"),
    Macro(
        "trino_joined",
        "(parts, rest) AS CASE WHEN len(parts) = list_count(parts) "
        "THEN coalesce(list_aggregate(parts, 'string_agg', ''), '') || rest END",
    ),
    _python("regexp_position", ["BIGINT", "BIGINT"], "INTEGER", _position_of),
    _python("regexp_split", [], "VARCHAR[]", _split_of),
]
