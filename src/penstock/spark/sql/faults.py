"""Errors of Spark SQL with Athena's codes."""

from collections.abc import Mapping

from pyspark.errors import PySparkException

from penstock.spark.jvm import JvmExit

__all__ = ["TooLarge", "failure", "loss"]

_MAX_TEXT = 1_000
_CODES: Mapping[str, tuple[str, str]] = {
    "DIVIDE_BY_ZERO": ("DIVISION_BY_ZERO", "Division by zero"),
    "REMAINDER_BY_ZERO": ("DIVISION_BY_ZERO", "Division by zero"),
    "ARITHMETIC_OVERFLOW": ("NUMERIC_VALUE_OUT_OF_RANGE", ""),
    "BINARY_ARITHMETIC_OVERFLOW": ("NUMERIC_VALUE_OUT_OF_RANGE", ""),
    "NUMERIC_VALUE_OUT_OF_RANGE": ("NUMERIC_VALUE_OUT_OF_RANGE", ""),
    "CAST_OVERFLOW": ("INVALID_CAST_ARGUMENT", ""),
    "CAST_INVALID_INPUT": ("INVALID_CAST_ARGUMENT", ""),
    "SCALAR_SUBQUERY_TOO_MANY_ROWS": ("SUBQUERY_MULTIPLE_ROWS", "Scalar sub-query has returned multiple rows"),
    "FAILED_READ_FILE": ("HIVE_CANNOT_OPEN_SPLIT", ""),
    "PATH_NOT_FOUND": ("HIVE_CANNOT_OPEN_SPLIT", ""),
    "UNRESOLVED_COLUMN": ("COLUMN_NOT_FOUND", ""),
}


class TooLarge(Exception):
    """The rows are larger than the limit."""


def failure(error: Exception) -> tuple[str, str]:
    """Return the code and the message of a query's failure."""
    if isinstance(error, TooLarge):
        return "EXCEEDED_RESULT_LIMIT", f"The rows are larger than {error.args[0]} bytes."
    condition = (error.getCondition() or "") if isinstance(error, PySparkException) else ""
    code, message = _CODES.get(condition.partition(".")[0], ("GENERIC_INTERNAL_ERROR", ""))
    text = (str(error).splitlines() or [type(error).__name__])[0][:_MAX_TEXT]
    return code, message or f"Spark SQL: {text}"


def loss(died: JvmExit) -> tuple[str, str]:
    """Return the code and the message of a query whose JVM ended."""
    code = "EXCEEDED_MEMORY_LIMIT" if "heap" in died.cause else "GENERIC_INTERNAL_ERROR"
    return code, f"Spark's JVM {died.cause}. If its heap was too small, raise --spark-driver-memory."
