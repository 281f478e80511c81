"""Options of scripts: text or numbers under Glue's names, held to the table of what AWS documents.

An option that AWS documents and that is not served is refused if a result would be another without it, and else a warning
says that it has no effect. One that AWS does not document is ignored, as there, with a warning.
"""

import json
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from penstock.errors import InvalidInput
from penstock.glue.library.options import PAGE, outcome_of, row_of
from penstock.spark.sources.options import Options as SourceOptions

__all__ = ["Options"]

_log = logging.getLogger("awsglue")
_warned: set[tuple[str, str, str]] = set()
_OURS = ("penstock", "awsglue", "awsgluedq", "awsglueml")


class Options(SourceOptions):
    """The options that a script gives to ``owner``, which is one of the table's: ``the kafka source``.

    Those that are refused raise :class:`InvalidInput`; one warning names the others that have no effect. With
    ``strict`` unknown ones are refused, too: where a mistake cannot be made good.
    """

    def __init__(self, owner: str, options: Mapping[str, Any], *, strict: bool = False) -> None:
        super().__init__(owner, options)
        self._check(strict=strict)

    def raw(self, name: str) -> Any:
        """Return the option as the script gives it, None without it or if it is not served."""
        row = row_of(self.owner, name)
        assert row is not None, f"{self.owner} reads {name}, which its table lacks"
        return self._options.get(name) if row.status == "served" else None

    def rest(self, prefix: str) -> dict[str, str]:
        """Return every option whose name begins with ``prefix``."""
        return {name: self.text(name) or "" for name in self._options if name.startswith(prefix)}

    def names(self, name: str, example: str, *, separator: str | None = None) -> list[str]:
        """Return an option that is a list, a list as JSON, or one text, which ``separator`` divides.

        Raises :class:`InvalidInput` for anything else, with ``example`` as remedy.
        """
        value = names = self.raw(name)
        if isinstance(value, str):
            text = value.strip()
            try:
                parts = [value] if separator is None else [part.strip() for part in text.split(separator) if part.strip()]
                names = json.loads(text) if text.startswith("[") else parts
            except ValueError:
                names = text
        if names is not None and not (isinstance(names, list | tuple) and all(isinstance(part, str) for part in names)):
            raise InvalidInput(f"{name} is {value!r}.", remedy=f"Write it like {example}.")
        return list(names or [])

    def with_defaults(self, defaults: Mapping[str, Any]) -> "Options":
        """Set options that the script has not set, without those that are None. Return these options."""
        self._options = {**{name: value for name, value in defaults.items() if value is not None}, **self._options}
        return self

    def _check(self, *, strict: bool) -> None:
        title = self.title
        without: dict[str, list[str]] = {}
        unknown: list[str] = []
        line = _script_line()
        for name in sorted(self._options):
            outcome = outcome_of(self.owner, name, self._options[name])
            if outcome.status == "refused":
                raise InvalidInput(f"Option {name} of {self.owner} is not supported.", remedy=outcome.note)
            if outcome.status == "unknown" and strict:
                raise InvalidInput(
                    f"{title} has no option {name!r}.", remedy=f"{outcome.note} {PAGE} lists the options.".strip()
                )
            if outcome.status == "served" or _was_warned(self.owner, name, line):
                continue
            if outcome.status == "unknown":
                hint = outcome.note[:1].lower() + outcome.note[1:].rstrip(".")
                unknown.append(f"{name} ({hint})" if hint else name)
            else:
                without.setdefault(outcome.note, []).append(name)
        sentences = [f"{title} ignores {', '.join(unknown)}, as AWS does."] if unknown else []
        for note, names in without.items():
            sentences.append(f"{' and '.join(names)} {'have' if names[1:] else 'has'} no effect here: {note}")
        if sentences:
            about = "" if unknown else f"{title}: "
            _log.warning("%s%s%s %s lists the options.", line, about, " ".join(sentences), PAGE)


def _was_warned(owner: str, name: str, line: str) -> bool:
    """Return whether this line of the script was warned of before: a stream writes every batch anew."""
    warning = (owner, name, line)
    if line and warning in _warned:
        return True
    _warned.add(warning)
    return False


def _script_line() -> str:
    """Return the line of the script that is at work, such as ``job.py, line 3: ``; empty at a prompt."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] not in _OURS:
            name = frame.f_code.co_filename
            return "" if name.startswith("<") else f"{Path(name).name}, line {frame.f_lineno}: "
        frame = frame.f_back
    return ""
