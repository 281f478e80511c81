"""Doubles as Java prints them, which Trino's texts of numbers are."""

import math
from collections.abc import Callable
from decimal import Decimal

__all__ = ["java_double", "java_text"]


def java_double(value: float, *, digits: Callable[[float], str] = repr) -> str:
    """Return a double as Trino's cast to varchar writes it: ``1.5E0``."""
    if math.isnan(value):
        return "NaN"
    if value in {float("inf"), float("-inf")}:
        return "Infinity" if value > 0 else "-Infinity"
    sign, figures, exponent = Decimal(digits(value)).as_tuple()
    number = "".join(map(str, figures)).lstrip("0")
    power = len(number) + int(exponent) - 1
    number = number.rstrip("0")
    if not number:
        return "-0E0" if sign else "0E0"
    return f"{'-' if sign else ''}{number[0]}{'.' + number[1:] if number[1:] else '.0'}E{power}"


def java_text(value: float) -> str:
    """Return a double as Java's ``Double.toString``: plain between 0.001 and 10,000,000."""
    if value == 0 or not math.isfinite(value) or not 1e-3 <= abs(value) < 1e7:
        return {"0E0": "0.0", "-0E0": "-0.0"}.get(java_double(value), java_double(value))
    return format(Decimal(repr(value)), "f") if "e" in repr(value) else repr(value)
