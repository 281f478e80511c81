"""Connection options of scripts: text or numbers under Glue's names. An unknown option is an error."""

import difflib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from penstock.errors import InvalidInput

__all__ = ["Options", "milliseconds"]

_TRUE, _FALSE = ("true", "1"), ("false", "0", "")


class Options:
    """The options of ``owner`` (``the kafka source``). Reading one removes it; :meth:`finish` refuses the rest."""

    def __init__(self, owner: str, given: Mapping[str, Any]) -> None:
        self.owner = owner
        # A sentence begins with a capital, a method's name does not.
        self._title = owner.replace("the ", "The ", 1)
        self._left = {str(name): value for name, value in given.items() if value is not None}
        self._known: set[str] = set()

    @property
    def title(self) -> str:
        """Return the owner as a sentence begins with it: ``The kafka source``."""
        return self._title

    def text(self, name: str, default: str | None = None) -> str | None:
        """Return the option as text, with numbers and booleans as in JSON."""
        self._known.add(name)
        if name not in self._left:
            return default
        value = self._left.pop(name)
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
        return {name: self.text(name) or "" for name in [name for name in self._left if name.startswith(prefix)]}

    def refuse(self, name: str, remedy: str, *, harmless: Iterable[str] = ()) -> None:
        """Refuse an option that AWS has and this source lacks, unless its value is one of ``harmless``."""
        found = self.text(name)
        if found is not None and found.strip().lower() not in harmless:
            raise InvalidInput(f"Option {name} of {self.owner} is not supported.", remedy=remedy)

    def with_defaults(self, defaults: Mapping[str, Any]) -> "Options":
        """Give options that the script has not given; None is none. Return these options."""
        self._left = {**{name: value for name, value in defaults.items() if value is not None}, **self._left}
        return self

    def finish(self) -> None:
        """Refuse the remaining options, because an unread name is a mistake."""
        for name in sorted(self._left):
            near = difflib.get_close_matches(name, self._known, 1)
            suggestion = f"Did you mean {near[0]}? " if near else ""
            raise InvalidInput(
                f"{self._title} has no option {name!r}.",
                remedy=f"{suggestion}docs/pipelines/glue-streaming.md lists the options.",
            )


def milliseconds(text: str, name: str) -> int:
    """Return a time such as ``2023-04-04T08:00:00-04:00`` in milliseconds since 1970; without an offset it is UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = datetime.fromisoformat(f"{text.strip()}+00:00")
    except ValueError:
        raise InvalidInput(f"{name} is {text!r}.", remedy="Write it like 2023-04-04T08:00:00-04:00.") from None
    return int(moment.timestamp() * 1000)
