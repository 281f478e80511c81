"""Translate the engine's errors to Athena's: code, position in the caller's SQL, ``s3://`` names instead of paths."""

import re
from pathlib import Path

import duckdb
from sqlglot import exp

from penstock.query.errors import StatementCancelled, memory_exceeded
from penstock.query.tables.formats.faults import carried_in
from penstock.sql.errors import Position, StatementError
from penstock.sql.names.suggestions import did_you_mean
from penstock.sql.positions import position_of

__all__ = ["translate_error"]

_OURS = re.compile(r"TRINO\[(\w+)\] (.*?)(?:' to [A-Z]+[0-9]*)?$", re.MULTILINE)
_INTEGER_RANGE = re.compile(r"Type U?INT\d+ with value (\S+) can't be cast because the value is out of range")
_COLUMN = re.compile(r'Referenced column "([^"]+)" not found|does not have a column named "([^"]+)"')
_TABLE = re.compile(r'Referenced table "([^"]+)" not found')
_FUNCTION = re.compile(r"Function with name \"?([^\s\"]+)\"? does not exist")
_SIGNATURE = re.compile(r"No function matches the given name and argument types '([^(']+)\(")
# What a macro of the dialect fails with (`functions.rows.fail`), inside the engine's error about the cast.
_OWN = re.compile(r"TRINO\[(\w+)\] (.*?)(?:' to INT32.*)?$", re.DOTALL)
_OVERLOAD = re.compile(r"Macro (trino_\w+)\(\) (?:does not support the supplied|has multiple overloads)")
_UNGROUPED = re.compile(r'column "([^"]+)" must appear in the GROUP BY', re.IGNORECASE)
_AMBIGUOUS = re.compile(r'Ambiguous reference to column name "([^"]+)"')
_OURS_INSIDE = re.compile(r"\btrino_\w+", re.IGNORECASE)
# The engine's names of types, and Trino's.
_TYPES = {
    **dict.fromkeys(("INT128", "UINT128", "HUGEINT", "UHUGEINT"), "decimal(38,0)"),
    **dict.fromkeys(("INT64", "UINT64", "BIGINT", "UBIGINT"), "bigint"),
    **dict.fromkeys(("INT32", "UINT32", "INTEGER", "UINTEGER"), "integer"),
    **dict.fromkeys(("INT16", "UINT16", "SMALLINT", "USMALLINT"), "smallint"),
    **dict.fromkeys(("INT8", "UINT8", "TINYINT", "UTINYINT"), "tinyint"),
    **dict.fromkeys(("BOOL", "BOOLEAN"), "boolean"),
    **dict.fromkeys(("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"), "timestamp with time zone"),
    **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP"), "timestamp"),
    **{
        "VARCHAR": "varchar",
        "BLOB": "varbinary",
        "DOUBLE": "double",
        "FLOAT": "real",
        "STRUCT": "row",
        "ANY_VALUE": "arbitrary",
    },
}
_TYPE = re.compile(rf"\b(?:{'|'.join(sorted(_TYPES, key=len, reverse=True))})\b")
_SENTENCES = (
    (re.compile(r"Could not convert string '(.*?)' to ([A-Z0-9]+)", re.DOTALL), "Cannot cast '{}' to {}"),
    (
        re.compile(r"Type (\S+) with value (.+?) can't be cast .*? destination type (\S+)", re.DOTALL),
        "Out of range for {2}: {1}",
    ),
    (re.compile(r"Casting value \"(.*?)\" to type (.+?) failed", re.DOTALL), "Cannot cast {} '{}'"),
    (re.compile(r"Overflow in (\w+) of ([A-Z0-9]+) \((.*?)\)!?", re.DOTALL), "{1} {0} overflow: {2}"),
)
# A sum of integers has 128 bits in the engine, and is a bigint.
_WIDE = re.compile(
    r"Type INT128 with value \S+ can't be cast because the value is out of range for the destination type INT64"
)
_BAD_FILE = re.compile(
    r"No magic bytes|too small to be a Parquet|footer|Parquet|Thrift|corrupt|Snappy|ZSTD|Deserializ", re.IGNORECASE
)
_MISSING = re.compile(r"No files found|No such file|Cannot open file", re.IGNORECASE)

_CODES: tuple[tuple[type[Exception], str], ...] = (
    (duckdb.ParserException, "SYNTAX_ERROR"),
    (duckdb.SyntaxException, "SYNTAX_ERROR"),
    (duckdb.BinderException, "SYNTAX_ERROR"),
    (duckdb.CatalogException, "SYNTAX_ERROR"),
    (duckdb.ConversionException, "INVALID_CAST_ARGUMENT"),
    (duckdb.OutOfRangeException, "NUMERIC_VALUE_OUT_OF_RANGE"),
    (duckdb.TypeMismatchException, "TYPE_MISMATCH"),
    (duckdb.NotImplementedException, "NOT_SUPPORTED"),
    (duckdb.PermissionException, "PERMISSION_DENIED"),
    (duckdb.InvalidInputException, "INVALID_FUNCTION_ARGUMENT"),
    (duckdb.IOException, "HIVE_CANNOT_OPEN_SPLIT"),
)


def translate_error(error: Exception, tree: exp.Query | None, lake: Path) -> StatementError | StatementCancelled:
    """Return the error for the caller that stands for the engine's ``error``."""
    text = _clean_text(error.message if isinstance(error, StatementError) else str(error), lake)
    if isinstance(error, MemoryError):  # Arrow's is both
        return memory_exceeded()
    if isinstance(error, StatementError):
        message = text.removeprefix(f"{error.code}: ")
        return StatementError(error.code, message, remedy=error.remedy) if error.position is None else error
    carried = carried_in(text)
    if carried is not None:
        return carried
    if isinstance(error, duckdb.InterruptException) or "INTERRUPT" in text:
        return StatementCancelled("The statement was interrupted.")
    ours = _OURS.search(text)
    if ours is not None:
        return StatementError(ours[1], ours[2])
    return _error_about_name(text, tree) or _error_by_text(error, text) or _error_by_class(error, text)


def _error_about_name(text: str, tree: exp.Query | None) -> StatementError | None:
    """Return an error about a name, with its position, if ``text`` is about one."""
    for pattern, code, what in (
        (_COLUMN, "COLUMN_NOT_FOUND", "Column '{}' cannot be resolved"),
        (_TABLE, "COLUMN_NOT_FOUND", "'{}' is not a table of this query"),
        (_FUNCTION, "FUNCTION_NOT_FOUND", "Function '{}' not registered"),
        (_SIGNATURE, "FUNCTION_NOT_FOUND", "Unexpected parameters for function '{}'"),
        (_OVERLOAD, "FUNCTION_NOT_FOUND", "Unexpected parameters for function '{}'"),
        (_UNGROUPED, "EXPRESSION_NOT_AGGREGATE", "'{}' must be an aggregate expression or appear in GROUP BY clause"),
        (_AMBIGUOUS, "AMBIGUOUS_NAME", "Column '{}' is ambiguous"),
    ):
        match = pattern.search(text)
        if match is not None:
            name = next(group for group in match.groups() if group)
            if _OURS_INSIDE.search(name):
                return StatementError(code, "Unexpected parameters for a function of the statement")
            candidates = re.findall(r'"([^"]+)"', text.partition("Candidate bindings")[2])
            remedy = did_you_mean(name, (candidate.rpartition(".")[2] for candidate in candidates))
            return StatementError(code, what.format(name), position=_position(tree, name), remedy=remedy)
    return None


def _error_by_text(error: Exception, text: str) -> StatementError | None:
    """Return the error if the words of ``text`` identify it."""
    message = _message(text)
    if isinstance(error, duckdb.OutOfMemoryException) or "Out of Memory" in text:
        return _exceeded(text)
    for matches, code, what, remedy in (
        ("Division by zero" in text, "DIVISION_BY_ZERO", "Division by zero", "Guard the divisor: NULLIF(divisor, 0)."),
        (_INTEGER_RANGE.search(text), "NUMERIC_VALUE_OUT_OF_RANGE", message, None),
        (_MISSING.search(text), "HIVE_CANNOT_OPEN_SPLIT", message, "The files changed while they were read: run it again."),
        (_WIDE.search(text), "NUMERIC_VALUE_OUT_OF_RANGE", "bigint overflow", None),
    ):
        if matches:
            return StatementError(code, what, remedy=remedy)
    if isinstance(error, duckdb.InvalidInputException | duckdb.IOException | OSError) and _BAD_FILE.search(text):
        return StatementError("HIVE_BAD_DATA", message, remedy="Remove or rewrite the file that is not readable Parquet.")
    return None


def _error_by_class(error: Exception, text: str) -> StatementError:
    by_class = next((code for error_class, code in _CODES if isinstance(error, error_class)), None)
    by_text = next((code for words, code in _TEXT_CODES.items() if text.startswith(words)), None)
    return StatementError(by_class or by_text or "GENERIC_INTERNAL_ERROR", _message(text))


def _message(text: str) -> str:
    return _in_trinos_words(re.sub(r"^[A-Z][A-Za-z ]*Error: ", "", text.split("\n\n", maxsplit=1)[0].strip()))


def _in_trinos_words(text: str) -> str:
    """Return the engine's message with Trino's sentences, and with Trino's names for the engine's types and functions."""
    for pattern, words in _SENTENCES:
        match = pattern.search(text)
        if match is not None:
            text = words.format(*match.groups())
            break
    text = _TYPE.sub(lambda match: _TYPES[match[0]], text)
    return _OURS_INSIDE.sub("a function", text)


# While rows stream, Arrow wraps the engine's errors; only their first words still identify them.
_TEXT_CODES = {
    "Conversion Error": "INVALID_CAST_ARGUMENT",
    "Out of Range Error": "NUMERIC_VALUE_OUT_OF_RANGE",
    "Invalid Input Error": "INVALID_FUNCTION_ARGUMENT",
    "IO Error": "HIVE_CANNOT_OPEN_SPLIT",
    "Permission Error": "PERMISSION_DENIED",
}


def _exceeded(text: str) -> StatementError:
    if "max_temp_directory_size" in text:
        return StatementError(
            "EXCEEDED_SPILL_LIMIT", "The query needs more temporary disk space than the limit of a query.", remedy=_SMALLER
        )
    return memory_exceeded()


_SMALLER = "Read fewer partitions or columns, aggregate before joining, or raise the server's limit."


def _clean_text(text: str, lake: Path) -> str:
    """Return ``text`` without SQL that the caller did not write, and with ``s3://`` names for paths."""
    text = text.split("\nLINE ", maxsplit=1)[0]
    for root in {str(lake), str(lake.resolve())}:
        text = text.replace(f"{root}/", "s3://")
    return text.strip()


def _position(tree: exp.Query | None, name: str) -> Position | None:
    if tree is None:
        return None
    lowered = name.lower()
    nodes = (node for node in tree.find_all(exp.Identifier, exp.Anonymous) if node.name.lower() == lowered)
    return next((position for position in map(position_of, nodes) if position is not None), None)
