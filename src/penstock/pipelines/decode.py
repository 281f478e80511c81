"""How records become rows: their frames, the registered schema, the reader schema, and the schema of their keys."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

from penstock.errors import InvalidInput
from penstock.settings.document import Section

__all__ = [
    "MAX_BRANCHES",
    "ConfluentRegistry",
    "Decode",
    "ExtraFields",
    "Frames",
    "Key",
    "confluent_registry",
    "parse_decode",
]

Frames = Literal["any", "glue", "confluent", "none"]
"""Which frames records have: Glue's or Confluent's (``any``), one of the two, or none."""

ExtraFields = Literal["schema", "drop", "refuse"]

MAX_BRANCHES = 40
"""Writer schemas in one CASE; above this Spark's generated code is far slower (measured, design/architecture)."""

_MAX_NUMBER = 100_000  # of a schema version
_FORMATS = ("avro", "json", "protobuf")
_Settings = TypeVar("_Settings", bound="Decode")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfluentRegistry:
    """The registry of Confluent's ids. ``subject`` has the versions; None is the declared schema's name.

    Without ``url`` it is Penstock's own, in which a registry is a context and a schema a subject. ``user_info`` is
    ``USER:PASSWORD``.
    """

    url: str | None = None
    user_info: str | None = field(default=None, repr=False)
    subject: str | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decode:
    """The frames of records, and the schema that they are decoded with.

    ``schema`` is empty for a Confluent subject without a schema of Glue's, and for documents whose schema is inferred.
    ``reader`` is a version number, ``table`` for the table's columns, or None for the latest version. Without a frame,
    records are of ``version`` (None: the latest). ``message`` is the Protobuf message of the rows.
    """

    registry: str = ""
    schema: str = ""
    reader: "int | Literal['table'] | None" = None
    max_branches: int = MAX_BRANCHES
    tombstones: Literal["skip", "dead-letter"] = "skip"
    frames: Frames = "any"
    version: int | None = None
    format: Literal["avro", "json", "protobuf"] | None = None
    message: str | None = None
    extra_fields: ExtraFields = "schema"
    confluent: ConfluentRegistry | None = None
    key: "Key | None" = None

    def __post_init__(self) -> None:
        if self.infers and (self.format != "json" or self.frames != "none"):
            raise InvalidInput(
                "decode names no schema.",
                remedy="Give registry and schema, or confluent.subject; or frames: none and format: json for documents "
                "whose schema is inferred.",
            )
        if self.version is not None and self.frames != "none":
            raise InvalidInput("decode.version is for records without a frame.", remedy="Leave it out, or set frames: none.")

    @property
    def infers(self) -> bool:
        """Whether there is no registered schema."""
        return not self.schema and (self.confluent is None or self.confluent.subject is None)

    @property
    def name(self) -> str:
        """Registry and schema, or the subject, for messages."""
        if self.schema:
            return f"{self.registry}/{self.schema}"
        return f"of subject {self.confluent.subject}" if self.confluent and self.confluent.subject else "of the documents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key(Decode):
    """How keys become columns; each gets ``prefix`` in front of its name."""

    prefix: str = "key_"


def parse_decode(section: Section) -> Decode:
    """Return the settings of a ``decode`` section. Raises :class:`InvalidInput` with its line."""
    inner = section.section("key")
    key = None if inner is None else _key(inner)
    tombstones: Literal["skip", "dead-letter"] = section.choice(("skip", "dead-letter"), "tombstones") or "skip"
    settings = _settings(section)
    section.done()
    return _checked(section, lambda: Decode(**settings, tombstones=tombstones, key=key))


def _key(section: Section) -> Key:
    prefix = section.text("prefix")
    settings = _settings(section)
    section.done()
    return _checked(section, lambda: Key(**settings, prefix="key_" if prefix is None else prefix))


def _settings(section: Section) -> dict[str, Any]:
    """Return the settings that values and keys share."""
    confluent = section.section("confluent")
    format_name = section.text("format")
    return {
        "registry": section.text("registry", "registryName") or "",
        "schema": section.text("schema", "schemaName") or "",
        "reader": _reader(section),
        "max_branches": section.integer("max_branches", minimum=1, maximum=MAX_BRANCHES) or MAX_BRANCHES,
        "frames": section.choice(get_args(Frames), "frames") or "any",
        "version": section.integer("version", minimum=1, maximum=_MAX_NUMBER),
        "format": None if format_name is None else _format(section, format_name),
        "message": section.text("message"),
        "extra_fields": section.choice(get_args(ExtraFields), "extra_fields") or "schema",
        "confluent": None if confluent is None else confluent_registry(confluent),
    }


def _reader(section: Section) -> int | Literal["table"] | None:
    text = section.text("reader") or "latest"
    if text == "table":
        return "table"
    return None if text == "latest" else section.integer("reader", minimum=1, maximum=_MAX_NUMBER)


def _format(section: Section, text: str) -> str:
    if text.lower() not in _FORMATS:
        raise section.fault(f"'format' is '{text}'", key="format", remedy=f"Use one of {', '.join(_FORMATS)}.")
    return text.lower()


def confluent_registry(section: Section) -> ConfluentRegistry:
    """Return the settings of a ``confluent`` section, of a source or a sink."""
    registry = ConfluentRegistry(
        url=section.text("url", "schema.registry.url"),
        user_info=section.text("user_info", "basic.auth.user.info"),
        subject=section.text("subject"),
        context=section.text("context"),
    )
    section.done()
    return registry


def _checked(section: Section, make: Callable[[], _Settings]) -> _Settings:
    try:
        return make()
    except InvalidInput as error:
        raise section.fault(error.message.rstrip("."), remedy=error.remedy) from None
