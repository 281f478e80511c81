"""String functions. Positions and lengths count code points.

Source: Trino's documentation, "String functions and operators"; edges as in Trino's own tests of string functions.
"""

from collections.abc import Sequence

from sqlglot import exp

from penstock.sql.functions.build import integer, text
from penstock.sql.functions.nested.lambdas import body, fresh, function, lambda_of
from penstock.sql.functions.rows import (
    Call,
    Definition,
    Macro,
    Row,
    Types,
    Write,
    call_engine,
    fail,
    refuse,
    renamed,
    strict,
)
from penstock.sql.functions.scalars import words
from penstock.sql.trino_types import BIGINT, BOOLEAN, INTEGER, VARBINARY, VARCHAR, Type

__all__ = ["DEFINITIONS", "ROWS"]

# What Trino trims: Unicode's white space without the spaces that do not break.
_BLANKS = (
    " \t\n\x0b\f\r\x1c\x1d\x1e\x1f\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a\u2028\u2029\u205f\u3000"
)
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim", "": "trim"}
_FORMS = {"NFC", "NFD", "NFKC", "NFKD"}


def _is(type_: Type | None, name: str) -> bool:
    return type_ is not None and type_.name == name


def _check_texts(call: Call, count: int) -> None:
    """Raise Trino's error if one of the first arguments is not text; the engine would cast it."""
    for type_ in call.types[:count]:
        if type_ is not None and not type_.is_text and type_.name != "unknown":
            raise call.unexpected(f"{call.name}(varchar)")


def _texts(name: str, engine: str, arity: tuple[int, int | None], returns: Type, count: int = 1) -> Row:
    """Return the row of a function whose first ``count`` arguments are text."""

    def write(call: Call) -> exp.Expr:
        _check_texts(call, count)
        return call_engine(engine, *call.arguments)

    return Row(name, arity=arity, returns=returns, write=write)


def _split_to_map(call: Call) -> exp.Expr:
    """Return the map; for a repeated key, a lambda combines the value so far with the next."""
    _check_texts(call, 3)
    if len(call.arguments) == 3:
        return call_engine("trino_split_to_map", *call.arguments)
    lambda_ = lambda_of(call, 3, 3)
    entry, so_far, new = (fresh(name, call.node) for name in ("entry", "so_far", "new"))
    key, values = (call_engine("struct_extract_at", exp.to_identifier(entry), integer(at)) for at in (1, 2))
    names = [exp.to_identifier(name) for name in (so_far, new)]
    merged = exp.Lambda(this=body(lambda_, key, *names), expressions=[name.copy() for name in names])
    pair = call_engine("row", key.copy(), call_engine("list_reduce", values, merged))
    entries = call_engine("map_entries", call_engine("trino_split_to_multimap", *call.arguments[:3]))
    return call_engine("map_from_entries", call_engine("list_transform", entries, function(entry, pair)))


def _same_text(types: Types) -> Type | None:
    return types[0] if _is(types[0], "varchar") or _is(types[0], "char") else VARCHAR


def _as_char(call: Call, value: exp.Expr) -> exp.Expr:
    """Return ``value`` with the blanks of the first argument's type, if that is a char."""
    type_ = call.types[0]
    if type_ is None or type_.name != "char" or not type_.numbers:
        return value
    return call_engine("rpad", value, integer(type_.numbers[0]), text(" "))


def _length(call: Call) -> exp.Expr:
    if _is(call.types[0], "varbinary"):
        return call_engine("octet_length", call.arguments[0])
    _check_texts(call, 1)
    return call_engine("length", call.arguments[0])


def _of_text_or_bytes(strings: str, binaries: str) -> Write:
    def write(call: Call) -> exp.Expr:
        if _is(call.types[0], "varbinary"):
            return call_engine(binaries, *call.arguments)
        _check_texts(call, 1)
        return call_engine(strings, *call.arguments)

    return write


def _text_or_bytes(types: Types) -> Type | None:
    return VARBINARY if _is(types[0], "varbinary") else VARCHAR


def _substring(call: Call) -> exp.Expr:
    numbered = f"trino_substring{len(call.arguments)}"
    if _is(call.types[0], "varbinary"):
        return call_engine(f"trino_subbinary{len(call.arguments)}", *call.arguments)
    _check_texts(call, 1)
    return call_engine(numbered, *call.arguments)


def _trim(name: str) -> Write:
    def write(call: Call) -> exp.Expr:
        _check_texts(call, len(call.arguments))
        return _as_char(call, call_engine(name, call.arguments[0], *(call.arguments[1:] or [text(_BLANKS)])))

    return write


def _trim_from(call: Call) -> exp.Expr:
    node = call.node
    position = node.args.get("position")
    side = (position if isinstance(position, str) else position.name if position is not None else "").upper()
    return _as_char(call, call_engine(_TRIMS[side], node.this, node.args.get("expression") or text(_BLANKS)))


def _normalize(call: Call) -> exp.Expr:
    form = call.node.args.get("form")
    name = form.name.upper() if isinstance(form, exp.Expr) else "NFC"
    if name not in _FORMS:
        raise call.error(f"Unknown normal form {name}", code="SYNTAX_ERROR")
    return call_engine("trino_normalize", call.node.this, text(name))


def _overlay(call: Call) -> exp.Expr:
    node = call.node
    replacement, start, length = node.expression, node.args["from_"], node.args.get("for_")
    if length is None:
        length = call_engine("length", replacement.copy())
    return call_engine("trino_overlay", node.this, replacement, start, length)


def _concat_ws(call: Call) -> exp.Expr:
    if len(call.arguments) == 2 and _is(call.types[1], "array"):
        return call_engine("trino_join_array", *reversed(call.arguments))
    _check_texts(call, len(call.arguments))
    return call_engine("concat_ws", *call.arguments)


def _reverse(call: Call) -> exp.Expr:
    if _is(call.types[0], "array"):
        return call_engine("list_reverse", *call.arguments)
    return _of_text_or_bytes("trino_reverse", "trino_reverse_binary")(call)


def _like(call: Call) -> exp.Expr:
    for type_ in call.types[:2]:
        if type_ is not None and not type_.is_text and type_.name != "unknown":
            raise call.error(
                f"Left side of LIKE expression must evaluate to a varchar (actual: {type_})", code="TYPE_MISMATCH"
            )
    return call.node


def _escape(call: Call) -> exp.Expr:
    """Check what the engine takes without a word: an escape before another character, and an empty one."""
    like, sign = call.node.this, call.node.expression
    like = like.unnest()
    if isinstance(like, exp.Like):
        like.set("expression", call_engine("trino_like_pattern", like.expression, sign.copy()))
    return call.node


def _letters(call: Call) -> exp.Expr:
    _check_texts(call, 1)
    return call_engine("trino_upper" if call.name == "upper" else "lower", call.arguments[0])


_STEMMER = "the engine has no stemmer"

ROWS: Sequence[Row] = [
    Row("LIKE", nodes=(exp.Like,), returns=BOOLEAN, write=_like),
    Row("ESCAPE", nodes=(exp.Escape,), returns=BOOLEAN, write=_escape),
    _texts("chr", "trino_chr", (1, 1), Type("varchar", (1,)), 0),
    _texts("codepoint", "trino_codepoint", (1, 1), INTEGER),
    Row("concat_ws", arity=(2, None), returns=VARCHAR, write=_concat_ws),
    _texts("ends_with", "suffix", (2, 2), BOOLEAN, 2),
    _texts("starts_with", "starts_with", (2, 2), BOOLEAN, 2),
    _texts("hamming_distance", "trino_hamming_distance", (2, 2), BIGINT, 2),
    Row("length", arity=1, returns=BIGINT, write=_length),
    _texts("levenshtein_distance", "trino_levenshtein_distance", (2, 2), BIGINT, 2),
    Row("lower", arity=1, returns=_same_text, write=_letters),
    Row("upper", arity=1, returns=_same_text, write=_letters),
    Row("lpad", arity=3, returns=_text_or_bytes, write=_of_text_or_bytes("trino_lpad", "trino_lpad_binary")),
    Row("rpad", arity=3, returns=_text_or_bytes, write=_of_text_or_bytes("trino_rpad", "trino_rpad_binary")),
    *(Row(name, arity=(1, 2), returns=_same_text, write=_trim(name)) for name in ("ltrim", "rtrim")),
    Row("trim", nodes=(exp.Trim,), returns=_same_text, write=_trim_from),
    _texts("luhn_check", "trino_luhn_check", (1, 1), BOOLEAN),
    Row(
        "position",
        nodes=(exp.StrPosition,),
        returns=BIGINT,
        write=lambda call: call_engine("strpos", call.node.this, call.node.args["substr"]),
    ),
    _texts("strpos", "trino_strpos", (2, 3), BIGINT, 2),
    _texts("replace", "trino_replace", (2, 3), VARCHAR, 3),
    Row(
        "reverse",
        arity=1,
        returns=lambda types: types[0] if _is(types[0], "array") else _text_or_bytes(types),
        write=_reverse,
    ),
    _texts("soundex", "trino_soundex", (1, 1), VARCHAR),
    _texts("split", "trino_split", (2, 3), Type.array(VARCHAR), 2),
    _texts("split_part", "trino_split_part", (3, 3), VARCHAR, 2),
    Row(
        "split_to_map",
        arity=(3, 4),
        returns=Type.map(VARCHAR, VARCHAR),
        write=_split_to_map,
        lambdas=lambda _: ((VARCHAR, VARCHAR, VARCHAR),),
    ),
    _texts("split_to_multimap", "trino_split_to_multimap", (3, 3), Type.map(VARCHAR, Type.array(VARCHAR)), 3),
    Row("substr", arity=(2, 3), returns=_text_or_bytes, write=_substring),
    Row("substring", nodes=(exp.Substring,), returns=_text_or_bytes, write=_substring),
    _texts("title_case", "trino_title_case", (1, 1), VARCHAR),
    _texts("translate", "trino_translate", (3, 3), VARCHAR, 3),
    Row("normalize", nodes=(exp.Normalize,), returns=VARCHAR, write=_normalize),
    Row(
        "overlay", nodes=(exp.Overlay,), returns=VARCHAR, write=_overlay, operands=lambda node: [node.this, node.expression]
    ),
    *refuse("word_stem", _STEMMER, "Stem words in a job."),
    renamed("to_utf8", "encode", 1, VARBINARY),
    renamed("from_utf8", "trino_from_utf8", (1, 2), VARCHAR),
]


_NEGATIVE = fail("Target length must be in the range [0..2147483647]", "VARCHAR")
_PADDING = fail("Padding string must not be empty", "VARCHAR")
_INDEX = fail("Index must be greater than zero", "VARCHAR")
_DELIMITER = fail("The delimiter may not be the empty string", "VARCHAR[]")
_LIMIT = fail("Limit must be positive", "VARCHAR[]")
_POINT = fail("Not a valid Unicode code point", "VARCHAR")
_SINGLE = fail("Input string must be a single character string", "INTEGER")
_START = fail("Start position must be greater than 0", "VARCHAR")
_ENTRY = fail("Key-value delimiter must appear exactly once in each entry", "VARCHAR[]")
_SAME = fail("entryDelimiter and keyValueDelimiter must not be the same", "VARCHAR[]")
_PAIRS = "list_transform(string_split(x, entries), lambda entry: string_split(entry, pairs))"
_CHECKED_PAIRS = (
    f"CASE WHEN entries = pairs THEN [{_SAME}] WHEN x = '' THEN [] "
    f"ELSE list_transform({_PAIRS}, lambda pair: CASE WHEN len(pair) = 2 THEN pair ELSE {_ENTRY} END) END"
)


def _padded(side: str) -> str:
    pad = f"{side}(x, CAST(n AS INTEGER), padding)"
    return f"(x, n, padding) AS CASE WHEN n < 0 THEN {_NEGATIVE} WHEN padding = '' THEN {_PADDING} ELSE {pad} END"


_NOT_ONE_SIGN = fail("Escape string must be a single character", "VARCHAR")
_BAD_ESCAPE = fail("Escape character must be followed by '%', '_' or the escape character itself", "VARCHAR")

DEFINITIONS: Sequence[Definition] = [
    Macro(
        "trino_like_pattern",
        f"(p, e) AS CASE WHEN length(e) <> 1 THEN {_NOT_ONE_SIGN} WHEN contains(replace(replace(replace(p, e || e, ''), "
        f"e || '%', ''), e || '_', ''), e) THEN {_BAD_ESCAPE} ELSE p END",
    ),
    *words.DEFINITIONS,
    Macro("trino_chr", f"(n) AS CASE WHEN n < 0 OR n > 1114111 THEN {_POINT} ELSE chr(CAST(n AS INTEGER)) END"),
    Macro("trino_codepoint", f"(x) AS CASE WHEN length(x) = 1 THEN unicode(x) WHEN x IS NOT NULL THEN {_SINGLE} END"),
    # Java has no capital letter for it; the engine has.
    Macro(
        "trino_upper",
        "(x) AS CASE WHEN contains(x, 'ß') THEN replace(upper(replace(x, 'ß', chr(1))), chr(1), 'ß') ELSE upper(x) END",
    ),
    Macro("trino_lpad", _padded("lpad")),
    Macro("trino_rpad", _padded("rpad")),
    Macro("trino_join_array", "(items, separator) AS array_to_string(items, separator)"),
    Macro(
        "trino_levenshtein_distance",
        "(a, b) AS CASE WHEN strlen(a) = length(a) AND strlen(b) = length(b) THEN levenshtein(a, b) "
        "ELSE trino_levenshtein_unicode(a, b) END",
    ),
    Macro("trino_strpos", "(x, part) AS strpos(x, part)", "(x, part, instance) AS trino_strpos_instance(x, part, instance)"),
    Macro(
        "trino_replace",
        "(x, search) AS replace(x, search, '')",
        "(x, search, other) AS CASE WHEN search = '' THEN other || CASE WHEN x = '' "
        "THEN '' ELSE array_to_string(list_transform(string_split(x, ''), lambda each: each || other), '') END "
        "ELSE replace(x, search, other) END",
    ),
    Macro("trino_reverse", "(x) AS CASE WHEN strlen(x) = length(x) THEN reverse(x) ELSE trino_reverse_unicode(x) END"),
    Macro(
        "trino_split",
        strict("x, delimiter", f"CASE WHEN delimiter = '' THEN {_DELIMITER} ELSE string_split(x, delimiter) END"),
        strict(
            "x, delimiter, n",
            f"CASE WHEN delimiter = '' THEN {_DELIMITER} WHEN n <= 0 THEN {_LIMIT} ELSE "
            "string_split(x, delimiter)[:n - 1] || CASE WHEN len(string_split(x, delimiter)) >= n THEN "
            "[substring(x, length(array_to_string(string_split(x, delimiter)[:n - 1], '')) "
            "+ (n - 1) * length(delimiter) + 1)] ELSE [] END END",
        ),
    ),
    Macro(
        "trino_split_part",
        strict(
            "x, delimiter, n",
            f"CASE WHEN n <= 0 THEN {_INDEX} WHEN delimiter = '' "
            "THEN substring(x, n, 1) ELSE string_split(x, delimiter)[n] END",
        ),
    ),
    Macro(
        "trino_split_to_map",
        strict(
            "x, entries, pairs",
            f"map_from_entries(list_transform({_CHECKED_PAIRS}, lambda pair: (pair[1], pair[2])))",
        ),
    ),
    # The engine counts 0 and starts before the text as Trino does not.
    Macro(
        "trino_substring2",
        strict(
            "x, start",
            "CASE WHEN start > 0 THEN substring(x, start) WHEN start < 0 AND -start <= length(x) "
            "THEN substring(x, length(x) + start + 1) ELSE '' END",
        ),
    ),
    Macro(
        "trino_substring3",
        strict(
            "x, start, n",
            "CASE WHEN n <= 0 THEN '' WHEN start > 0 THEN substring(x, start, n) "
            "WHEN start < 0 AND -start <= length(x) THEN substring(x, length(x) + start + 1, n) ELSE '' END",
        ),
    ),
    Macro(
        "trino_overlay",
        strict(
            "x, other, start, n",
            f"CASE WHEN start <= 0 THEN {_START} ELSE substring(x, 1, start - 1) || other || "
            "substring(x, start + greatest(n, 0)) END",
        ),
    ),
    Macro(
        "trino_from_utf8",
        "(x) AS trino_decode(x, '\ufffd')",
        "(x, replacement) AS trino_decode(x, trino_replacement(replacement))",
    ),
]
