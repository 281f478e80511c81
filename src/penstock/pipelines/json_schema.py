"""The JSON Schema of a pipeline's YAML, for editors: recorded from the parser itself, so that the two cannot differ.

The parser runs over a :class:`Probe` instead of a document, which notes each key with its names, type and bounds. It runs
several times, because some keys are only read if another one is there, or has a certain value. What has names of the
user's own (sinks, steps, columns) is read under :data:`ANY`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from penstock.errors import InvalidInput
from penstock.settings.document import Section

__all__ = ["ANY", "Probe", "Recording", "recorded_schema"]

ANY = "anyname"
"""The name that stands for names of the user's own."""

_VARIABLE = {"type": "string", "pattern": r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"}
_SCALAR = {"type": ["string", "number", "boolean", "null"]}
_TEXTS = (
    "x",
    "a.b",
    "10 minutes",
    "m:f",
    "topic:x",
    "jdbc:postgresql://host/database",
    "arn:aws:kinesis:us-east-1:1:stream/x",
)
"""Values of required texts, tried in turn until the parser goes on."""

_ROUNDS = 2_000

Decision = tuple[str, str]  # a key's path, and a value of it ("" for: it is there)


@dataclass(slots=True)
class _Key:
    """What was seen of one key: its names, schemas of its values, the section below it."""

    names: dict[str, None] = field(default_factory=dict)
    values: list[dict[str, Any]] = field(default_factory=list)
    section: "Recording | None" = None
    several: bool = False  # a list of sections


@dataclass(slots=True)
class Recording:
    """One mapping: its keys under their first names, and those that every complete reading required."""

    keys: dict[str, _Key] = field(default_factory=dict)
    required: set[str] | None = None

    def key(self, names: tuple[str, ...]) -> _Key:
        """Return the key with one of ``names``, made at its first use."""
        recorded = next((key for key in self.keys.values() if set(names) & set(key.names)), None)
        entry = recorded or self.keys.setdefault(names[0], _Key())
        entry.names.update(dict.fromkeys(names))
        return entry

    def schema(self) -> dict[str, Any]:
        """Return the mapping as JSON Schema."""
        properties: dict[str, Any] = {}
        for name, key in self.keys.items():
            value = _value(key)
            for item in key.names:
                properties[item] = value if item == name else {"description": f"The same as {name}.", **value}
        schema: dict[str, Any] = {"type": "object"}
        others = properties.pop(ANY, None)
        if properties:
            schema["properties"] = dict(sorted(properties.items()))
        schema["additionalProperties"] = others or False
        required = [list(self.keys[name].names) for name in sorted(self.required or ()) if name != ANY]
        if required:
            schema["allOf"] = [{"anyOf": [{"required": [item]} for item in names]} for names in required]
        return schema


def _value(key: _Key) -> dict[str, Any]:
    alternatives: list[dict[str, Any]] = []
    for value in key.values:
        if value not in alternatives:
            alternatives.append(value)
    if key.section is not None:
        section = key.section.schema()
        alternatives.append({"type": "array", "items": section} if key.several else section)
    if not alternatives or {} in alternatives:
        return {}
    return alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}


class Probe:
    """Has the methods of :class:`~penstock.settings.document.Section`, and records what is read by them."""

    def __init__(
        self, recording: Recording, path: str, decided: Mapping[str, str], log: list[Decision], text: dict[str, str]
    ) -> None:
        self._recording = recording
        self._path = path
        self._given = decided  # decisions of this round: path of a key to its value
        self._log = log  # decisions that could be made otherwise
        self._text = text  # values of required texts
        self._required: set[str] = set()

    def _read(self, names: tuple[str, ...], value: dict[str, Any] | None) -> tuple[_Key, str]:
        key = self._recording.key(names)
        if value is not None:
            key.values.append(value)
        return key, f"{self._path}.{next(iter(key.names))}"

    def _decided(self, path: str, values: tuple[str, ...] = ("",)) -> str | None:
        self._log.extend((path, value) for value in values)
        return self._given.get(path)

    def fault(self, problem: str, *, key: str | None = None, remedy: str | None = None) -> InvalidInput:
        """See Section."""
        return InvalidInput(f"{self._path}.{key or ''}: {problem}", remedy=remedy)

    def has(self, *names: str) -> bool:
        """See Section."""
        return self._decided(self._read(names, None)[1]) is not None

    def names(self) -> list[str]:
        """See Section; the mapping has names of the user's own."""
        return [ANY]

    def text(self, *names: str) -> str | None:
        """See Section."""
        return self._decided(self._read(names, _SCALAR)[1]) and self._text.get(names[0], _TEXTS[0])

    def required(self, *names: str) -> str:
        """See Section."""
        key, path = self._read(names, _SCALAR)
        self._required.add(next(iter(key.names)))
        self._text["last"] = path
        return self._text.get(path, _TEXTS[0])

    def integer(self, *names: str, minimum: int = 0, maximum: int = 2**31 - 1) -> int | None:
        """See Section."""
        number = {"type": "integer", "minimum": minimum, "maximum": maximum}
        grouped = {"type": "string", "pattern": r"^([0-9](_?[0-9])*|\$\{[A-Za-z_][A-Za-z0-9_]*\})$"}
        self._read(names, {"anyOf": [number, grouped, {"type": "null"}]})
        return None

    def fraction(self, *names: str) -> float | None:
        """See Section."""
        self._read(names, {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, _VARIABLE, {"type": "null"}]})
        return None

    def boolean(self, *names: str) -> bool | None:
        """See Section."""
        path = self._read(names, {"anyOf": [{"type": "boolean"}, _VARIABLE, {"type": "null"}]})[1]
        return None if self._decided(path) is None else True

    def choice(self, choices: tuple[str, ...], *names: str) -> str | None:
        """See Section."""
        path = self._read(names, {"anyOf": [{"enum": list(choices)}, _VARIABLE, {"type": "null"}]})[1]
        return self._decided(path, choices)

    def texts(self, *names: str) -> tuple[str, ...]:
        """See Section."""
        path = self._read(names, {"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}]})[1]
        return () if self._decided(path) is None else (_TEXTS[0],)

    def plain(self, *names: str) -> Any:
        """See Section."""
        self._read(names, {})

    def mapping(self, *names: str) -> dict[str, str]:
        """See Section."""
        path = self._read(names, {"type": ["object", "null"], "additionalProperties": _SCALAR})[1]
        return {} if self._decided(path) is None else {ANY: _TEXTS[0]}

    def _inner(self, key: _Key, path: str) -> "Section":
        if key.section is None:
            key.section = Recording()
        return cast("Section", Probe(key.section, path, self._given, self._log, self._text))

    def section(self, *names: str) -> "Section | None":
        """See Section; the mapping is there, unless the round decides otherwise."""
        key, path = self._read(names, None)
        if self._decided(path, ("", "absent")) == "absent":
            return None
        return self._inner(key, path)

    def required_section(self, *names: str) -> "Section":
        """See Section."""
        key, path = self._read(names, None)
        self._required.add(next(iter(key.names)))
        return self._inner(key, path)

    def sections(self, *names: str) -> "list[Section]":
        """See Section."""
        key, path = self._read(names, None)
        key.several = True
        return [self._inner(key, path)]

    def done(self) -> None:
        """See Section."""
        required = self._recording.required
        self._recording.required = set(self._required) if required is None else required & self._required


def recorded_schema(parse: Callable[[Section], object]) -> Recording:
    """Return what ``parse`` reads of a mapping, over rounds in which one further decision is made each."""
    recording = Recording()
    tried: set[Decision] = set()
    queue: list[dict[str, str]] = [{}]
    for _ in range(_ROUNDS):
        if not queue:
            return recording
        decided = queue.pop(0)
        log: list[Decision] = []
        _round(parse, recording, decided, log)
        for decision in log:
            if decision not in tried:
                tried.add(decision)
                queue.append({**_parents(decided, decision[0]), decision[0]: decision[1]})
    raise RuntimeError("The parser of pipelines makes more decisions than the JSON Schema's rounds: raise _ROUNDS.")


def _parents(decided: Mapping[str, str], path: str) -> dict[str, str]:
    """Return the decisions that made a key be read at all: those about keys of the same mapping or one around it."""
    return {parent: value for parent, value in decided.items() if value != "absent" or not path.startswith(parent)}


def _round(
    parse: Callable[[Section], object], recording: Recording, decided: Mapping[str, str], log: list[Decision]
) -> None:
    """Run the parser once; a required text that stops it gets other values."""
    text: dict[str, str] = {}
    for _ in range(len(_TEXTS) * 4):
        text.pop("last", None)
        probe = Probe(recording, "", decided, log, text)
        try:
            parse(cast("Section", probe))
            return
        except InvalidInput:
            last = text.get("last")
            following = next(_after(text.get(last or "", _TEXTS[0])), None)
            if last is None or following is None:
                return
            text[last] = following


def _after(value: str) -> Iterator[str]:
    yield from _TEXTS[_TEXTS.index(value) + 1 :]
