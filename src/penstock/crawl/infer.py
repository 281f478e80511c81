"""Infer tables from files: the folders that are tables, their columns and partitions. Pure functions."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.catalog.model import Column
from penstock.crawl.configuration import Configuration
from penstock.crawl.model import PARQUET, FileFormat, SeenFile
from penstock.crawl.types import partition_type, widen
from penstock.lake.partitions import HIVE_DEFAULT_PARTITION, is_partition_folder, parse_partition_folder

__all__ = ["FoundTable", "Problems", "infer_tables", "merge_columns", "table_name"]

_MAX_PROBLEMS = 100
_MAX_NAME = 128
_SHOWN_PARAMETERS = ("input.format", "input.grokCustomPatterns", "jsonPath", "rowTag")
"""What custom classifiers say of a file, and all files of a table have to share."""


@dataclass(slots=True)
class Problems:
    """The problems of a crawl, in sentences: all are counted, the first hundred are kept."""

    count: int = 0
    sentences: list[str] = field(default_factory=list)

    def add(self, sentence: str) -> None:
        """Add a problem, cut at 500 characters."""
        self.count += 1
        if len(self.sentences) < _MAX_PROBLEMS:
            self.sentences.append(sentence[:500])


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTable:
    """A folder that is a table. ``partitions`` maps values to their folders, ``size`` is in bytes.

    A key whose values are all null has no type.
    """

    location: str
    columns: Sequence[Column]
    keys: Sequence[Column]
    format: FileFormat = PARQUET
    partitions: Mapping[tuple[str, ...], str]
    files: int
    rows: int
    size: int


@dataclass(frozen=True, slots=True)
class _Placed:
    """A file in its table's folder: names of the partition keys, their values, the partition's folder."""

    file: SeenFile
    keys: tuple[str, ...]
    values: tuple[str, ...]
    folder: str


def infer_tables(
    target: str, files: Iterable[SeenFile], problems: Problems, settings: Configuration | None = None
) -> Sequence[FoundTable]:
    """Return the tables below ``target``, a location that ends in a slash, by location.

    A table's folder is the parent of the first ``key=value`` folder, or the folder of the files, unless the settings'
    ``level`` says how deep it is, or ``combines`` makes one table of the target, whose schemas have to be compatible.
    Plain folders below it are then partitions, too: of keys ``partition_0``, ``partition_1`` and so on, by their depth.
    Files that do not fit are added to ``problems`` and left out.
    """
    readable: list[SeenFile] = []
    for file in files:
        if file.problem is not None:
            problems.add(f"{file.uri} is skipped: {file.problem}.")
        else:
            readable.append(file)
    if settings is not None and settings.level is not None:
        return _at_depth(target, readable, settings.level - 1 - target.count("/") + 3, problems)
    if settings is not None and settings.combines:
        own_problems = Problems()
        combined = _at_depth(target, readable, 0, own_problems)
        if not own_problems.count:
            return combined
    roots: dict[str, list[_Placed]] = {}
    for file in readable:
        if placed := _place(target, file):
            roots.setdefault(placed[0], []).append(placed[1])
        else:
            problems.add(f"{file.uri} is skipped: it is in a plain folder below a partition's.")
    return [_table(location, table_files, problems) for location, table_files in sorted(roots.items())]


def _at_depth(target: str, files: Sequence[SeenFile], depth: int, problems: Problems) -> Sequence[FoundTable]:
    """Return the tables whose folders are ``depth`` folders below the target."""
    roots: dict[str, list[_Placed]] = {}
    for file in files:
        parts = file.uri[len(target) :].split("/")[:-1]
        if not 0 <= depth <= len(parts):
            problems.add(f"{file.uri} is skipped: its folder is above the level of tables (TableLevelConfiguration).")
            continue
        root = target + "".join(f"{part}/" for part in parts[:depth])
        spec = [_part(number, part) for number, part in enumerate(parts[depth:])]
        placed = _Placed(
            file, tuple(key for key, _ in spec), tuple(value for _, value in spec), file.uri[: file.uri.rindex("/") + 1]
        )
        roots.setdefault(root, []).append(placed)
    return [_table(location, table_files, problems) for location, table_files in sorted(roots.items())]


def _part(number: int, folder: str) -> tuple[str, str]:
    if not is_partition_folder(folder):
        return f"partition_{number}", folder
    key, value = parse_partition_folder(folder)
    return key.lower(), HIVE_DEFAULT_PARTITION if value is None else value


def merge_columns(parts: Iterable[tuple[str, Sequence[Column]]], problems: Problems) -> tuple[Column, ...]:
    """Merge lists of columns, each with the name of its origin; the first list with a column determines its place.

    Types are widened if readers can convert; else the first type is kept, and the difference is a problem.
    """
    merged: dict[str, Column] = {}
    origins: dict[str, str] = {}
    for origin, columns in parts:
        for column in columns:
            earlier = merged.get(column.name)
            if earlier is None:
                merged[column.name] = column
                origins[column.name] = origin
            elif earlier.type != column.type:
                wider = widen(earlier.type or "", column.type or "")
                if wider is None:
                    problems.add(
                        f"Column {column.name} is {earlier.type} in {origins[column.name]} and {column.type} in {origin}: "
                        f"{earlier.type} is kept."
                    )
                else:
                    merged[column.name] = replace(earlier, type=wider)
    return tuple(merged.values())


def table_name(location: str, prefix: str, existing: Iterable[str]) -> str:
    """Return Glue's name for the table at ``location``: the folder's in lower case, with a hash if it is taken."""
    folder = location.rstrip("/").rpartition("/")[2]
    name = re.sub(r"[^a-z0-9_]", "_", f"{prefix}{folder}".lower())[:_MAX_NAME]
    if name not in set(existing):
        return name
    digest = hashlib.md5(location.encode(), usedforsecurity=False).hexdigest()
    return f"{name[: _MAX_NAME - len(digest) - 1]}_{digest}"


def _place(target: str, file: SeenFile) -> tuple[str, _Placed] | None:
    parts = file.uri[len(target) :].split("/")[:-1]
    depth = next((index for index, part in enumerate(parts) if is_partition_folder(part)), len(parts))
    folders = parts[depth:]
    if not all(is_partition_folder(part) for part in folders):
        return None
    spec = [parse_partition_folder(part) for part in folders]
    root = target + "".join(f"{part}/" for part in parts[:depth])
    keys = tuple(key.lower() for key, _ in spec)
    values = tuple(HIVE_DEFAULT_PARTITION if value is None else value for _, value in spec)
    return root, _Placed(file, keys, values, root + "".join(f"{part}/" for part in folders))


def _table(location: str, placed: Sequence[_Placed], problems: Problems) -> FoundTable:
    layouts = Counter(place.keys for place in placed)
    keys = max(layouts, key=lambda layout: (layouts[layout], layout))
    same_keys = [place for place in placed if place.keys == keys]
    for layout, count in layouts.items():
        if layout != keys:
            problems.add(
                f"{count} files below {location} are skipped: their folders have the keys ({', '.join(layout)}), "
                f"most of the table's have ({', '.join(keys)})."
            )
    fitting, file_format = _of_one_format(location, same_keys, problems)
    columns = merge_columns(_distinct_columns([place.file for place in fitting]), problems)
    partitions = {place.values: place.folder for place in fitting} if keys else {}
    return FoundTable(
        location=location,
        columns=tuple(column for column in columns if column.name not in keys),
        keys=tuple(Column(name=key, type=_key_type(index, partitions)) for index, key in enumerate(keys)),
        format=file_format,
        partitions=partitions,
        files=len(fitting),
        rows=sum(place.file.rows for place in fitting),
        size=sum(place.file.size for place in fitting),
    )


def _of_one_format(location: str, placed: Sequence[_Placed], problems: Problems) -> tuple[Sequence[_Placed], FileFormat]:
    """Return the files of the format that most have, and that format; the others are a problem.

    Files of one format may differ in the parameters of their table, such as fields: the first file's are used.
    """
    counts = Counter(_format_name(place.file) for place in placed)
    most = max(counts, key=lambda format_name: (counts[format_name], format_name))
    for format_name, count in sorted(counts.items()):
        if format_name != most:
            problems.add(
                f"{count} files below {location} are skipped: they are {' '.join(format_name)}, most of the table's are "
                f"{' '.join(most)}."
            )
    same_format = [place for place in placed if _format_name(place.file) == most]
    oldest = min(same_format, key=lambda place: (place.file.modified, place.file.uri)).file.format
    return same_format, oldest


def _format_name(file: SeenFile) -> tuple[str, ...]:
    """Return what all files of a table have to share, in words.

    Text with delimiters is read by the table's settings, and by the position of columns: a file that has others would give
    wrong rows.
    """
    file_format = file.format
    if file_format.classification != "csv":
        settings = {**dict(file_format.serde), **dict(file_format.parameters)}
        return (
            file_format.classification,
            *(f"{name} {settings[name]!r}" for name in _SHOWN_PARAMETERS if name in settings),
        )
    parameters = [f"{name} {value!r}" for name, value in dict([*file_format.serde, *file_format.parameters]).items()]
    return ("csv with", *parameters, "and columns", ", ".join(column.name for column in file.columns))


def _key_type(index: int, partitions: Iterable[tuple[str, ...]]) -> str | None:
    values = {values[index] for values in partitions} - {HIVE_DEFAULT_PARTITION}
    return partition_type(sorted(values)) if values else None


def _distinct_columns(files: Sequence[SeenFile]) -> Iterable[tuple[str, Sequence[Column]]]:
    """Yield each list of columns once, oldest file first, so that a column keeps its place if later files add others."""
    layouts: set[tuple[tuple[str, str | None], ...]] = set()
    shared: set[int] = set()
    for file in sorted(files, key=lambda seen_file: (seen_file.modified, seen_file.uri)):
        if id(file.columns) in shared:
            continue
        shared.add(id(file.columns))
        shape = tuple((column.name, column.type) for column in file.columns)
        if shape not in layouts:
            layouts.add(shape)
            yield file.uri, file.columns
