"""Grok: named patterns that take a line apart, matched in linear time by Arrow's RE2.

Source: Glue developer guide, "Writing grok custom classifiers": ``%{PATTERN:field:type}``, and the types.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.catalog.model import Column
from penstock.crawl.classifiers.grok_patterns import BUILT_IN
from penstock.crawl.formats.sample import FileFormat, Recognized, Sample
from penstock.errors import InvalidInput
from penstock.types import hive
from penstock.wildcards import linear_matcher

__all__ = ["Grok"]

_REFERENCE = re.compile(r"%\{(\w{1,100})(?::([^:{}]{1,100}))?(?::(\w{1,20}))?\}")
_TOKEN = re.compile(
    r"""%\{[^}]*\}                                # a reference
    | \\.                                         # an escaped character
    | \[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]        # a class
    | \(\?P?<(?P<name>[A-Za-z]\w{0,99})>          # a named group
    | \((?!\?)                                    # a group without a name
    """,
    re.VERBOSE | re.DOTALL,
)
_TYPES = ("byte", "boolean", "double", "short", "int", "long", "float", "string")
_UNWANTED = "unwanted"
_MAX_LENGTH = 60_000  # characters of the whole expression
_MAX_REFERENCES = 2_000
_MAX_GROUPS = 500
_MOST_LINES = 1_000
_MOST_LINE = 10_000  # characters of a line


@dataclass(frozen=True, slots=True)
class Grok:
    """A compiled pattern: its columns, and which lines it matches."""

    classification: str
    pattern: str
    custom: str
    columns: tuple[Column, ...]
    matches: Callable[[Sequence[str]], Sequence[bool]]
    expression: str = ""
    """The expression, in which the group ``gN`` is the column with the number N."""

    @classmethod
    def compiled(cls, classification: str, pattern: str, custom: str = "") -> "Grok":
        """Return the classifier. ``custom`` has a pattern a line: its name, a space, its expression.

        Raises :class:`InvalidInput` for a pattern that is unknown, refers to itself, or cannot be matched in linear time.
        """
        expansion = _Expansion({**BUILT_IN, **_custom(custom)})
        expression = expansion.expand(pattern, ())
        if not expansion.columns:
            raise InvalidInput("The grok pattern has no field.", remedy="Name one as %{PATTERN:field}.")
        matches = _matcher(expression)
        return cls(classification, pattern, custom, tuple(expansion.columns.values()), matches, expression)

    def fields(self, lines: Sequence[str]) -> list[dict[str, str] | None]:
        """Return the texts of each line's fields by their columns, None for a line that does not match.

        A field in a part of the pattern that is left out is an empty text.
        """
        import pyarrow as pa  # noqa: PLC0415 - slow to import, and rarely needed
        import pyarrow.compute as pc  # noqa: PLC0415

        plain = [line.encode(errors="replace").decode() for line in lines]
        matches = pc.extract_regex(pa.array(plain, pa.string()), pattern=f"(?s){self.expression}").to_pylist()
        names = [column.name for column in self.columns]
        return [None if match is None else dict(zip(names, match.values(), strict=True)) for match in matches]

    def recognize(self, sample: Sample, text: str) -> Recognized | None:
        """Return the columns if most of the first thousand lines match, None otherwise."""
        end = len(text) if sample.whole else text.rfind("\n") + 1
        read = text[:end]
        lines = [line[:_MOST_LINE] for line in read.split("\n", _MOST_LINES)[:_MOST_LINES] if line.strip()]
        if not lines or 2 * sum(self.matches(lines)) <= len(lines):
            return None
        records = read.count("\n") + (not read.endswith("\n"))
        serde = [("input.format", self.pattern)]
        if self.custom:
            serde.append(("input.grokCustomPatterns", self.custom))
        file_format = FileFormat(
            classification=self.classification,
            compression=sample.compression,
            serde=tuple(serde),
            parameters=(("grokPattern", self.pattern),),
        )
        size = len(read.encode()) if sample.compression == "none" else 0
        return Recognized(format=file_format, columns=self.columns, rows=sample.estimate(records, size))


def _matcher(expression: str) -> Callable[[Sequence[str]], Sequence[bool]]:
    """Return a function that says of each line whether it matches the expression."""
    try:
        linear_matcher(expression)
        return linear_matcher(f".*?(?:{expression}).*")
    except InvalidInput as error:
        raise InvalidInput(
            f"The grok pattern cannot be used: {error.message[-300:]}",
            remedy="Patterns are matched in linear time: write them without lookarounds, back references and atomic groups.",
        ) from None


class _Expansion:
    """Replaces references by their patterns, within bounds, and collects the columns in their order."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self._patterns = patterns
        self._references = 0
        self._length = 0
        self.columns: dict[str, Column] = {}

    def expand(self, text: str, within: tuple[str, ...]) -> str:
        """Return the expression of ``text``, which is inside the patterns named ``within``."""

        def replaced(token: re.Match[str]) -> str:
            if token["name"]:
                return self._column(token["name"], "string")
            if token[0] == "(":
                return "(?:"
            return self._referred(token[0], within) if token[0].startswith("%{") else token[0]

        expanded = _TOKEN.sub(replaced, text)
        self._length += len(text)
        if self._length > _MAX_LENGTH or len(expanded) > _MAX_LENGTH:
            raise InvalidInput(f"The grok pattern is longer than {_MAX_LENGTH:,} characters with all that it refers to.")
        return expanded

    def _referred(self, text: str, within: tuple[str, ...]) -> str:
        match = _REFERENCE.fullmatch(text)
        if match is None:
            raise InvalidInput(f"'{text[:100]}' in the grok pattern is not of the form %{{PATTERN:field:type}}.")
        name, field, type_name = match.groups()
        self._references += 1
        if name not in self._patterns:
            raise InvalidInput(f"The grok pattern {name} is not known.", remedy="Define it in CustomPatterns.")
        if name in within:
            raise InvalidInput(f"The grok pattern {name} refers to itself.")
        if self._references > _MAX_REFERENCES:
            raise InvalidInput(f"The grok pattern refers to more than {_MAX_REFERENCES:,} others.")
        if field and field.lower() != _UNWANTED:
            if type_name and type_name.lower() not in _TYPES:
                raise InvalidInput(
                    f"Field {field} of the grok pattern has the type {type_name}.", remedy=f"Use {', '.join(_TYPES)}."
                )
            opening = self._column(field, hive.canonical(type_name) if type_name else "string")
        else:
            opening = "(?:"
        return f"{opening}{self.expand(self._patterns[name], (*within, name))})"

    def _column(self, field: str, type_name: str) -> str:
        """Add a column, and return how its group begins; of two groups with one name the first has the values."""
        name = field.strip().lower()
        if name in self.columns:
            return "(?:"
        self.columns[name] = Column(name=name, type=type_name)
        if len(self.columns) > _MAX_GROUPS:
            raise InvalidInput(f"The grok pattern has more than {_MAX_GROUPS} fields.")
        return f"(?P<g{len(self.columns) - 1}>"


def _custom(text: str) -> dict[str, str]:
    patterns: dict[str, str] = {}
    for line in text.splitlines():
        name, _, pattern = line.strip().partition(" ")
        if not name or name.startswith("#"):
            continue
        if not re.fullmatch(r"\w{1,100}", name) or not pattern.strip():
            raise InvalidInput(
                f"'{line[:100]}' is not a custom pattern.", remedy="Write a name, a space and an expression a line."
            )
        patterns[name] = pattern.strip()
    return patterns
