"""A YAML mapping whose entries know their file and line, read key by key with types and bounds.

Keys that no code reads are refused at the end, with the nearest known key as a suggestion. ``${NAME}`` in a value stands
for an environment variable; nothing else reads the environment.
"""

import contextlib
import difflib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

from penstock.errors import InvalidInput

__all__ = ["Section", "load_document", "read_text"]

MAX_CHARACTERS = 1_000_000
_MAX_FILE = 2_000_000  # bytes

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_WHOLE = re.compile(r"-?[0-9](?:_?[0-9]){0,18}")
T = TypeVar("T")
_Choice = TypeVar("_Choice", bound=str)


def read_text(path: Path, what: str) -> str:
    """Return the text of ``what`` (``pipeline``) in the file ``path``. Raises :class:`InvalidInput` if it cannot be read."""
    try:
        if path.stat().st_size > _MAX_FILE:
            raise InvalidInput(f"{path} has over {_MAX_FILE:,} bytes; a {what} is smaller.")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text.") from None


def load_document(
    text: str, *, origin: str, environment: Mapping[str, str], what: str = "pipeline", first: str = "name"
) -> "Section":
    """Return the top mapping of ``text``. Raises :class:`InvalidInput` with ``origin`` and the line of the mistake.

    For messages, ``what`` names the kind of text, and ``first`` the key that it begins with.
    """
    if len(text) > MAX_CHARACTERS:
        raise InvalidInput(f"{origin} has over {MAX_CHARACTERS:,} characters; a {what} is smaller.")
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise InvalidInput(f"{origin}:{line}: this is not YAML: {error.problem or error.context}.") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidInput(f"{origin}: this is not YAML: {error}.") from None
    if not isinstance(node, yaml.MappingNode):
        raise InvalidInput(f"{origin}:1: a {what} is a mapping that begins with '{first}:'.")
    return Section(node, path="", origin=origin, environment=environment)


class Section:
    """One mapping of the document. A key may have several names; two of them in one mapping are an error."""

    def __init__(self, node: yaml.MappingNode, *, path: str, origin: str, environment: Mapping[str, str]) -> None:
        self._path = path
        self._origin = origin
        self._environment = environment
        self._line = node.start_mark.line + 1
        self._entries: dict[str, yaml.Node] = {}
        self._lines: dict[str, int] = {}
        self._keys: set[str] = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._error(key.start_mark.line + 1, "a key must be a plain word")
            name = str(key.value)
            if name in self._entries:
                raise self._error(
                    key.start_mark.line + 1, f"'{path}{name}' is given twice (first in line {self._lines[name]})"
                )
            self._entries[name] = value
            self._lines[name] = key.start_mark.line + 1

    def _error(self, line: int, problem: str, remedy: str | None = None) -> InvalidInput:
        return InvalidInput(f"{self._origin}:{line}: {problem}.", remedy=remedy)

    def fault(self, problem: str, *, key: str | None = None, remedy: str | None = None) -> InvalidInput:
        """Return the error for ``problem`` at ``key``, or at the section itself."""
        return self._error(self._lines.get(key or "", self._line), problem, remedy)

    def _take(self, names: tuple[str, ...]) -> tuple[str, yaml.Node] | None:
        self._keys.update(names)
        present = [name for name in names if name in self._entries]
        if len(present) > 1:
            raise self.fault(f"'{present[0]}' and '{present[1]}' mean the same", key=present[1], remedy="Keep one of them.")
        if not present:
            return None
        node = self._entries[present[0]]
        if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null":
            return None
        return present[0], node

    def has(self, *names: str) -> bool:
        """Return whether the mapping has one of ``names``."""
        return self._take(names) is not None

    def names(self) -> list[str]:
        """Return the keys as written."""
        return list(self._entries)

    def text(self, *names: str) -> str | None:
        """Return a scalar as text, with variables replaced; None if it is missing."""
        entry = self._take(names)
        if entry is None:
            return None
        name, node = entry
        if not isinstance(node, yaml.ScalarNode):
            raise self.fault(f"'{self._path}{name}' must be one value", key=name)
        return self._filled(name, str(node.value))

    def _filled(self, name: str, raw: str) -> str:
        def value(match: re.Match[str]) -> str:
            variable = match.group(1)
            if variable not in self._environment:
                raise self.fault(
                    f"'{self._path}{name}' uses ${{{variable}}}, which is not set",
                    key=name,
                    remedy=f"Set {variable} in the environment.",
                )
            return self._environment[variable]

        return _VARIABLE.sub(value, raw)

    def required(self, *names: str) -> str:
        """Return a scalar as :meth:`text` does; raise an error if it is missing or empty."""
        value = self.text(*names)
        if value:
            return value
        typed = [] if names[0] in self._entries else difflib.get_close_matches(names[0], self._entries, n=1, cutoff=0.7)
        if typed:
            raise self.fault(
                f"'{self._path}{typed[0]}' is not known here", key=typed[0], remedy=f"Did you mean '{names[0]}'?"
            )
        raise self.fault(f"'{self._path}{names[0]}' is missing", key=names[0])

    def _converted(self, names: tuple[str, ...], convert: Callable[[str], T | None], problem: str) -> T | None:
        """Return a scalar as ``convert`` reads it, None if it is missing; raise ``problem`` if it returns None."""
        value = self.text(*names)
        if value is None:
            return None
        converted = convert(value)
        if converted is None:
            raise self.fault(f"'{self._path}{names[0]}' is '{value[:80]}'{problem}", key=self._written(names))
        return converted

    def integer(self, *names: str, minimum: int = 0, maximum: int = 2**31 - 1) -> int | None:
        """Return a whole number within bounds; underscores may group its digits."""

        def convert(value: str) -> int | None:
            return int(value) if _WHOLE.fullmatch(value) and minimum <= int(value) <= maximum else None

        return self._converted(names, convert, f", not a whole number from {minimum:,} to {maximum:,}")

    def fraction(self, *names: str) -> float | None:
        """Return a number from 0 to 1."""

        def convert(value: str) -> float | None:
            with contextlib.suppress(ValueError):
                return number if 0 <= (number := float(value)) <= 1 else None
            return None

        return self._converted(names, convert, ", not a number from 0 to 1")

    def boolean(self, *names: str) -> bool | None:
        """Return true or false."""
        return self._converted(names, lambda value: _BOOLEANS.get(value.lower()), ", not true or false")

    def choice(self, choices: tuple[_Choice, ...], *names: str) -> _Choice | None:
        """Return one of ``choices``, ignoring case."""
        by_name = {choice.lower(): choice for choice in choices}
        return self._converted(names, lambda value: by_name.get(value.lower()), f"; it can be {', '.join(choices)}")

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return a list of words, or one word as a list."""
        entry = self._take(names)
        if entry is None:
            return ()
        name, node = entry
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        if not all(isinstance(element, yaml.ScalarNode) for element in nodes):
            raise self.fault(f"'{self._path}{name}' must be a list of words", key=name)
        return tuple(self._filled(name, str(element.value)) for element in nodes)

    def sections(self, *names: str) -> "list[Section]":
        """Return the mappings of a list; empty if it is missing."""
        entry = self._take(names)
        if entry is None:
            return []
        name, node = entry
        if not isinstance(node, yaml.SequenceNode) or not all(
            isinstance(element, yaml.MappingNode) for element in node.value
        ):
            raise self.fault(f"'{self._path}{name}' must be a list of mappings", key=name)
        return [
            Section(element, path=f"{self._path}{name}[{index}].", origin=self._origin, environment=self._environment)
            for index, element in enumerate(node.value)
        ]

    def plain(self, *names: str) -> Any:
        """Return the value as YAML reads it (mappings, lists, numbers, texts), without variables; None if missing."""
        entry = self._take(names)
        if entry is None:
            return None
        try:
            return yaml.SafeLoader.construct_document(yaml.SafeLoader(""), entry[1])
        except yaml.YAMLError as error:
            raise self.fault(f"'{self._path}{entry[0]}' cannot be read: {error}", key=entry[0]) from None

    def mapping(self, *names: str) -> dict[str, str]:
        """Return a mapping of words to words; empty if it is missing."""
        inner = self.section(*names)
        return {} if inner is None else {name: inner.text(name) or "" for name in inner.names()}

    def section(self, *names: str) -> "Section | None":
        """Return a mapping inside this one; None if it is missing."""
        entry = self._take(names)
        if entry is None:
            return None
        name, node = entry
        if not isinstance(node, yaml.MappingNode):
            raise self.fault(f"'{self._path}{name}' must be a mapping", key=name)
        return Section(node, path=f"{self._path}{name}.", origin=self._origin, environment=self._environment)

    def required_section(self, *names: str) -> "Section":
        """Return a mapping as :meth:`section` does; raise an error if it is missing."""
        inner = self.section(*names)
        if inner is None:
            raise self.fault(f"'{self._path}{names[0]}' is missing")
        return inner

    def done(self) -> None:
        """Refuse keys that were never read."""
        for name in self._entries:
            if name not in self._keys:
                near = difflib.get_close_matches(name, sorted(self._keys), n=1, cutoff=0.6)
                keys = ", ".join(sorted(self._keys))
                raise self.fault(
                    f"'{self._path}{name}' is not known here",
                    key=name,
                    remedy=f"Did you mean '{near[0]}'?" if near else f"Known keys: {keys}.",
                )

    def _written(self, names: tuple[str, ...]) -> str:
        return next((name for name in names if name in self._entries), names[0])
