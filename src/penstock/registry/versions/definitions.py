"""The registry's cache of parsed definitions."""

import logging
from collections.abc import Sequence

from penstock.caching import SharedCache
from penstock.errors import InvalidInput
from penstock.registry.model import Reference, Version
from penstock.registry.store import VersionStore
from penstock.registry.versions.references import References
from penstock.schema.errors import InvalidSchema, NotSelfContained
from penstock.schema.format import ParsedSchema, ReferencedText
from penstock.schema.formats import format_of

__all__ = ["Definitions"]

_log = logging.getLogger("penstock.registry")

_CAPACITY_CHARS = 1_000_000
_WITH_LEGACY = "AVRO"  # the one format of which earlier releases accepted more


class Definitions:
    """Parses definitions and caches the recent ones, up to a million characters of text."""

    def __init__(self, versions: VersionStore) -> None:
        self._references = References(versions)
        self._parsed: SharedCache[tuple[str, str, tuple[ReferencedText, ...], bool], ParsedSchema] = SharedCache(
            _CAPACITY_CHARS
        )
        self._alone: SharedCache[tuple[str, str, tuple[ReferencedText, ...]], str] = SharedCache(_CAPACITY_CHARS)

    def parse(
        self,
        data_format: str,
        text: str,
        references: Sequence[Reference] = (),
        *,
        usable: bool = True,
        legacy: bool = False,
    ) -> ParsedSchema:
        """Parse a new definition. With ``usable`` its references must be usable; a search for an old one accepts all.

        ``legacy`` accepts definitions that only an import stores: see :meth:`SchemaFormat.parse`.

        :class:`~penstock.schema.errors.InvalidSchema`, :class:`~penstock.schema.errors.FormatNotServed`,
        :class:`~penstock.registry.errors.BadReference`.
        """
        read = self._read if legacy else self._parse
        return read(data_format, text, self._references.texts(data_format, references, new=usable) if references else ())

    def of(self, version: Version) -> ParsedSchema:
        """The definition of a stored version."""
        texts = self._references.texts(version.data_format, version.references) if version.references else ()
        return self._read(version.data_format, version.definition, texts)

    def standalone(self, version: Version) -> str:
        """Return the text of a stored version without references: see :meth:`SchemaFormat.standalone`.

        It is the registered text if the version has no references, or if they cannot be inlined.
        """
        if not version.references:
            return version.definition
        texts = self._references.texts(version.data_format, version.references)
        key = (version.data_format, version.definition, texts)
        text = self._alone.peek(key)
        if text is None:
            try:
                text = format_of(version.data_format).standalone(self._read(*key))
            except NotSelfContained as error:
                _log.warning("schema %s/%s version %d stays as it is. %s", *version.key, version.number, error)
                text = version.definition
            self._alone.put(key, text, weight=len(text) + len(version.definition) + sum(len(item.text) for item in texts))
        return text

    def is_standalone_of(self, parsed: ParsedSchema, version: Version) -> bool:
        """Return whether a definition is the text of ``version`` with its references inlined."""
        text = self.standalone(version)
        if text == version.definition:
            return False
        try:
            return self._read(version.data_format, text, ()).canonical == parsed.canonical
        except InvalidInput:
            # With inlined references it may be larger than a definition may be.
            return False

    def _read(self, data_format: str, text: str, referenced: tuple[ReferencedText, ...]) -> ParsedSchema:
        """Parse a stored definition: nearly all are valid, and cached."""
        try:
            return self._parse(data_format, text, referenced)
        except InvalidSchema:
            if data_format != _WITH_LEGACY:
                raise
            return self._parse(data_format, text, referenced, legacy=True)

    def _parse(
        self, data_format: str, text: str, referenced: tuple[ReferencedText, ...], *, legacy: bool = False
    ) -> ParsedSchema:
        key = (data_format, text, referenced, legacy)
        parsed = self._parsed.peek(key)
        if parsed is None:
            parsed = format_of(data_format).parse(text, referenced, legacy=legacy)
            self._parsed.put(key, parsed, weight=len(text) + sum(len(item.text) for item in referenced))
        return parsed
