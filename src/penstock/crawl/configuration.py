"""A crawler's Configuration: Glue's settings in one JSON text. An unsupported setting is refused by its name.

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
_GROUPING = "Grouping.TableGroupingPolicy"
_LEVEL = "Grouping.TableLevelConfiguration"
_THRESHOLD = "CrawlerOutput.Tables.TableThreshold"
_SERVED: Mapping[str, tuple[Any, ...]] = {
    "Version": (1.0, 1),
    _MERGE: ("MergeNewColumns",),
    _INHERIT: ("InheritFromTable",),
    _INDEX: (True, False),
    _GROUPING: ("CombineCompatibleSchemas",),
}
_NUMBERS: Mapping[str, range] = {_LEVEL: range(1, 101), _THRESHOLD: range(1, 100_001)}
_MAX_SHOWN = 200
_MAX_TEXT = 100_000


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings of a crawler beside its schema change policy.

    ``merges``: columns are added and none is removed. ``inherits``: partitions, also old ones, get their table's settings.
    ``indexes``: a table with partitions gets a partition index over all its keys. ``combines``: files of a target whose
    schemas are compatible are one table. ``level``: the depth of the tables' folders, of which the bucket is 1.
    ``threshold``: a crawl that finds more tables fails.
    """

    merges: bool = False
    inherits: bool = False
    indexes: bool = False
    combines: bool = False
    level: int | None = None
    threshold: int | None = None

    @classmethod
    def parse(cls, text: str | None) -> "Configuration":
        """Return the settings in ``text``. Raises :class:`InvalidInput` for invalid JSON or an unsupported setting."""
        if not text:
            return cls()
        if len(text) > _MAX_TEXT:
            raise InvalidInput(f"The crawler's Configuration has {len(text):,} characters; {_MAX_TEXT:,} is the maximum.")
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"The crawler's Configuration is not JSON: {error}.") from None
        if not isinstance(document, dict):
            raise InvalidInput("The crawler's Configuration is not a JSON object.", remedy='Write {"Version": 1.0, ...}.')
        settings = dict(_settings("", document))
        for name, value in settings.items():
            number = type(value) is int and value in _NUMBERS.get(name, ())
            if not number and (type(value), value) not in [(type(served), served) for served in _SERVED.get(name, ())]:
                shown = f"{name} = {json.dumps(value)}"[:_MAX_SHOWN]
                raise InvalidInput(
                    f"The setting {shown} of a crawler's Configuration is not supported by Penstock.",
                    remedy=f"Leave it out. Supported: {', '.join([*_SERVED, *_NUMBERS])}.",
                )
        return cls(
            merges=_MERGE in settings,
            inherits=_INHERIT in settings,
            indexes=settings.get(_INDEX) is True,
            combines=_GROUPING in settings,
            level=settings.get(_LEVEL),
            threshold=settings.get(_THRESHOLD),
        )

    @classmethod
    def stored(cls, text: str | None) -> "Configuration":
        """Return the settings as :meth:`parse` does, or the defaults if the text was stored before it was checked."""
        try:
            return cls.parse(text)
        except InvalidInput:
            return cls()


def _settings(prefix: str, document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the leaves by their paths; json.loads bounds their depth."""
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _settings(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", value
