"""The grammar that statements are read with: Trino's, in which every ordinary call keeps the name that was written.

Sqlglot's own table of functions is left out, because it gives a call another meaning (and other defaults) before our
table of functions sees it. Calls with a syntax of their own (CAST, EXTRACT, TRIM, JSON_VALUE) keep their parsers.
"""

from typing import Any, ClassVar

from sqlglot.dialects.trino import Trino
from sqlglot.parsers.trino import TrinoParser

__all__ = ["Athena"]

# Calls that other dialects write with a syntax of their own. In Trino they are ordinary calls, or no functions.
_ORDINARY = frozenset(
    """
    ARGMAX ARGMIN ARG_MAX ARG_MIN CEIL CHAR CHR CONVERT DECODE FLOOR GAP_FILL INITCAP MATCH MAX_BY MIN_BY OPENJSON
    SAFE_CAST STRING_AGG TRY_CONVERT WEIGHT_STRING XMLELEMENT XMLTABLE
    """.split()  # noqa: SIM905
)
_CALLS = {name: read for name, read in TrinoParser.FUNCTION_PARSERS.items() if name not in _ORDINARY}
_WORDS = {name: read for name, read in TrinoParser.NO_PAREN_FUNCTION_PARSERS.items() if name != "CONNECT_BY_ROOT"}


class _Parser(TrinoParser):
    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = _CALLS
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = _WORDS


class Athena(Trino):
    """Sqlglot's Trino with calls as they were written (:class:`sqlglot.exp.Anonymous`)."""

    INDEX_OFFSET = 0  # what stands in brackets stays as it is: the row of [] counts from 1
    Parser = _Parser
