"""String functions in Python: those for which the engine has none, or one that counts bytes or graphemes."""

import unicodedata
from collections.abc import Callable, Sequence

from penstock.sql.functions.java import java_double
from penstock.sql.functions.python import by_row, invalid
from penstock.sql.functions.rows import Definition

__all__ = ["DEFINITIONS"]

_SOUNDEX = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230120022455012623010202", strict=True))


def _hamming(left: str, right: str) -> int:
    if len(left) != len(right):
        raise invalid("The input strings to hamming_distance function must have the same length")
    return sum(a != b for a, b in zip(left, right, strict=True))


def _levenshtein(left: str, right: str) -> int:
    if len(left) * len(right) > 1_000_000:
        raise invalid("The combined inputs for Levenshtein distance are too large")
    before = list(range(len(right) + 1))
    for row, a in enumerate(left, start=1):
        line = [row]
        for at, b in enumerate(right, start=1):
            line.append(min(before[at] + 1, line[at - 1] + 1, before[at - 1] + (a != b)))
        before = line
    return before[-1]


def _luhn(value: str) -> bool:
    if not value:
        return False
    if not (value.isascii() and value.isdecimal()):
        raise invalid("Input string must only contain digits")
    doubled = [int(name) * (1 + number % 2) for number, name in enumerate(reversed(value))]
    return sum(number // 10 + number % 10 for number in doubled) % 10 == 0


def _multimap(value: str, entries: str, pairs: str) -> list[tuple[str, list[str]]]:
    if not entries or not pairs or entries == pairs:
        raise invalid("entryDelimiter and keyValueDelimiter must not be the same, and not be empty")
    values: dict[str, list[str]] = {}
    for entry in value.split(entries) if value else ():
        parts = entry.split(pairs)
        if len(parts) != 2:
            raise invalid(f"Key-value delimiter must appear exactly once in each entry. Bad input: '{entry}'")
        values.setdefault(parts[0], []).append(parts[1])
    return list(values.items())


def _strpos(value: str, part: str, instance: int) -> int:
    if instance == 0:
        raise invalid("'instance' must be a positive or negative number.")
    if not part:
        return 1
    at = -1 if instance > 0 else len(value)
    for _ in range(abs(instance)):
        if instance > 0:
            at = value.find(part, at + 1)
        else:
            at = value.rfind(part, 0, at + len(part) - 1) if at + len(part) - 1 >= 0 else -1
        if at < 0:
            return 0
    return at + 1


def _soundex(value: str) -> str:
    if not value:
        return ""
    letters = [name for name in value.upper() if name.isalpha()]
    unmapped = next((letter for letter in letters if letter not in _SOUNDEX), None)
    if unmapped is not None:
        raise invalid(f"The character is not mapped: {unmapped} (index={value.upper().index(unmapped)})")
    if not letters:
        return ""
    code, last = letters[0], _SOUNDEX[letters[0]]
    for letter in letters[1:]:
        digit = _SOUNDEX[letter]
        if digit not in {"0", last}:
            code += digit
        if letter not in "HW":
            last = digit
        if len(code) == 4:
            break
    return code.ljust(4, "0")


def _title(value: str) -> str:
    result, inside = [], False
    for name in value:
        result.append(name.lower() if inside else name.upper())
        inside = name.isalnum()
    return "".join(result)


def _translate(value: str, sources: str, targets: str) -> str:
    table: dict[int, str | None] = {}
    for number, source in enumerate(sources):
        table.setdefault(ord(source), targets[number] if number < len(targets) else None)
    return value.translate(table)


def _normalize(value: str, form: str) -> str:
    return unicodedata.normalize(form, value)  # type: ignore[arg-type]


def _decode(value: bytes, replacement: str) -> str:
    return value.decode("utf-8", "replace") if replacement == "\ufffd" else _replaced(value, replacement)


def _replaced(value: bytes, replacement: str) -> str:
    result, at = [], 0
    while at < len(value):
        try:
            result.append(value[at:].decode("utf-8"))
            break
        except UnicodeDecodeError as error:
            result += [value[at : at + error.start].decode("utf-8"), replacement]
            at += error.end
    return "".join(result)


def _replacement(value: str) -> str:
    if len(value) > 1:
        raise invalid(f"Replacement character string must empty or a single character: {value}")
    return value


def _real(value: float) -> str:
    from numpy import float32  # noqa: PLC0415 - only for reals

    return java_double(value, digits=lambda item: str(float32(item)))


def _function(name: str, parameters: Sequence[str], returns: str, function: Callable[..., object]) -> Definition:
    return by_row(f"trino_{name}", parameters, returns, function)


DEFINITIONS: Sequence[Definition] = [
    _function("hamming_distance", ["VARCHAR"] * 2, "BIGINT", _hamming),
    _function("levenshtein_unicode", ["VARCHAR"] * 2, "BIGINT", _levenshtein),
    _function("split_to_multimap", ["VARCHAR"] * 3, "MAP(VARCHAR, VARCHAR[])", _multimap),
    _function("luhn_check", ["VARCHAR"], "BOOLEAN", _luhn),
    _function("strpos_instance", ["VARCHAR", "VARCHAR", "BIGINT"], "BIGINT", _strpos),
    _function("reverse_unicode", ["VARCHAR"], "VARCHAR", lambda value: value[::-1]),
    _function("soundex", ["VARCHAR"], "VARCHAR", _soundex),
    _function("title_case", ["VARCHAR"], "VARCHAR", _title),
    _function("translate", ["VARCHAR"] * 3, "VARCHAR", _translate),
    _function("normalize", ["VARCHAR"] * 2, "VARCHAR", _normalize),
    _function("decode", ["BLOB", "VARCHAR"], "VARCHAR", _decode),
    _function("replacement", ["VARCHAR"], "VARCHAR", _replacement),
    _function("double_text", ["DOUBLE"], "VARCHAR", java_double),
    _function("real_text", ["FLOAT"], "VARCHAR", _real),
]
