"""What is done with entities that were found: AWS's fine-grained actions, as a plan for each column. Needs no Spark.

Source: https://docs.aws.amazon.com/glue/latest/dg/sensitive-data-fine-grained-actions.html
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import InvalidInput
from penstock.glue.entities.types import TYPES

__all__ = ["DETECT", "Action", "Match", "Task", "changed", "check_types", "find_all", "plan"]

DETECT = "DETECT"
_SHOWN = 10  # of types that are not detected
_OPTIONS = {
    DETECT: frozenset[str](),
    "SHA256_HASH": frozenset[str](),
    "REDACT": frozenset({"redactText"}),
    "PARTIAL_REDACT": frozenset({"numLeftCharsToExclude", "numRightCharsToExclude", "redactChar", "matchPattern"}),
}
_MEMBERS = frozenset({"action", "actionOptions", "sourceColumns", "sourceColumnsToExclude"})
_LAYOUT = 'Write {"EMAIL": [{"action": "REDACT", "actionOptions": {"redactText": "***"}, "sourceColumns": ["a"]}]}.'


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One of AWS's four actions. A partial redaction leaves ``left`` and ``right`` characters and what is not ``match``."""

    name: str
    text: str = ""
    left: int = 0
    right: int = 0
    match: str = ""

    def apply(self, entity: str) -> str:
        """Return what stands in the place of an entity. A partial redaction that would leave all of it redacts it whole."""
        if self.name == "SHA256_HASH":
            return hashlib.sha256(entity.encode()).hexdigest()
        if self.name == "REDACT":
            return self.text
        if self.name != "PARTIAL_REDACT":
            return entity
        end = len(entity) - self.right
        if self.left >= end:
            return self.text * len(entity)
        middle = entity[self.left : end]
        hidden = (
            re.sub(self.match, lambda match: self.text * len(match[0]), middle) if self.match else self.text * len(middle)
        )
        return entity[: self.left] + hidden + entity[end:]


@dataclass(frozen=True, slots=True)
class Task:
    """An entity type to search a column for, and what to do with it."""

    entity: str
    action: Action


@dataclass(frozen=True, slots=True)
class Match:
    """An entity in a text."""

    task: Task
    start: int
    end: int


def check_types(names: Any) -> list[str]:
    """Return the names once each.

    Raises :class:`InvalidInput` for a type that is not detected, and for anything but a list.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInput(f"The types of entities are {str(names)[:100]}, not a list.", remedy='Write ["EMAIL", "DATE"].')
    listed = [str(name) for name in dict.fromkeys(names)]
    unknown = [name for name in listed if name not in TYPES]
    if unknown:
        more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        shown = ", ".join(name[:100] for name in unknown[:_SHOWN])
        raise InvalidInput(
            f"Entities of type {shown}{more} cannot be detected: they need AWS's own models, or are custom types.",
            remedy=f"Leave them out and mask their columns by name. Detected are {', '.join(TYPES)}.",
        )
    return listed


def plan(parameters: Any, columns: Sequence[str]) -> Mapping[str, Sequence[Task]]:
    """Return what to do with each of ``columns``, by its name.

    ``parameters`` is a list of types, all of which are only detected, or AWS's ``detectionParameters``: a map, or its JSON.
    Raises :class:`InvalidInput` for types and actions that are not supported, and for columns that do not exist.
    """
    if isinstance(parameters, str):
        parameters = _read(parameters)
    if not isinstance(parameters, Mapping):
        detected = [Task(name, Action(name=DETECT)) for name in check_types(parameters)]
        return dict.fromkeys(columns, detected)
    check_types(parameters)
    tasks: dict[str, list[Task]] = {name: [] for name in columns}
    for entity, settings in parameters.items():
        for setting in settings if isinstance(settings, Sequence) and not isinstance(settings, str) else [settings]:
            if not isinstance(setting, Mapping):
                raise InvalidInput(f"The actions of {entity} are not a list of maps.", remedy=_LAYOUT)
            task = Task(entity, _action(entity, setting))
            for name in _columns(entity, setting, columns):
                tasks[name].append(task)
    return tasks


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise InvalidInput("The detection parameters are not JSON.", remedy=_LAYOUT) from None


def _columns(entity: str, setting: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    named = [str(name) for name in setting.get("sourceColumns") or []]
    excluded = {str(name) for name in setting.get("sourceColumnsToExclude") or []}
    absent = [name for name in (*named, *excluded) if name not in columns and name != "*"]
    if absent:
        raise InvalidInput(
            f"Columns {', '.join(absent)} of {entity} do not exist.", remedy=f"The columns are {', '.join(columns)}."
        )
    chosen = columns if not named or "*" in named else named
    return [name for name in dict.fromkeys(chosen) if name not in excluded]


def _action(entity: str, setting: Mapping[str, Any]) -> Action:
    name = setting.get("action")
    unknown = sorted(set(setting) - _MEMBERS)
    if name not in _OPTIONS or unknown:
        what = f"Members {', '.join(unknown)}" if unknown else f"Action {name!r}"
        raise InvalidInput(f"{what} of {entity} not known.", remedy=f"Actions are {', '.join(_OPTIONS)}. {_LAYOUT}")
    options: Mapping[str, Any] = setting.get("actionOptions") or {}
    unknown = sorted(set(options) - _OPTIONS[name])
    if unknown:
        raise InvalidInput(
            f"Options {', '.join(unknown)} of {name} of {entity} are not known.",
            remedy=f"Its options are {', '.join(sorted(_OPTIONS[name])) or 'none'}.",
        )
    if name == "REDACT":
        if "redactText" not in options:
            raise InvalidInput(f"REDACT of {entity} has no redactText.", remedy=_LAYOUT)
        return Action(name=name, text=str(options["redactText"]))
    if name == "PARTIAL_REDACT":
        return _partial(entity, options)
    return Action(name=name)


def _partial(entity: str, options: Mapping[str, Any]) -> Action:
    try:
        left, right = (int(options.get(f"num{side}CharsToExclude") or 0) for side in ("Left", "Right"))
        match = re.compile(str(options.get("matchPattern") or "")).pattern
    except (ValueError, re.error) as error:
        raise InvalidInput(
            f"An option of PARTIAL_REDACT of {entity} cannot be read: {error}.",
            remedy="Numbers of characters are whole numbers, and matchPattern is a regular expression.",
        ) from None
    char = str(options.get("redactChar") or "*")
    if left < 0 or right < 0 or len(char) != 1:
        raise InvalidInput(
            f"An option of PARTIAL_REDACT of {entity} is out of its range.",
            remedy="Numbers of characters are 0 or more, and redactChar is one character.",
        )
    return Action(name="PARTIAL_REDACT", text=char, left=left, right=right, match=match)


def find_all(text: str, tasks: Sequence[Task]) -> list[Match]:
    """Return the entities of all ``tasks`` in ``text``, by their places; those of different types may overlap."""
    entities = [Match(task, start, end) for task in tasks for start, end in TYPES[task.entity].find(text)]
    return sorted(entities, key=lambda entity: (entity.start, -entity.end))


def changed(text: str, entities: Sequence[Match]) -> str:
    """Return ``text`` after the actions of what :func:`find_all` found in it.

    Entities that overlap are changed as one, by the action of the first and longest of them.
    """
    spans: list[tuple[Action, int, int]] = []
    for entity in entities:
        if entity.task.action.name == DETECT:
            continue
        if spans and entity.start < spans[-1][2]:
            action, start, end = spans[-1]
            spans[-1] = (action, start, max(end, entity.end))
        else:
            spans.append((entity.task.action, entity.start, entity.end))
    for action, start, end in reversed(spans):
        text = text[:start] + action.apply(text[start:end]) + text[end:]
    return text
