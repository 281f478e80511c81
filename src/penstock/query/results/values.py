"""Values as Trino prints them, from Arrow columns: ``1.0E7``, ``[1, 2]``, ``{a=1}``, ``2013-01-01 05:00:00.000``.

Numbers follow ``Double.toString`` of the Java API; bytes are hexadecimal pairs with spaces, as Athena's CSV has them.
Columns of numbers, texts, dates and timestamps are printed by Arrow's kernels, the others value by value.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from penstock.sql.functions.addresses import address_text
from penstock.sql.functions.geo.shapes import texts as shape_texts
from penstock.sql.trino_types import Type
from penstock.sql.types import ZONED_FIELDS

__all__ = ["csv_lines", "printed", "texts"]

_TEXT = pa.large_string()
_MANY_DIGITS = 1e7  # doubles from here on, and those below a thousandth, have an exponent
_FEW_DIGITS = 1e-3
_PLAIN_SCALE = 6

_MILLISECONDS, _MICROSECONDS = 3, 6  # digits
_TIME, _FINE_TIME = pa.time32("ms"), pa.time64("us")
_STAMP, _FINE_STAMP = pa.timestamp("ms"), pa.timestamp("us")


def csv_lines(columns: Sequence[pa.Array], types: Sequence[Type | None] = ()) -> pa.Buffer:
    """Return the columns' rows as lines: values in quotes with commas between them, NULL empty.

    ``types`` are Trino's types of the columns where they are known; they say how many digits a time has.
    """
    trino_types = types or [None] * len(columns)
    parts: list[pa.Array | str] = []
    for at, (column, type_) in enumerate(zip(columns, trino_types, strict=True)):
        text = printed(column, type_)
        if not _never_quoted(column.type) and pc.any(pc.match_substring(text, '"')).as_py():
            text = pc.replace_substring(text, '"', '""')
        # A join of everything at once copies each text once; a column with NULLs needs its quotes before.
        quoted = [_in_quotes(text)] if text.null_count else ['"', text, '"']
        parts += [*quoted, "," if at < len(columns) - 1 else "\n"]
    lines = pc.binary_join_element_wise(*_merged(parts), pa.scalar("", _TEXT))
    _, offsets, data = lines.buffers()
    ends = pa.Array.from_buffers(pa.int64(), len(lines) + 1, [None, offsets], offset=lines.offset)
    return data.slice(ends[0].as_py(), ends[-1].as_py() - ends[0].as_py()) if data is not None else pa.py_buffer(b"")


def _in_quotes(text: pa.Array) -> pa.Array:
    quote = pa.scalar('"', _TEXT)
    return pc.binary_join_element_wise(quote, text, quote, pa.scalar("", _TEXT)).fill_null("")


def _merged(parts: Sequence[pa.Array | str]) -> Iterator[pa.Array | pa.Scalar]:
    """Yield arrays, and as scalars the constants between them, those that follow each other as one."""
    constant = ""
    for part in parts:
        if isinstance(part, str):
            constant += part
            continue
        if constant:
            yield pa.scalar(constant, _TEXT)
        yield part
        constant = ""
    yield pa.scalar(constant, _TEXT)


def _never_quoted(type_: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(type_) or pa.types.is_decimal(type_))


def printed(column: pa.Array, type_: Type | None = None) -> pa.Array:
    """Return one text for each value, as a column of large strings; NULL stays NULL. ``type_`` is Trino's type, if known."""
    held = column.type
    if pa.types.is_floating(held):
        return _printed_floats(column)
    if pa.types.is_timestamp(held):
        return _printed_stamps(column, _digits(type_))
    if pa.types.is_decimal(held):
        return _printed_decimals(column)
    for fits, convert in _CONVERSIONS:
        if fits(held):
            return pa.array(convert(column, type_), _TEXT)
    return column.cast(_TEXT)


def texts(column: pa.Array, type_: Type | None = None) -> Sequence[str | None]:
    """Return one text for each value, None for NULL. ``type_`` is Trino's type, if known."""
    return printed(column, type_).to_pylist()  # type: ignore[no-any-return]


def _digits(type_: Type | None) -> int:
    """Return how many digits a time's seconds have: three at least, as Athena prints them."""
    return max(_MILLISECONDS, min(type_.numbers[0], _MICROSECONDS)) if type_ is not None and type_.numbers else _MILLISECONDS


def _inside(type_: Type | None, count: int) -> Sequence[Type | None]:
    return type_.inner if type_ is not None and len(type_.inner) == count else [None] * count


def _printed_floats(column: pa.Array) -> pa.Array:
    # Arrow prints the shortest digits that identify the value, which are Java's too.
    text = column.cast(_TEXT)
    size = pc.abs(column)
    plain = pc.or_(pc.and_(pc.greater_equal(size, _FEW_DIGITS), pc.less(size, _MANY_DIGITS)), pc.equal(column, 0))
    whole = pc.and_(plain, pc.invert(pc.match_substring(text, ".")))
    text = pc.if_else(whole, pc.binary_join_element_wise(text, pa.scalar(".0", _TEXT), pa.scalar("", _TEXT)), text)
    others = pc.invert(plain)
    if not pc.any(others).as_py():
        return text
    rewritten = [_java_float(item) for item in text.filter(others).to_pylist()]
    return pc.replace_with_mask(text, others.fill_null(False), pa.array(rewritten, _TEXT))


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


def _printed_decimals(column: pa.Array) -> pa.Array:
    text = column.cast(_TEXT)
    # Arrow prints an exponent where the first digit is more than six places after the point.
    with_exponent = pc.match_substring(text, "E")
    if column.type.scale <= _PLAIN_SCALE or not pc.any(with_exponent).as_py():
        return text
    rewritten = [format(value, "f") for value in column.filter(with_exponent).to_pylist()]
    return pc.replace_with_mask(text, with_exponent.fill_null(False), pa.array(rewritten, _TEXT))


def _bytes(column: pa.Array, type_: Type | None) -> Sequence[str | None]:
    shown = _HELD_AS_BYTES.get(type_.name, _pairs) if type_ is not None else _pairs
    return shown(column)


def _pairs(column: pa.Array) -> Sequence[str | None]:
    return [None if value is None else value.hex(" ") for value in column.to_pylist()]


def _addresses(column: pa.Array) -> Sequence[str | None]:
    return [None if value is None else address_text(value) for value in column.to_pylist()]


_HELD_AS_BYTES = {"ipaddress": _addresses, "Geometry": shape_texts, "SphericalGeography": shape_texts}


def _printed_stamps(column: pa.Array, digits: int) -> pa.Array:
    # Values of files have more digits than Trino's type: it rounds them, half up.
    suffix = " UTC" if column.type.tz else ""
    step = 10 ** (_MICROSECONDS - digits)
    if step > 1 and column.type.unit in {"us", "ns"}:
        column = pc.add(column, pa.scalar(step // 2, pa.duration("us")))
    whole = pc.floor_temporal(column, step, unit="microsecond")
    plain = whole.cast(pa.timestamp(column.type.unit, "UTC")).cast(pa.timestamp(column.type.unit)) if suffix else whole
    text = plain.cast(_STAMP if digits == _MILLISECONDS else _FINE_STAMP, safe=False).cast(_TEXT)
    if digits not in {_MILLISECONDS, _MICROSECONDS}:
        text = pc.utf8_slice_codeunits(text, 0, digits - _MICROSECONDS)
    return pc.binary_join_element_wise(text, pa.scalar(suffix, _TEXT), pa.scalar("", _TEXT)) if suffix else text


def _times(column: pa.Array, type_: Type | None) -> Sequence[str | None]:
    digits = _digits(type_)
    if digits == _MILLISECONDS:
        return column.cast(_TIME, safe=False).cast(pa.string()).to_pylist()  # type: ignore[no-any-return]
    text = column.cast(_FINE_TIME, safe=False).cast(pa.string())
    return pc.utf8_slice_codeunits(text, 0, len("00:00:00.") + digits).to_pylist()  # type: ignore[no-any-return]


def _lists(column: pa.Array, type_: Type | None) -> Sequence[str | None]:
    items, starts = texts(column.values, _inside(type_, 1)[0]), column.offsets.to_pylist()
    inside = ["null" if item is None else item for item in items]
    valid = column.is_valid().to_pylist()
    return [f"[{', '.join(inside[starts[at] : starts[at + 1]])}]" if ok else None for at, ok in enumerate(valid)]


def _maps(column: pa.Array, type_: Type | None) -> Sequence[str | None]:
    key_kind, item_kind = _inside(type_, 2)
    starts = column.offsets.to_pylist()
    pairs = [
        f"{key}={'null' if item is None else item}"
        for key, item in zip(texts(column.keys, key_kind), texts(column.items, item_kind), strict=True)
    ]
    valid = column.is_valid().to_pylist()
    return [f"{{{', '.join(pairs[starts[at] : starts[at + 1]])}}}" if ok else None for at, ok in enumerate(valid)]


def _structs(column: pa.Array, type_: Type | None) -> Sequence[str | None]:
    names = [column.type.field(at).name for at in range(column.type.num_fields)]
    if names == ZONED_FIELDS:
        return _zoned(column, type_)
    # A ROW without names comes from the engine as element1, element2; Athena prints field0, field1.
    if names in ([f"element{at + 1}" for at in range(len(names))], [f"_{at}" for at in range(len(names))]):
        names = [f"field{at}" for at in range(len(names))]
    fields = [texts(column.field(at), item) for at, item in enumerate(_inside(type_, len(names)))]
    valid = column.is_valid().to_pylist()
    rows = zip(*fields, strict=True) if fields else iter([()] * len(column))
    return [
        "{" + ", ".join(f"{name}={'null' if value is None else value}" for name, value in zip(names, row, strict=True)) + "}"
        if ok
        else None
        for row, ok in zip(rows, valid, strict=True)
    ]


def _zoned(column: pa.Array, type_: Type | None) -> Sequence[str | None]:
    """Print timestamps in zones of their own: the local time, and the zone's name."""
    out: list[str | None] = [None] * len(column)
    instants = column.field(0).cast(pa.timestamp("us", "UTC"))
    valid = pc.and_(column.is_valid(), column.field(1).is_valid())
    for zone in pc.unique(column.field(1).filter(valid)).to_pylist():
        places = pc.indices_nonzero(pc.and_(valid, pc.fill_null(pc.equal(column.field(1), zone), False)))
        local = pc.local_timestamp(instants.take(places).cast(pa.timestamp("us", zone)))
        for place, text in zip(places.to_pylist(), texts(local, type_), strict=True):
            out[place] = None if text is None else f"{text} {zone}"
    return out


def _intervals(column: pa.Array, _: Type | None) -> Sequence[str | None]:
    return [None if value is None else _interval(value) for value in column.to_pylist()]


def _interval(value: pa.MonthDayNano) -> str:
    """Print years and months as ``3-5``, days and shorter units as ``2 03:00:00.000``, with one sign for all."""
    if value.months:
        years, months = divmod(abs(value.months), 12)
        return f"{'-' if value.months < 0 else ''}{years}-{months}"
    nanoseconds = value.days * 86_400_000_000_000 + value.nanoseconds
    seconds, rest = divmod(abs(nanoseconds) // 1_000_000, 1000)
    days, seconds = divmod(seconds, 86_400)
    sign = "-" if nanoseconds < 0 else ""
    return f"{sign}{days} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"


def _nulls(column: pa.Array, _: Type | None) -> Sequence[str | None]:
    return [None] * len(column)


_CONVERSIONS = (
    (pa.types.is_null, _nulls),
    (lambda type_: pa.types.is_binary(type_) or pa.types.is_large_binary(type_), _bytes),
    (pa.types.is_time, _times),
    (pa.types.is_map, _maps),
    (lambda type_: pa.types.is_list(type_) or pa.types.is_large_list(type_), _lists),
    (pa.types.is_struct, _structs),
    (pa.types.is_interval, _intervals),
)
