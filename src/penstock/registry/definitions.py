"""Definitions parsed once: the registry's parse cache."""

from penstock.registry.cache import WeightedCache
from penstock.schema.format import ParsedSchema
from penstock.schema.formats import format_of

__all__ = ["Definitions"]

_CAPACITY_CHARS = 1_000_000


class Definitions:
    """Parses definitions and remembers the recent ones, up to a million characters of text."""

    def __init__(self) -> None:
        self._parsed: WeightedCache[tuple[str, str], ParsedSchema] = WeightedCache(_CAPACITY_CHARS)

    def parse(self, data_format: str, text: str) -> ParsedSchema:
        """The schema; :class:`~penstock.schema.errors.InvalidSchema`, :class:`~penstock.schema.errors.FormatNotServed`."""
        key = (data_format, text)
        parsed = self._parsed.get(key)
        if parsed is None:
            parsed = format_of(data_format).parse(text)
            self._parsed.put(key, parsed, len(text))
        return parsed
