"""From a table's or a partition's storage to the format of its files, or to a refusal that names what is not read."""

import codecs
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.catalog.model import StorageDescriptor
from penstock.query.tables.formats.avro import AvroFormat
from penstock.query.tables.formats.json_lines import JsonFormat, JsonRules
from penstock.query.tables.formats.lines import LineOptions
from penstock.query.tables.formats.open_csv import OpenCsvFormat
from penstock.query.tables.formats.orc import OrcFormat
from penstock.query.tables.formats.parquet import ParquetFormat
from penstock.query.tables.formats.port import FileFormat, Layout
from penstock.query.tables.formats.regex import RegexFormat
from penstock.query.tables.formats.text import TextFormat, text_rules
from penstock.sql.errors import StatementError

__all__ = ["SYMLINKS", "file_format"]

SYMLINKS = "SymlinkTextInputFormat"
"""The end of the input format's name whose files are lists of files."""

_TEXT_INPUTS = ("TextInputFormat", SYMLINKS)


@dataclass(frozen=True, slots=True)
class Storage:
    """What decides how files are read: the table's name, columns, SerDe's parameters and the table's parameters."""

    table: str
    columns: Layout
    serde: Mapping[str, str]
    parameters: Mapping[str, str]

    def get(self, name: str, default: str = "") -> str:
        """Return a property of the SerDe, or else of the table."""
        return self.serde.get(name, self.parameters.get(name, default))

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a property that is true or false."""
        text = self.get(name).strip().lower()
        if text not in {"", "true", "false"}:
            raise self.refused(f"{name} is '{text[:50]}', which is not true or false.")
        return default if not text else text == "true"

    def count(self, name: str) -> int:
        """Return a property that is a small number."""
        text = self.get(name, "0").strip() or "0"
        if not text.isascii() or not text.isdigit() or len(text) > 4:
            raise self.refused(f"{name} is '{text[:50]}', which is not a number from 0 to 9999.")
        return int(text)

    def lines(self) -> LineOptions:
        """Return how the lines of the files are read."""
        encoding = self.get("serialization.encoding", "utf-8").strip() or "utf-8"
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise self.refused(f"serialization.encoding '{encoding[:50]}' is not known.") from None
        ends = self.get("line.delim", "\n")
        if ends not in {"\n", "\r\n", "\\n"}:
            raise self.refused(f"line.delim {ends[:20]!r} is not supported; lines end with a line feed.")
        return LineOptions(self.count("skip.header.line.count"), self.count("skip.footer.line.count"), encoding)

    def refused(self, what: str) -> StatementError:
        """Return the error about a property of the table."""
        return StatementError(
            "HIVE_UNSUPPORTED_FORMAT", f"Table '{self.table}' cannot be read: {what}", remedy="Change the table's SerDe."
        )

    def names(self) -> tuple[str, ...]:
        """Return the columns' names in lower case."""
        return tuple(name for name, _ in self.columns)


def file_format(table: str, storage: StorageDescriptor, parameters: Mapping[str, str]) -> FileFormat:
    """Return the format of the files. Raises :class:`StatementError` for one that is not read."""
    serde = storage.serde_info
    library = (serde.serialization_library if serde else None) or ""
    layout = tuple((column.name.lower(), column.type or "string") for column in storage.columns)
    described = Storage(table, layout, dict(serde.parameters) if serde else {}, parameters)
    for name in ("jsonPath", "rowTag"):
        if parameters.get(name):
            # A SerDe would read other records than the crawler's classifier named.
            raise described.refused(
                f"its records are those of {name} {parameters[name][:100]!r}, which only Glue's jobs read."
            )
    make = _BY_LIBRARY.get(library.lower())
    if make is not None:
        _check_input(described, library, storage.input_format or "")
        return make(described)
    texts = [storage.input_format, parameters.get("classification"), storage.parameters.get("classification")]
    texts.append(parameters.get("spark.sql.sources.provider"))
    if not library or "parquet" in library.lower():
        for text in [library, *(text.lower() for text in texts if text)]:
            for word, by_word in _BY_WORD.items():
                if word in text.lower():
                    return by_word(described)
    what = library or storage.input_format or parameters.get("classification") or "no input format"
    raise StatementError(
        "HIVE_UNSUPPORTED_FORMAT",
        f"Table '{table}' is of a format that is not read ({what}).",
        remedy="docs/lake/sql.md lists the formats.",
    )


def _check_input(storage: Storage, library: str, input_format: str) -> None:
    """Refuse, for example, lines of text in sequence files."""
    if library.lower() in _LINES and input_format and not input_format.endswith(_TEXT_INPUTS):
        raise storage.refused(f"its input format {input_format} is not one of text.")


def _text(storage: Storage) -> FileFormat:
    return TextFormat(text_rules(storage.get, storage.refused), storage.lines(), storage.columns)


def _csv(storage: Storage) -> FileFormat:
    marks = []
    for name, default in (("separatorChar", ","), ("quoteChar", '"'), ("escapeChar", "\\")):
        mark = storage.get(name, default)
        mark = {"\\t": "\t", "\\\\": "\\"}.get(mark, mark)
        if len(mark) != 1 or ord(mark) > 127:
            raise storage.refused(f"{name} {mark[:20]!r} is not one ASCII character.")
        marks.append(mark)
    if len(set(marks)) < 3:
        raise storage.refused("separatorChar, quoteChar and escapeChar have to differ.")
    lenient = storage.flag("use.null.for.invalid.data", default=False)
    return OpenCsvFormat(marks[0], marks[1], marks[2], lenient, storage.lines(), storage.columns)


def _openx(storage: Storage) -> FileFormat:
    mapped = {
        name.lower().removeprefix("mapping."): key for name, key in storage.serde.items() if name.startswith("mapping.")
    }
    for name in ("timestamp.formats",):
        if storage.get(name):
            raise storage.refused(f"{name} is not supported.")
    rules = JsonRules(
        openx=True,
        fold_case=storage.flag("case.insensitive", default=True),
        dots=storage.flag("dots.in.keys", default=False),
        ignore_malformed=storage.flag("ignore.malformed.json", default=False),
        mapped=tuple(sorted(mapped.items())),
    )
    return JsonFormat(rules, storage.lines(), storage.columns)


def _hcatalog(storage: Storage) -> FileFormat:
    if storage.get("timestamp.formats"):
        raise storage.refused("timestamp.formats is not supported.")
    ignore = storage.flag("ignore.malformed.json", default=False)
    return JsonFormat(JsonRules(openx=False, ignore_malformed=ignore), storage.lines(), storage.columns)


def _regex(storage: Storage) -> FileFormat:
    pattern = storage.get("input.regex")
    if not pattern:
        raise storage.refused("its SerDe has no input.regex.")
    fold = storage.flag("input.regex.case.insensitive", default=False)
    return RegexFormat.compiled(pattern, storage.lines(), storage.columns, fold=fold, refused=storage.refused)


def _avro(storage: Storage) -> FileFormat:
    literal = storage.get("avro.schema.literal")
    if not literal and storage.get("avro.schema.url"):
        raise storage.refused("avro.schema.url is not read; avro.schema.literal is.")
    return AvroFormat(literal or None)


def _orc(storage: Storage) -> FileFormat:
    by_place = storage.flag("orc.column.index.access", default=True)
    return OrcFormat(storage.names() if by_place else None)


def _parquet(storage: Storage) -> FileFormat:
    by_place = storage.flag("parquet.column.index.access", default=False)
    return ParquetFormat(storage.names() if by_place else None)


_LINES: Mapping[str, Callable[[Storage], FileFormat]] = {
    "org.apache.hadoop.hive.serde2.lazy.lazysimpleserde": _text,
    "org.apache.hadoop.hive.serde2.opencsvserde": _csv,
    "org.openx.data.jsonserde.jsonserde": _openx,
    "org.apache.hive.hcatalog.data.jsonserde": _hcatalog,
    "org.apache.hadoop.hive.serde2.jsonserde": _hcatalog,
    "org.apache.hadoop.hive.serde2.regexserde": _regex,
    "org.apache.hadoop.hive.contrib.serde2.regexserde": _regex,
}
_BY_LIBRARY: Mapping[str, Callable[[Storage], FileFormat]] = {
    **_LINES,
    "org.apache.hadoop.hive.ql.io.parquet.serde.parquethiveserde": _parquet,
    "org.apache.hadoop.hive.ql.io.orc.orcserde": _orc,
    "org.apache.hadoop.hive.serde2.avro.avroserde": _avro,
}
_BY_WORD: Mapping[str, Callable[[Storage], FileFormat]] = {"parquet": _parquet, "orc": _orc, "avro": _avro}
