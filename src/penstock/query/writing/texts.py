"""Rows as lines of JSON and of delimited text, which Hive's SerDes read back as the same values."""

import base64
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.query.writing.options import WriteOptions
from penstock.sql.errors import StatementError
from penstock.types.model import LakeType, Struct

__all__ = ["json_line", "text_line"]

_LINE_ENDS = ("\n", "\r")


def json_line(columns: Sequence[tuple[str, LakeType]]) -> Callable[[Sequence[Any]], str]:
    """Return the function from a row's values to its line; NULLs are left out."""
    fields = [(f"{json.dumps(name, ensure_ascii=False)}:", _json(type_)) for name, type_ in columns]

    def line(row: Sequence[Any]) -> str:
        parts = [name + value(item) for (name, value), item in zip(fields, row, strict=True) if item is not None]
        return "{" + ",".join(parts) + "}\n"

    return line


def _json(type_: LakeType) -> Callable[[Any], str]:
    """Return the function from a value that is not NULL to its JSON."""
    if type_.name == "array":
        item = _nullable(_json(type_.inner[0]))
        return lambda value: "[" + ",".join(map(item, value)) + "]"
    if type_.name == "map":
        key, inner = _plain(type_.inner[0]), _nullable(_json(type_.inner[1]))
        return lambda value: "{" + ",".join(f"{_quoted(key(name))}:{inner(entry)}" for name, entry in value) + "}"
    if isinstance(type_, Struct):
        fields = [(field.name, _nullable(_json(field.type))) for field in type_.fields]
        return lambda value: "{" + ",".join(f"{_quoted(name)}:{inner(value[name])}" for name, inner in fields) + "}"
    if type_.name == "binary":
        raise StatementError("NOT_SUPPORTED", "JSON files cannot have binary columns.", remedy="Write to_base64(column).")
    plain = _plain(type_)
    if type_.name in {"float", "double"}:
        return lambda value: plain(value) if math.isfinite(value) else _not_finite(value)
    if type_.name in {"string", "varchar", "char", "date", "timestamp", "timestamptz"}:
        return lambda value: _quoted(plain(value))
    return plain


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _nullable(inner: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: "null" if value is None else inner(value)


def _not_finite(value: float) -> str:
    raise StatementError("NOT_SUPPORTED", f"JSON has no number {value}.", remedy="Write NULL or a text in its place.")


def _plain(type_: LakeType) -> Callable[[Any], str]:
    """Return the function from a number, a text, a time or bytes to its text."""
    return _PLAIN.get(type_.name, str)


def _instant(value: Any) -> str:
    return str(value.strftime("%Y-%m-%d %H:%M:%S.%f")).zfill(26)


def _real(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


_PLAIN: Mapping[str, Callable[[Any], str]] = {
    "boolean": lambda value: "true" if value else "false",
    "float": _real,
    "double": _real,
    "date": lambda value: str(value.isoformat()),
    "timestamp": _instant,
    "timestamptz": _instant,
    "decimal": lambda value: format(value, "f"),
    "binary": lambda value: base64.b64encode(value).decode(),
}


def text_line(columns: Sequence[tuple[str, LakeType]], options: WriteOptions) -> Callable[[Sequence[Any]], str]:
    """Return the function from a row's values to its line of text.

    It raises :class:`StatementError` for a text with a delimiter or a line end, which readers would take for the file's.
    """
    values = [_text(type_, options, 1) for _, type_ in columns]
    delimiter, null = options.delimiter, options.null

    def line(row: Sequence[Any]) -> str:
        parts = [null if item is None else value(item) for value, item in zip(values, row, strict=True)]
        return delimiter.join(parts) + "\n"

    return line


def _text(type_: LakeType, options: WriteOptions, level: int) -> Callable[[Any], str]:
    mark = chr(level + 1)
    if type_.name == "array":
        item = _text_or_null(_text(type_.inner[0], options, level + 1), options)
        return lambda value: mark.join(map(item, value))
    if isinstance(type_, Struct):
        fields = [(field.name, _text_or_null(_text(field.type, options, level + 1), options)) for field in type_.fields]
        return lambda value: mark.join(inner(value[name]) for name, inner in fields)
    if type_.name == "map":
        key, inner = (_text_or_null(_text(entry, options, level + 2), options) for entry in type_.inner)
        between = chr(level + 2)
        return lambda value: mark.join(f"{key(name)}{between}{inner(entry)}" for name, entry in value)
    plain = _plain(type_)
    if type_.name not in {"string", "varchar", "char"}:
        return plain
    special = {options.delimiter, *_LINE_ENDS, *(chr(code) for code in range(1, 9))}

    def checked(value: str) -> str:
        if value == options.null or not special.isdisjoint(value):
            raise StatementError(
                "NOT_SUPPORTED",
                f"The text {value[:50]!r} has a delimiter or a line end, or is the text of NULL.",
                remedy="Choose another field_delimiter, replace the character, or write Parquet, ORC, Avro or JSON.",
            )
        return value

    return checked


def _text_or_null(inner: Callable[[Any], str], options: WriteOptions) -> Callable[[Any], str]:
    return lambda value: options.null if value is None else inner(value)
