"""JSON: objects, one after the other, or one array, as Glue's classifier takes them."""

import json
import re
from collections.abc import Iterator
from typing import Any

from penstock.crawl.formats.sample import FileFormat, Recognized, Sample
from penstock.crawl.formats.shapes import columns_of, members_of, merged
from penstock.errors import DataProblem
from penstock.types.model import VOID, LakeType

__all__ = ["check_path", "json_records"]

_SPACE = re.compile(r"\s*")
_PATH = re.compile(r"\$(?:\.[\w-]+|\[\*\]|\[\d+\]|\[['\"][^'\"]+['\"]\])*")
_STEP = re.compile(r"\.([\w-]+)|\[(\*|\d+)\]|\[['\"]([^'\"]+)['\"]\]")


def json_records(sample: Sample, text: str, path: str | None = None) -> Recognized | None:
    """Return what a text of JSON has, None if it is not JSON. Raises :class:`DataProblem` for one that is cut or damaged.

    ``path`` is a custom classifier's JSON path; its values are the records.
    """
    start = _behind_space(text, 0)
    if text[start : start + 1] not in {"{", "["}:
        return None
    members: dict[str, LakeType] = {}
    records, reached = 0, start
    array = text[start] == "[" and path is None
    for value, end in _values(text, start, sample.whole):
        reached = end
        for record in [value] if path is None else chosen(value, path):
            records += 1
            one = record if isinstance(record, dict) else {"array" if array else "value": record}
            for name, value_type in members_of(one).items():
                members[name] = merged(members.get(name, VOID), value_type)
    if not members:
        return None
    file_format = FileFormat(
        classification="json",
        compression=sample.compression,
        parameters=() if path is None else (("jsonPath", path),),
    )
    read_bytes = len(text[:reached].encode()) if sample.compression == "none" else 0
    return Recognized(format=file_format, columns=columns_of(members), rows=sample.estimate(records, read_bytes))


def _values(text: str, at: int, whole: bool) -> Iterator[tuple[Any, int]]:
    """Yield each value with its end; a value that the sample cuts is left out."""
    decoder = json.JSONDecoder()
    has_values = False
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            if has_values and not whole:
                return
            raise DataProblem(f"its JSON is damaged, or cut off, at character {at + 1} ({str(error)[:100]})") from None
        has_values = True
        yield value, at
        at = _behind_space(text, at)


def _behind_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def check_path(path: str) -> None:
    """Raise :class:`DataProblem` for a JSON path that is not understood."""
    if not _PATH.fullmatch(path):
        raise DataProblem(f"the JSON path '{path[:100]}' is not of the form $.name[*]['name'][0]")


def chosen(value: Any, path: str) -> list[Any]:
    """Return the values below ``value`` that a JSON path names."""
    values = [value]
    for name, index, quoted in _STEP.findall(path):
        following: list[Any] = []
        for item in values:
            if index:
                following += (item if index == "*" else item[int(index) : int(index) + 1]) if isinstance(item, list) else []
            elif isinstance(item, dict) and (name or quoted) in item:
                following.append(item[name or quoted])
        values = following
    return values
