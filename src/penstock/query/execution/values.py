"""Values as Trino prints them, from Arrow columns: ``1.0E7``, ``[1, 2]``, ``{a=1}``, ``2013-01-01 05:00:00.000``.

Numbers follow ``Double.toString`` of the Java API; bytes are hexadecimal pairs with spaces, as Athena's CSV has them.
"""

from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["texts"]

_TIME = pa.time32("ms")
_STAMP = pa.timestamp("ms")


def texts(column: pa.Array) -> Sequence[str | None]:
    """Return one text for each value, None for NULL."""
    kind = column.type
    for fits, convert in _CONVERSIONS:
        if fits(kind):
            return convert(column)
    return column.cast(pa.string()).to_pylist()  # type: ignore[no-any-return]


def _floats(column: pa.Array) -> Sequence[str | None]:
    # Arrow prints the shortest digits that identify the value, which are Java's too.
    return [None if text is None else _java_float(text) for text in column.cast(pa.string()).to_pylist()]


def _java_float(text: str) -> str:
    lowered = text.lower()
    if lowered.endswith(("nan", "inf")):
        return "NaN" if lowered.endswith("nan") else "-Infinity" if lowered[0] == "-" else "Infinity"
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    minus = "-" if sign else ""
    figures = "".join(map(str, digits)).lstrip("0")
    if not figures:
        return f"{minus}0.0"
    point = len(figures) + exponent  # the value is 0.FIGURES times ten to this power
    figures = figures.rstrip("0") or "0"
    if -2 <= point <= 7:
        if point <= 0:
            return f"{minus}0.{'0' * -point}{figures}"
        whole, rest = figures[:point].ljust(point, "0"), figures[point:]
        return f"{minus}{whole}.{rest or '0'}"
    return f"{minus}{figures[0]}.{figures[1:] or '0'}E{point - 1}"


def _decimals(column: pa.Array) -> Sequence[str | None]:
    return [None if value is None else format(value, "f") for value in column.to_pylist()]


def _bytes(column: pa.Array) -> Sequence[str | None]:
    return [None if value is None else value.hex(" ") for value in column.to_pylist()]


def _stamps(column: pa.Array) -> Sequence[str | None]:
    suffix = " UTC" if column.type.tz else ""
    whole = pc.floor_temporal(column, 1, unit="millisecond")
    plain = whole.cast(pa.timestamp(column.type.unit, "UTC")).cast(pa.timestamp(column.type.unit)) if suffix else whole
    printed = plain.cast(_STAMP, safe=False).cast(pa.string()).to_pylist()
    return [None if text is None else text + suffix for text in printed]


def _times(column: pa.Array) -> Sequence[str | None]:
    return column.cast(_TIME, safe=False).cast(pa.string()).to_pylist()  # type: ignore[no-any-return]


def _lists(column: pa.Array) -> Sequence[str | None]:
    items, starts = texts(column.values), column.offsets.to_pylist()
    inside = ["null" if each is None else each for each in items]
    valid = column.is_valid().to_pylist()
    return [f"[{', '.join(inside[starts[at] : starts[at + 1]])}]" if ok else None for at, ok in enumerate(valid)]


def _maps(column: pa.Array) -> Sequence[str | None]:
    starts = column.offsets.to_pylist()
    pairs = [
        f"{key}={'null' if item is None else item}"
        for key, item in zip(texts(column.keys), texts(column.items), strict=True)
    ]
    valid = column.is_valid().to_pylist()
    return [f"{{{', '.join(pairs[starts[at] : starts[at + 1]])}}}" if ok else None for at, ok in enumerate(valid)]


def _structs(column: pa.Array) -> Sequence[str | None]:
    names = [column.type.field(at).name for at in range(column.type.num_fields)]
    # A ROW without names comes from the engine as _0, _1; Athena prints field0, field1.
    if names == [f"_{at}" for at in range(len(names))]:
        names = [f"field{at}" for at in range(len(names))]
    fields = [texts(column.field(at)) for at in range(len(names))]
    valid = column.is_valid().to_pylist()
    rows = zip(*fields, strict=True) if fields else iter([()] * len(column))
    return [
        "{" + ", ".join(f"{name}={'null' if value is None else value}" for name, value in zip(names, row, strict=True)) + "}"
        if ok
        else None
        for row, ok in zip(rows, valid, strict=True)
    ]


def _intervals(column: pa.Array) -> Sequence[str | None]:
    out: list[str | None] = []
    for value in column.to_pylist():
        if value is None:
            out.append(None)
            continue
        seconds, rest = divmod(value.nanoseconds // 1_000_000, 1000)
        out.append(
            f"{value.months * 30 + value.days} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"
        )
    return out


def _nulls(column: pa.Array) -> Sequence[str | None]:
    return [None] * len(column)


_CONVERSIONS = (
    (pa.types.is_null, _nulls),
    (pa.types.is_floating, _floats),
    (pa.types.is_decimal, _decimals),
    (lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind), _bytes),
    (pa.types.is_timestamp, _stamps),
    (pa.types.is_time, _times),
    (pa.types.is_map, _maps),
    (lambda kind: pa.types.is_list(kind) or pa.types.is_large_list(kind), _lists),
    (pa.types.is_struct, _structs),
    (pa.types.is_interval, _intervals),
)
