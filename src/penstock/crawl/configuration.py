"""A crawler's Configuration: settings that Glue takes as one JSON text. Each is served, or refused by its name.

Source: Glue developer guide, "Customizing crawler behavior" (setting crawler configuration options by the API).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import InvalidInput

__all__ = ["Configuration"]

_MERGE = "CrawlerOutput.Tables.AddOrUpdateBehavior"
_INHERIT = "CrawlerOutput.Partitions.AddOrUpdateBehavior"
_INDEX = "CreatePartitionIndex"
_SERVED: Mapping[str, tuple[Any, ...]] = {
    "Version": (1.0, 1),
    _MERGE: ("MergeNewColumns",),
    _INHERIT: ("InheritFromTable",),
    _INDEX: (True, False),
}
_MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a crawler does beside its schema change policy.

    ``merges``: columns are added and none is removed. ``inherits``: partitions have what their table has, old ones too.
    ``indexes``: a table with partitions gets a partition index over all its keys.
    """

    merges: bool = False
    inherits: bool = False
    indexes: bool = False

    @classmethod
    def parse(cls, text: str | None) -> "Configuration":
        """The settings in ``text``; :class:`InvalidInput` for what is no JSON object, or a setting that is not served."""
        if not text:
            return cls()
        try:
            given = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"The crawler's Configuration is not JSON: {error}.") from None
        if not isinstance(given, dict):
            raise InvalidInput("The crawler's Configuration is no JSON object.", remedy='Write {"Version": 1.0, ...}.')
        settings = dict(_settings("", given))
        for name, value in settings.items():
            if (type(value), value) not in [(type(each), each) for each in _SERVED.get(name, ())]:
                shown = f"{name} = {json.dumps(value)}"[:_MAX_SHOWN]
                raise InvalidInput(
                    f"The setting {shown} of a crawler's Configuration is not served by Penstock.",
                    remedy=f"Leave it out. Served are {', '.join(_SERVED)}.",
                )
        return cls(merges=_MERGE in settings, inherits=_INHERIT in settings, indexes=settings.get(_INDEX) is True)

    @classmethod
    def stored(cls, text: str | None) -> "Configuration":
        """As :meth:`parse`, and none of it where the text came into the store before it was checked."""
        try:
            return cls.parse(text)
        except InvalidInput:
            return cls()


def _settings(prefix: str, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The leaves, by the names that lead to them; json.loads bounds how deep they lie."""
    for name, value in given.items():
        if isinstance(value, dict):
            yield from _settings(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", value
