"""References of definitions: resolved into texts, and declared in a schema's tags."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from penstock.registry.errors import BadReference, MissingReference
from penstock.registry.model import AVAILABLE, Reference, Version
from penstock.registry.store import VersionStore
from penstock.schema.format import ReferencedText

__all__ = ["REFERENCES_TAG", "References", "declared_references"]

REFERENCES_TAG = "penstock:references"
"""Tag of a schema, and prefix of more such tags: the references of its next version.

Its value is ``NAME=REGISTRY/SCHEMA@NUMBER``, several separated by semicolons.
"""

_MAX_TEXTS = 1_000
_MAX_CHARS = 4_000_000
_MAX_DEPTH = 100
_TARGET = re.compile(r"(?:([^/@;=]+)/)?([^/@;=]+)@([1-9]\d{0,5})", re.ASCII)


class References:
    """Looks up referenced versions, directly and indirectly."""

    def __init__(self, versions: VersionStore) -> None:
        self._versions = versions

    def texts(self, data_format: str, references: Sequence[Reference], *, new: bool = False) -> tuple[ReferencedText, ...]:
        """Return all definitions that ``references`` lead to, each after those that it refers to.

        With ``new`` they must be AVAILABLE and not deleted. Raises :class:`MissingReference`, and
        :class:`BadReference` if one name means two texts, the format differs, or a limit is exceeded.
        """
        if not references:
            return ()
        texts: dict[str, ReferencedText] = {}
        self._collect(data_format, references, texts, set(), new=new, depth=1)
        return tuple(texts.values())

    def _collect(
        self,
        data_format: str,
        references: Sequence[Reference],
        texts: dict[str, ReferencedText],
        visited: set[tuple[str, str]],
        *,
        new: bool,
        depth: int,
    ) -> None:
        if depth > _MAX_DEPTH:
            raise BadReference(f"References are nested more than {_MAX_DEPTH} schemas deep.", remedy="Flatten them.")
        for reference in references:
            version = self._version(data_format, reference, new=new)
            if (reference.name, version.id) in visited:
                continue
            visited.add((reference.name, version.id))
            self._collect(data_format, version.references, texts, visited, new=False, depth=depth + 1)
            stored = texts.get(reference.name)
            if stored is not None and stored.text != version.definition:
                raise BadReference(
                    f"The reference '{reference.name[:200]}' means two different schemas.",
                    remedy="Use one version under one name in all referenced schemas, direct and indirect.",
                )
            if stored is None:
                texts[reference.name] = ReferencedText(name=reference.name, text=version.definition)
        if len(texts) > _MAX_TEXTS or sum(len(text.text) for text in texts.values()) > _MAX_CHARS:
            raise BadReference(
                f"The references lead to more than {_MAX_TEXTS} schemas or {_MAX_CHARS:,} characters.",
                remedy="Refer to fewer, or smaller ones.",
            )

    def _version(self, data_format: str, reference: Reference, *, new: bool) -> Version:
        version = self._versions.get_numbered(reference.key, reference.number)
        if version is None:
            raise MissingReference(reference.name, reference.key, reference.number)
        if new and (version.status != AVAILABLE or version.deleted is not None):
            why = "it is deleted" if version.deleted is not None else f"it is {version.status}"
            raise MissingReference(reference.name, reference.key, reference.number, why=why)
        if version.data_format != data_format:
            why = f"it is {version.data_format}, not {data_format}"
            raise MissingReference(reference.name, reference.key, reference.number, why=why)
        return version


def declared_references(tags: Mapping[str, str], registry: str) -> tuple[Reference, ...]:
    """The references in the tags named :data:`REFERENCES_TAG` and in tags with that prefix, in the order of the tags' names.

    A target without a registry is one of ``registry``; a semicolon in a name is written ``%3B``, a percent sign ``%25``.
    Raises :class:`BadReference`.
    """
    texts = [tags[key] for key in sorted(tags) if key.startswith(REFERENCES_TAG)]
    items = [item.strip() for text in texts for item in text.split(";") if item.strip()]
    references: list[Reference] = []
    for item in items:
        name, equals, target = item.rpartition("=")
        match = _TARGET.fullmatch(target.strip())
        if not equals or not name.strip() or match is None:
            raise BadReference(
                f"'{item[:200]}' in the tag {REFERENCES_TAG} is not a reference.",
                remedy="Write NAME=REGISTRY/SCHEMA@NUMBER, separate several with semicolons.",
            )
        reference = Reference(
            name=unquote(name.strip()), registry=match[1] or registry, schema=match[2], number=int(match[3])
        )
        references.append(reference)
    return tuple(references)
