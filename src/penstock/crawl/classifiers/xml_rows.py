"""XML: the elements of one tag are rows, their attributes and child elements the columns.

Source: Glue developer guide, "Writing XML custom classifiers", and "Using the XML format" for the name of an element's own
text. A document type (DTD) is refused, so that nothing that a file declares is expanded or fetched.
"""

import re
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import ParseError, XMLParser

from penstock.crawl.formats.sample import FileFormat, Recognized, Sample
from penstock.crawl.formats.shapes import columns_of, members_of, merged
from penstock.errors import DataProblem
from penstock.types.model import VOID, LakeType

__all__ = ["xml_rows"]

_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_TEXT = "_value"
_MOST_DEPTH = 64


def xml_rows(sample: Sample, text: str, *, tag: str, classification: str) -> Recognized | None:
    """Return what the rows of a text of XML have; None if it is no XML or has no element named ``tag``.

    Raises :class:`DataProblem` for a document type, for XML that is damaged, and for nesting of more than 64 levels.
    """
    if not text.lstrip().startswith("<"):
        return None
    rows = _Rows(tag)
    # Entities are declared in a document type, which is refused: defusedxml would do no more.
    parser = XMLParser(target=rows)  # noqa: S314
    try:
        parser.feed(text)
        if sample.whole:
            parser.close()
    except ParseError as error:
        raise DataProblem(f"its XML is damaged, or cut off ({error})") from None
    if not rows.members:
        return None
    file_format = FileFormat(classification=classification, compression=sample.compression, parameters=(("rowTag", tag),))
    read_bytes = len(text.encode()) if sample.compression == "none" else 0
    return Recognized(format=file_format, columns=columns_of(rows.members), rows=sample.estimate(rows.count, read_bytes))


@dataclass(slots=True)
class _Node:
    name: str
    members: dict[str, Any]
    text: list[str] = field(default_factory=list)


class _Rows:
    """What :class:`XMLParser` calls: keeps the open elements below a row, and what all rows have in common."""

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self._depth = 0
        self._open: list[_Node] = []
        self.count = 0
        self.members: dict[str, LakeType] = {}

    def doctype(self, *_: str | None) -> None:
        raise DataProblem("its XML has a document type (DTD), which is not read")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise DataProblem(f"its elements are nested more than {_MOST_DEPTH} levels deep")
        name = _local(tag)
        if self._open or name == self._tag:
            self._open.append(_Node(name, {_local(key): _scalar(value) for key, value in attributes.items()}))

    def data(self, text: str) -> None:
        if self._open:
            self._open[-1].text.append(text)

    def end(self, _tag: str) -> None:
        self._depth -= 1
        if not self._open:
            return
        node = self._open.pop()
        value = _value(node)
        if not self._open:
            self.count += 1
            for name, value_type in members_of(value if isinstance(value, dict) else {_TEXT: value}).items():
                self.members[name] = merged(self.members.get(name, VOID), value_type)
            return
        siblings = self._open[-1].members
        if node.name not in siblings:
            siblings[node.name] = value
        elif isinstance(siblings[node.name], list):
            siblings[node.name].append(value)
        else:
            siblings[node.name] = [siblings[node.name], value]

    def close(self) -> None:
        """End of the document."""


def _value(node: _Node) -> Any:
    text = "".join(node.text).strip()
    if not node.members:
        return _scalar(text)
    return {**node.members, **({_TEXT: _scalar(text)} if text else {})}


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _scalar(text: str) -> Any:
    if not text:
        return None
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return text == "true" if text in {"true", "false"} else text
