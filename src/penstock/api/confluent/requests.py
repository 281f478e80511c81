"""Requests as handlers get them: path parts, query parameters and JSON body, each parsed with its type and bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

from penstock.api.confluent.errors import BadRequest
from penstock.api.errors import UnreadableRequest
from penstock.registry.identity import canonical_contract
from penstock.registry.subjects.errors import RulesNotServed, SchemaTextNotFound, SchemaTooLarge, UnknownSchemaType
from penstock.registry.subjects.model import Listing, SubjectReference, SubjectSchema
from penstock.registry.subjects.names import SubjectName, SubjectPrefix, parse_subject
from penstock.schema.format import MAX_DEFINITION_CHARS
from penstock.schema.formats import FORMATS

__all__ = ["Query", "Request", "listing", "read_contract", "read_references", "read_schema", "read_text", "wanted_id"]

_MAX_REFERENCES = 1_000
_MAX_QUERY = 8_192
_MAX_CONTRACT = 100_000  # characters
# Members that change what is registered and are not served: they would be lost.
_UNSERVED = ("ruleSet", "schemaTagsToAdd", "schemaTagsToRemove", "propagateSchemaTags")


class Query:
    """Query parameters. Methods read the first of each name unless they say otherwise."""

    def __init__(self, text: str) -> None:
        if len(text) > _MAX_QUERY:
            raise BadRequest(f"The query string has {len(text)} characters; {_MAX_QUERY} are read.")
        try:
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=100)
        except ValueError as error:
            raise BadRequest(f"The query string cannot be read: {error}.") from None
        self._values: dict[str, str] = {}
        self._all: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, value)
            self._all.setdefault(name, []).append(value)

    def text(self, name: str, default: str = "") -> str:
        """Return the parameter, or ``default``."""
        return self._values.get(name, default)

    def texts(self, name: str) -> Sequence[str]:
        """Return all parameters of a name, in order."""
        return self._all.get(name, [])

    def flag(self, name: str, *alternatives: str) -> bool:
        """Return whether the parameter, under any of its names, is ``true``."""
        return any(self._values.get(alternative, "").lower() == "true" for alternative in (name, *alternatives))

    def refuse(self, *names: str) -> None:
        """Raise :class:`BadRequest` if the query has one of these, which Confluent's server has and this one does not."""
        for name in names:
            if any(value.lower() not in {"", "false"} for value in self._all.get(name, ())):
                raise BadRequest(
                    f"The parameter {name} is not served here.", remedy="Leave it out; see docs/registry/confluent.md."
                )

    def number(self, name: str, default: int) -> int:
        """Return the parameter as a number, or raise :class:`BadRequest`."""
        text = self._values.get(name)
        if text is None or text == "":
            return default
        digits = text.removeprefix("-")
        if len(digits) > 10 or not digits.isdigit() or not digits.isascii():
            raise BadRequest(f"The parameter {name} is '{text[:40]}', which is not a whole number of up to ten digits.")
        return int(text)


@dataclass(frozen=True)
class Request:
    """One request: ``parts`` are the path's named parts, ``context`` that of the path's prefix, ``raw`` the parsed body."""

    parts: Mapping[str, str]
    context: str
    query: Query
    raw: Any
    extras: bool
    """Whether the answer may have members that old Java clients fail on."""

    @cached_property
    def subject(self) -> SubjectName:
        """The path's subject."""
        return parse_subject(self.parts["subject"], context=self.context)

    @property
    def scope(self) -> SubjectName | None:
        """The path's subject, else the prefix's context; None if there is neither."""
        if "subject" in self.parts:
            return self.subject
        return None if self.context == "." else parse_subject("", context=self.context)

    @property
    def within(self) -> SubjectName:
        """The parameter ``subject``, which narrows the search for an id; only its context if it names no subject."""
        return parse_subject(self.query.text("subject"), context=self.context)

    @property
    def prefix(self) -> SubjectPrefix:
        """The parameter ``subjectPrefix``; all contexts if neither it nor the path names one."""
        default = ":*:" if self.context == "." else ""
        return SubjectPrefix.parse(self.query.text("subjectPrefix", default), context=self.context)

    @property
    def body(self) -> Mapping[str, Any]:
        """The body, a JSON object; raises :class:`BadRequest`."""
        if not isinstance(self.raw, dict):
            raise BadRequest("The request body has to be a JSON object.")
        return self.raw

    @property
    def schema_id(self) -> int:
        """The path's id; raises :class:`SchemaTextNotFound` if it is not a number in the range of ids."""
        text = self.parts["id"]
        if not (text.isascii() and text.isdigit() and len(text) <= 10):
            raise SchemaTextNotFound(text)
        return int(text)


def listing(query: Query, *, most: int | None = None) -> Listing:
    """Return ``deleted``, ``deletedOnly``, ``offset`` and ``limit``, which is at most ``most``.

    A limit below 1 means no limit, as in normalizeLimit of Confluent's registry.
    """
    limit = query.number("limit", -1)
    chosen = None if limit < 1 else limit
    if most is not None:
        chosen = most if chosen is None else min(chosen, most)
    # confluent-kafka's Python client spells it with an underscore.
    only = query.flag("deletedOnly", "deleted_only")
    return Listing(deleted=query.flag("deleted"), deleted_only=only, offset=max(0, query.number("offset", 0)), limit=chosen)


def read_schema(body: Mapping[str, Any]) -> SubjectSchema:
    """Return the schema of a body; its text is empty if the body has only white space.

    Raises :class:`UnknownSchemaType`, :class:`SchemaTooLarge`, and :class:`RulesNotServed` for rules, which would be lost.
    """
    data_format = read_text(body, "schemaType") or "AVRO"
    if data_format not in FORMATS:
        raise UnknownSchemaType(data_format)
    text = read_text(body, "schema")
    if len(text) > MAX_DEFINITION_CHARS:
        raise SchemaTooLarge(
            "Register operation failed because schema is too large",
            remedy=f"It has {len(text):,} characters; {MAX_DEFINITION_CHARS:,} are accepted.",
        )
    for name in _UNSERVED:
        if body.get(name):
            raise RulesNotServed(
                f"The schema comes with {name}, which this registry does not keep.",
                remedy="Register it without that member; a client that depends on it must not use this registry.",
            )
    return SubjectSchema(
        data_format=data_format,
        text=text if text.strip() else "",
        references=read_references(body),
        contract=read_contract(body.get("metadata"), "metadata"),
    )


def wanted_id(body: Mapping[str, Any], name: str) -> int | None:
    """Return ``id`` or ``version`` of a registration, None if it is absent or below 0; raise :class:`BadRequest`.

    Version 0 means no version; id 0 is an id that no schema has.
    """
    value = body.get(name)
    if value is None:
        return None
    if type(value) is not int:
        raise BadRequest(f'The member "{name}" is not a whole number.')
    return value if value > 0 or (value == 0 and name == "id") else None


def read_contract(metadata: Any, member: str) -> str | None:
    """Return metadata as canonical JSON; None if it is empty."""
    if metadata is None:
        return None
    if not isinstance(metadata, dict) or not metadata.keys() <= {"tags", "properties", "sensitive"}:
        raise BadRequest(f'The member "{member}" has to be an object of tags, properties and sensitive.')
    tags, properties, sensitive = (metadata.get(name) for name in ("tags", "properties", "sensitive"))
    if not (
        (tags is None or (isinstance(tags, dict) and all(map(_are_texts, tags.values()))))
        and (properties is None or (isinstance(properties, dict) and _are_texts(list(properties.values()))))
        and (sensitive is None or _are_texts(sensitive))
    ):
        raise BadRequest(
            f"In {member}, tags are lists of strings by path, properties strings by name, sensitive a list of strings."
        )
    text = canonical_contract(metadata)
    if text is not None and len(text) > _MAX_CONTRACT:
        raise SchemaTooLarge(f"The metadata has {len(text):,} characters; {_MAX_CONTRACT:,} are accepted.")
    return text


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def read_references(body: Mapping[str, Any]) -> tuple[SubjectReference, ...]:
    """Return the references of a body's schema, or raise :class:`BadRequest`."""
    items = body.get("references")
    if items is None:
        return ()
    if not isinstance(items, list) or len(items) > _MAX_REFERENCES:
        raise BadRequest(f'The member "references" is not a list of up to {_MAX_REFERENCES:,} references.')
    references: list[SubjectReference] = []
    for entry in items:
        if not isinstance(entry, dict) or type(entry.get("version")) is not int:
            raise BadRequest("A reference needs name, subject and version; version is a number.")
        name, subject = read_text(entry, "name"), read_text(entry, "subject")
        if not name or not subject:
            raise BadRequest("A reference needs name, subject and version.")
        references.append(SubjectReference(name=name, subject=subject, version=entry["version"]))
    return tuple(references)


def read_text(body: Mapping[str, Any], name: str) -> str:
    """Return a member that is a string, empty if it is absent; raise :class:`UnreadableRequest`."""
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UnreadableRequest(f'The member "{name}" is not a string.')
    return value
