"""Names of subjects and contexts, and their registries and schemas.

A context is a registry: ``.`` is ``default-registry``, ``.NAME`` is the registry ``NAME``. A subject is the schema of the
same name. Glue allows letters, digits and ``-_$#.`` in names; any other character is written as ``$XX``, the hexadecimal of
each of its UTF-8 bytes, and a ``$`` that could be read as the start of such an escape is itself ``$24``.
"""

import re
from dataclasses import dataclass

from penstock.registry.identity import DEFAULT_REGISTRY
from penstock.registry.model import SchemaKey
from penstock.registry.subjects.errors import InvalidSubject

__all__ = [
    "ALL_CONTEXTS",
    "GLOBAL_CONTEXT",
    "SubjectName",
    "SubjectPrefix",
    "context_of",
    "from_glue_name",
    "named_subject",
    "parse_subject",
    "registry_of",
    "subject_of",
    "to_glue_name",
]

ALL_CONTEXTS = ":*:"
GLOBAL_CONTEXT = ".__GLOBAL"
_MAX_NAME = 255  # SchemaRegistryNameString in the Glue API model
_QUALIFIED = re.compile(r":(\.[^:]*):(.*)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_#.")
# Bytes that are escaped: those that cannot be written as themselves.
_ESCAPED_BYTES = frozenset(f"{byte:02X}" for byte in range(256) if byte not in _PLAIN)
_ESCAPES = re.compile(rf"(?:\$(?:{'|'.join(sorted(_ESCAPED_BYTES))}))+")
_BYTES = [chr(byte) if byte in _PLAIN else f"${byte:02X}" for byte in range(256)]


@dataclass(frozen=True, slots=True)
class SubjectName:
    """A subject, or a whole context if ``name`` is empty; ``registry`` is the context's.

    ``registry`` is None for the context ``.__GLOBAL``, whose config all others inherit.
    """

    registry: str | None
    name: str

    @property
    def key(self) -> SchemaKey:
        """Return the schema's key; :class:`InvalidSubject` if this is not a single subject, or is too long for a name."""
        if not self.name or self.registry is None:
            raise InvalidSubject(str(self), "it is empty")
        return SchemaKey(self.registry, to_glue_name(self.name))

    @property
    def context(self) -> str:
        """The context's name, with its leading dot."""
        return GLOBAL_CONTEXT if self.registry is None else context_of(self.registry)

    def seen_from(self, registry: str) -> str:
        """Return the name as callers in another context write it; plain in its own."""
        return self.name if registry == self.registry else f":{self.context}:{self.name}"

    def __str__(self) -> str:
        return self.seen_from(DEFAULT_REGISTRY)


@dataclass(frozen=True, slots=True)
class SubjectPrefix:
    """The prefix of listed subjects: ``PREFIX`` in a context, ``:.CONTEXT:PREFIX``, ``:*:PREFIX`` in all.

    ``registry`` None is all contexts.
    """

    registry: str | None
    name: str

    @classmethod
    def parse(cls, text: str, *, context: str = ".") -> "SubjectPrefix":
        """Parse the prefix that a caller in ``context`` wrote; :class:`InvalidSubject`."""
        if text.startswith(ALL_CONTEXTS):
            return cls(None, text.removeprefix(ALL_CONTEXTS))
        subject = parse_subject(text, context=context)
        if subject.registry is None:
            raise InvalidSubject(text, "it holds no schemas")
        return cls(subject.registry, subject.name)

    @property
    def glue_prefix(self) -> str:
        """Return a prefix of the schemas' names, perhaps shorter: the escape of a final ``$`` depends on what follows."""
        cut = self.name.rfind("$", max(0, len(self.name) - 2))
        return to_glue_name(self.name if cut < 0 else self.name[:cut])

    def matches(self, subject: SubjectName) -> bool:
        """Return whether ``subject``, of a listed context, has this prefix."""
        return subject.name.startswith(self.name)


def parse_subject(text: str, *, context: str = ".") -> SubjectName:
    """``NAME`` in ``context``, or ``:.CONTEXT:NAME``; :class:`InvalidSubject`."""
    if _CONTROL.search(text):
        raise InvalidSubject(text, "it has control characters")
    qualified = _QUALIFIED.fullmatch(text)
    if qualified is not None:
        context, name = qualified.groups()
    else:
        name = text
    if context == GLOBAL_CONTEXT:
        return SubjectName(None, name)
    return SubjectName(registry_of(context), name)


def registry_of(context: str) -> str:
    """Return the registry of a context, with or without its leading dot; :class:`InvalidSubject`."""
    if _CONTROL.search(context):
        raise InvalidSubject(context, "it has control characters")
    name = context.removeprefix(".")
    return to_glue_name(name) if name else DEFAULT_REGISTRY


def context_of(registry: str) -> str:
    """Return the context of a registry."""
    return "." if registry == DEFAULT_REGISTRY else f".{from_glue_name(registry)}"


def subject_of(key: SchemaKey) -> SubjectName:
    """Return the subject of a schema."""
    return SubjectName(key.registry, from_glue_name(key.name))


def named_subject(key: SchemaKey) -> SubjectName | None:
    """Return the subject of a schema; None if no subject has its name, such as one that ends in half a character."""
    subject = subject_of(key)
    try:
        return subject if "$" not in key.name or to_glue_name(subject.name) == key.name else None
    except InvalidSubject:
        return None


def to_glue_name(text: str) -> str:
    """Return ``text`` in the characters of Glue's names; :class:`InvalidSubject` if that is too long."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise InvalidSubject(text.encode("ascii", "replace").decode(), "it holds half a surrogate pair") from None
    parts: list[str] = []
    for place, byte in enumerate(raw):
        if byte == 0x24 and not _starts_escape(raw, place):
            parts.append("$")
        else:
            parts.append(_BYTES[byte])
    name = "".join(parts)
    if len(name) > _MAX_NAME:
        raise InvalidSubject(text, f"it takes {len(name)} characters as a name of Glue, which has {_MAX_NAME}")
    return name


def from_glue_name(name: str) -> str:
    """Return the text that :func:`to_glue_name` wrote; a name that it never writes is returned unchanged."""
    if "$" not in name:
        return name
    return _ESCAPES.sub(_unescape, name)


def _unescape(match: re.Match[str]) -> str:
    escaped = match.group()
    try:
        return bytes.fromhex(escaped.replace("$", "")).decode()
    except UnicodeDecodeError:
        return escaped


def _starts_escape(raw: bytes, place: int) -> bool:
    return raw[place + 1 : place + 3].decode("latin-1") in _ESCAPED_BYTES
