"""Options of scripts: text or numbers under Glue's names, held to the table of what AWS documents.

An option that AWS documents and that is not served is refused if a result would be another without it, and else a warning
says that it has no effect. One that AWS does not document is ignored, as there, with a warning.
"""

import logging
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

from penstock.errors import InvalidInput
from penstock.spark.glue.library.options import PAGE, judged, row_of

__all__ = ["Options", "milliseconds"]

_TRUE, _FALSE = ("true", "1"), ("false", "0", "")
_log = logging.getLogger("awsglue")
_told: set[tuple[str, str, str]] = set()
_OURS = ("penstock", "awsglue", "awsgluedq", "awsglueml")


class Options:
    """The options that a script gives to ``owner``, which is one of the table's: ``the kafka source``.

    Those that are refused raise :class:`InvalidInput`; the others that have no effect are said in one warning. With
    ``strict`` unknown ones are refused, too: where a mistake cannot be made good.
    """

    def __init__(self, owner: str, given: Mapping[str, Any], *, strict: bool = False) -> None:
        self.owner = owner
        self._given = {str(name): value for name, value in given.items() if value is not None}
        self._judge(strict=strict)

    def raw(self, name: str) -> Any:
        """Return the option as the script gives it, None without it or if it is not served."""
        row = row_of(self.owner, name)
        assert row is not None, f"{self.owner} reads {name}, which its table lacks"
        return self._given.get(name) if row.status == "served" else None

    @property
    def title(self) -> str:
        """Return the owner as a sentence begins with it: ``The kafka source``, but ``forEachBatch``."""
        return self.owner.replace("the ", "The ", 1)

    def text(self, name: str, default: str | None = None) -> str | None:
        """Return the option as text, with numbers and booleans as in JSON."""
        value = self.raw(name)
        if value is None:
            return default
        return str(value).lower() if isinstance(value, bool) else str(value)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean from ``true`` or ``false``, ignoring case."""
        found = self.text(name)
        if found is None:
            return default
        if found.strip().lower() in _TRUE + _FALSE:
            return found.strip().lower() in _TRUE
        raise InvalidInput(f"Option {name} of {self.owner} is {found!r}.", remedy="Use true or false.")

    def number(self, name: str, default: int | None = None, *, least: int = 0) -> int | None:
        """Return a whole number of at least ``least``."""
        found = self.text(name)
        if found is None:
            return default
        if found.strip().isdigit() and int(found) >= least:
            return int(found)
        raise InvalidInput(f"Option {name} of {self.owner} is {found!r}.", remedy=f"Use a number of at least {least}.")

    def rest(self, prefix: str) -> dict[str, str]:
        """Return every option whose name begins with ``prefix``."""
        return {name: self.text(name) or "" for name in self._given if name.startswith(prefix)}

    def with_defaults(self, defaults: Mapping[str, Any]) -> "Options":
        """Give options that the script has not given; None is none. Return these options."""
        self._given = {**{name: value for name, value in defaults.items() if value is not None}, **self._given}
        return self

    def _judge(self, *, strict: bool) -> None:
        title = self.title
        without: dict[str, list[str]] = {}
        unknown: list[str] = []
        place = _place()
        for name in sorted(self._given):
            found = judged(self.owner, name, self._given[name])
            if found.status == "refused":
                raise InvalidInput(f"Option {name} of {self.owner} is not supported.", remedy=found.note)
            if found.status == "unknown" and strict:
                raise InvalidInput(
                    f"{title} has no option {name!r}.", remedy=f"{found.note} {PAGE} lists the options.".strip()
                )
            if found.status == "served" or _said(self.owner, name, place):
                continue
            if found.status == "unknown":
                hint = found.note[:1].lower() + found.note[1:].rstrip(".")
                unknown.append(f"{name} ({hint})" if hint else name)
            else:
                without.setdefault(found.note, []).append(name)
        told = [f"{title} ignores {', '.join(unknown)}, as AWS does."] if unknown else []
        for note, names in without.items():
            told.append(f"{' and '.join(names)} {'have' if names[1:] else 'has'} no effect here: {note}")
        if told:
            about = "" if unknown else f"{title}: "
            _log.warning("%s%s%s %s lists the options.", place, about, " ".join(told), PAGE)


def _said(owner: str, name: str, place: str) -> bool:
    """Return whether the same line of the script has said it: a stream writes every batch anew."""
    known = (owner, name, place)
    if place and known in _told:
        return True
    _told.add(known)
    return False


def _place() -> str:
    """Return the line of the script that is at work, such as ``job.py, line 3: ``; empty at a prompt."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] not in _OURS:
            name = frame.f_code.co_filename
            return "" if name.startswith("<") else f"{Path(name).name}, line {frame.f_lineno}: "
        frame = frame.f_back
    return ""


def milliseconds(text: str, name: str) -> int:
    """Return a time such as ``2023-04-04T08:00:00-04:00`` in milliseconds since 1970; without an offset it is UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = datetime.fromisoformat(f"{text.strip()}+00:00")
    except ValueError:
        raise InvalidInput(f"{name} is {text!r}.", remedy="Write it like 2023-04-04T08:00:00-04:00.") from None
    return int(moment.timestamp() * 1000)
