"""A definition and those it refers to as one text, for readers that receive only one.

The referenced definitions are put under ``$defs`` (``definitions`` up to draft 7), and the references become pointers to
them, which every reader follows. Their URIs and anchors are removed, since nothing refers to them any more and no reader
must try to fetch one. The keywords that apply to a value stay the same.
"""

import json
import re
from typing import Any
from urllib.parse import quote

from penstock.schema.errors import NotSelfContained
from penstock.schema.jsonschema.document import Document, escape, join
from penstock.schema.jsonschema.drafts import draft_of

__all__ = ["bundled"]

_RUNNING = ("$dynamicRef", "$recursiveRef")
_SAFE = "/~!$&'()*+,;=:@-._?"  # of a URI's fragment, by RFC 3986


def bundled(document: Document, text: str) -> str:
    """Return ``text``, the definition of ``document``, joined with all it refers to; unchanged if it refers to nothing.

    Raise :class:`NotSelfContained` if a referenced definition has another draft, or uses ``$dynamicRef`` or
    ``$recursiveRef``.
    """
    return _Bundle(document).text(text)


class _Bundle:
    def __init__(self, document: Document) -> None:
        self._document = document
        # By the id of a mapping: the definition that contains it (None for the main one), and the pointer to it.
        self._where: dict[int, tuple[str | None, str]] = {}
        self._index(document.root, None)
        for name, other in document.names.items():
            self._index(other, name)
        self._keys: dict[str, str] = {}
        self._holder = "$defs" if document.draft.year >= 2019 else "definitions"
        self._used_keys = set(document.root.get(self._holder, ())) if isinstance(document.root, dict) else set()

    def text(self, text: str) -> str:
        if not isinstance(self._document.root, dict):
            return text
        root = self._copy(self._document.root, None)
        others: dict[str, Any] = {}
        # A copied definition may refer to more of them.
        while len(others) < len(self._keys):
            name, key = list(self._keys.items())[len(others)]
            others[key] = self._other(name)
        if not others:
            return text
        root[self._holder] = {**root.get(self._holder, {}), **others}
        return json.dumps(root, ensure_ascii=False)

    def _index(self, root: Any, name: str | None) -> None:
        pending = [(root, "")]
        while pending:
            value, pointer = pending.pop()
            if isinstance(value, dict):
                self._where[id(value)] = (name, pointer)
                pending.extend((item, f"{pointer}/{escape(key)}") for key, item in value.items())
            elif isinstance(value, list):
                pending.extend((item, f"{pointer}/{place}") for place, item in enumerate(value))

    def _other(self, name: str) -> Any:
        schema = self._document.names[name]
        if not isinstance(schema, dict):
            return schema
        draft = draft_of(schema, default=self._document.draft)
        if draft is not self._document.draft:
            raise NotSelfContained(
                f"The referenced definition '{name[:200]}' has draft {draft.uri}, and this one {self._document.draft.uri}.",
                remedy="Use the same $schema in both.",
            )
        copied = self._copy(schema, name)
        copied.pop("$schema", None)
        return copied

    def _copy(self, value: Any, within: str | None) -> Any:
        """Return a copy. The recursion is limited, because definitions of limited depth are read."""
        if isinstance(value, list):
            return [self._copy(item, within) for item in value]
        if not isinstance(value, dict):
            return value
        copied = {key: self._copy(item, within) for key, item in value.items()}
        location = self._document.locations.get(id(value))
        if location is None:
            return copied
        foreign = within is not None or location.base != self._document.base
        if foreign:
            for keyword in (location.draft.id_keyword, "$anchor", "$dynamicAnchor"):
                if isinstance(value.get(keyword), str):
                    del copied[keyword]
        if any(keyword in value and (foreign or value[keyword][:1] not in {"", "#"}) for keyword in _RUNNING):
            raise NotSelfContained(
                f"At {location.path or '/'}: {' and '.join(_RUNNING)} cannot be used across definitions that are joined.",
                remedy="Use $ref there.",
            )
        reference = value.get("$ref")
        if isinstance(reference, str) and (foreign or not reference.startswith("#")):
            copied["$ref"] = self._pointer(location.base, reference)
        return copied

    def _pointer(self, base: str, reference: str) -> str:
        """Return the pointer to the target of ``reference`` in the bundle."""
        uri, _, fragment = join(base, reference).partition("#")
        resource = self._document.resources[uri]
        if fragment and not fragment.startswith("/"):
            target = self._document.anchors.get(f"{uri}#{fragment}")
            if target is None:
                target = self._document.anchors[f"{self._document.locations[id(resource)].base}#{fragment}"]
            name, pointer = self._where[id(target)]
            return self._at(name) + quote(pointer, safe=_SAFE)
        if isinstance(resource, dict):
            name, pointer = self._where[id(resource)]
        else:
            name, pointer = self._name_of(uri, reference.partition("#")[0]), ""
        # The fragment is already escaped as in a URI.
        return self._at(name) + quote(pointer, safe=_SAFE) + fragment

    def _name_of(self, uri: str, reference: str) -> str:
        """Return the name of a definition that is true or false."""
        names = self._document.names
        return next(name for name in names if join(self._document.base, name).partition("#")[0] == uri or name == reference)

    def _at(self, name: str | None) -> str:
        return "#" if name is None else f"#/{self._holder}/{self._key(name)}"

    def _key(self, name: str) -> str:
        """Return the key of a definition in the bundle, which needs no escapes."""
        if name not in self._keys:
            plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name) or "_"
            while plain in self._used_keys:
                plain += "_"
            self._used_keys.add(plain)
            self._keys[name] = plain
        return self._keys[name]
