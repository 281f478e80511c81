"""Options of a source or sink as text, numbers or booleans, under the names that connectors of Spark give them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from penstock.errors import InvalidInput

__all__ = ["Options", "milliseconds"]

_TRUE, _FALSE = ("true", "1"), ("false", "0", "")


class Options:
    """The options given to ``owner``, such as ``the kafka source``. Those that are None count as not given."""

    def __init__(self, owner: str, options: Mapping[str, Any]) -> None:
        self.owner = owner
        self._options = {str(name): value for name, value in options.items() if value is not None}

    def raw(self, name: str) -> Any:
        """Return the option as it is given, None without it."""
        return self._options.get(name)

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
        text = self.text(name)
        if text is None:
            return default
        if text.strip().lower() in _TRUE + _FALSE:
            return text.strip().lower() in _TRUE
        raise InvalidInput(f"Option {name} of {self.owner} is {text!r}.", remedy="Use true or false.")

    def number(self, name: str, default: int | None = None, *, least: int = 0) -> int | None:
        """Return a whole number of at least ``least``."""
        text = self.text(name)
        if text is None:
            return default
        if text.strip().isdigit() and int(text) >= least:
            return int(text)
        raise InvalidInput(f"Option {name} of {self.owner} is {text!r}.", remedy=f"Use a number of at least {least}.")


def milliseconds(text: str, name: str) -> int:
    """Return a time such as ``2023-04-04T08:00:00-04:00`` in milliseconds since 1970; without an offset it is UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = datetime.fromisoformat(f"{text.strip()}+00:00")
    except ValueError:
        raise InvalidInput(f"{name} is {text!r}.", remedy="Write it like 2023-04-04T08:00:00-04:00.") from None
    return int(moment.timestamp() * 1000)
