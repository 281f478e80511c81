"""Requests as handlers get them: path parts, query parameters and JSON body, each read with its type and bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

from penstock.api.aws.errors import UnreadableRequest
from penstock.api.confluent.errors import BadRequest
from penstock.registry.identity import canonical_contract
from penstock.registry.subject_errors import RulesNotServed, SchemaTextNotFound, SchemaTooLarge
from penstock.registry.subject_names import SubjectName, SubjectPrefix, parse_subject
from penstock.registry.subject_policies import SubjectConfig
from penstock.registry.subjects import Listing, SubjectReference, SubjectSchema
from penstock.schema.errors import InvalidSchema
from penstock.schema.format import MAX_DEFINITION_CHARS

__all__ = ["Query", "Request", "config_members", "listing", "read_schema", "wanted_id"]

_MAX_REFERENCES = 1_000
_MAX_QUERY = 8_192
_MAX_CONTRACT = 100_000  # characters
_UNSERVED = ("ruleSet", "ruleSetToAdd")


class Query:
    """Query parameters, the first of each name where no method says otherwise."""

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
        """The parameter, or ``default``."""
        return self._values.get(name, default)

    def texts(self, name: str) -> Sequence[str]:
        """All parameters of a name, in order."""
        return self._all.get(name, [])

    def flag(self, name: str, *alternatives: str) -> bool:
        """Whether the parameter, by any of its names, is ``true``."""
        return any(self._values.get(each, "").lower() == "true" for each in (name, *alternatives))

    def number(self, name: str, default: int) -> int:
        """The parameter as a number; :class:`BadRequest`."""
        text = self._values.get(name)
        if text is None or text == "":
            return default
        digits = text.removeprefix("-")
        if len(digits) > 10 or not digits.isdigit() or not digits.isascii():
            raise BadRequest(f"The parameter {name} is '{text[:40]}', which is no whole number of up to ten digits.")
        return int(text)


@dataclass(frozen=True)
class Request:
    """One request: ``parts`` are the path's named parts, ``context`` that of the path's prefix, ``raw`` the parsed body."""

    parts: Mapping[str, str]
    context: str
    query: Query
    raw: Any
    extras: bool
    """Whether the answer may have members that old Java clients stumble over."""

    @cached_property
    def subject(self) -> SubjectName:
        """The path's subject."""
        return parse_subject(self.parts["subject"], context=self.context)

    @property
    def scope(self) -> SubjectName | None:
        """The path's subject, else the prefix's context; None where there is neither."""
        if "subject" in self.parts:
            return self.subject
        return None if self.context == "." else parse_subject("", context=self.context)

    @property
    def within(self) -> SubjectName:
        """The parameter ``subject``, which narrows an id down; its context alone where it names none."""
        return parse_subject(self.query.text("subject"), context=self.context)

    @property
    def prefix(self) -> SubjectPrefix:
        """The parameter ``subjectPrefix``; all contexts where neither it nor the path names one."""
        default = ":*:" if self.context == "." else ""
        return SubjectPrefix.parse(self.query.text("subjectPrefix", default), context=self.context)

    @property
    def body(self) -> Mapping[str, Any]:
        """The body, a JSON object; :class:`BadRequest`."""
        if not isinstance(self.raw, dict):
            raise BadRequest("The request body has to be a JSON object.")
        return self.raw

    @property
    def serial(self) -> int:
        """The path's id; :class:`SchemaTextNotFound` where it is no number that an id can be."""
        text = self.parts["id"]
        if not (text.isascii() and text.isdigit() and len(text) <= 10):
            raise SchemaTextNotFound(text)
        return int(text)


def listing(query: Query, *, most: int | None = None) -> Listing:
    """``deleted``, ``deletedOnly``, ``offset`` and ``limit`` (-1: all), of which there are ``most`` at a time."""
    limit = query.number("limit", -1)
    chosen = None if limit < 0 else limit
    if most is not None:
        chosen = most if chosen is None else min(chosen, most)
    # confluent-kafka's Python client spells it with an underscore.
    only = query.flag("deletedOnly", "deleted_only")
    return Listing(deleted=query.flag("deleted"), deleted_only=only, offset=max(0, query.number("offset", 0)), limit=chosen)


def read_schema(body: Mapping[str, Any]) -> SubjectSchema:
    """The schema that a body carries.

    Raises :class:`~penstock.schema.errors.InvalidSchema`, :class:`SchemaTooLarge`, and :class:`RulesNotServed` for rules,
    which would be lost.
    """
    text = _text(body, "schema")
    if not text:
        raise InvalidSchema("Empty schema.", remedy='Give the schema as text in the member "schema".')
    if len(text) > MAX_DEFINITION_CHARS:
        raise SchemaTooLarge(f"The schema has {len(text):,} characters; {MAX_DEFINITION_CHARS:,} are accepted.")
    for name in _UNSERVED:
        if body.get(name):
            raise RulesNotServed(
                f"The schema comes with {name}, which this registry does not keep.",
                remedy="Register it without; a client that depends on its rules must not use this registry.",
            )
    data_format = (_text(body, "schemaType") or "AVRO").upper()
    return SubjectSchema(
        data_format=data_format, text=text, references=_references(body), contract=_contract(body.get("metadata"))
    )


def wanted_id(body: Mapping[str, Any], name: str) -> int | None:
    """``id`` or ``version`` of a registration, None where it is absent or not above 0; :class:`BadRequest`."""
    value = body.get(name)
    if value is None:
        return None
    if type(value) is not int:
        raise BadRequest(f'The member "{name}" is no whole number.')
    return value if value > 0 else None


def config_members(body: Mapping[str, Any]) -> SubjectConfig:
    """Level, ``normalize`` and ``alias`` of a configuration; :class:`RulesNotServed` for members that would be lost."""
    level = _text(body, "compatibility") or _text(body, "compatibilityLevel") or None
    normalize = body.get("normalize")
    if normalize is not None and type(normalize) is not bool:
        raise BadRequest('The member "normalize" is neither true nor false.')
    for name in ("compatibilityGroup", "defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet"):
        if body.get(name):
            raise RulesNotServed(f"The configuration has {name}, which this registry does not know.", remedy="Leave it out.")
    alias = None if body.get("alias") is None else _text(body, "alias")
    return SubjectConfig(level=None if level is None else level.upper(), normalize=normalize, alias=alias)


def _contract(given: Any) -> str | None:
    """Metadata as canonical JSON; None where it says nothing."""
    if given is None:
        return None
    if not isinstance(given, dict) or not given.keys() <= {"tags", "properties", "sensitive"}:
        raise BadRequest('The member "metadata" is an object of tags, properties and sensitive.')
    tags, properties, sensitive = (given.get(name) for name in ("tags", "properties", "sensitive"))
    if not (
        (tags is None or (isinstance(tags, dict) and all(map(_are_texts, tags.values()))))
        and (properties is None or (isinstance(properties, dict) and _are_texts(list(properties.values()))))
        and (sensitive is None or _are_texts(sensitive))
    ):
        raise BadRequest(
            "In metadata, tags are lists of texts by path, properties texts by name, sensitive a list of texts."
        )
    text = canonical_contract(given)
    if text is not None and len(text) > _MAX_CONTRACT:
        raise SchemaTooLarge(f"The metadata has {len(text):,} characters; {_MAX_CONTRACT:,} are accepted.")
    return text


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _references(body: Mapping[str, Any]) -> tuple[SubjectReference, ...]:
    given = body.get("references")
    if given is None:
        return ()
    if not isinstance(given, list) or len(given) > _MAX_REFERENCES:
        raise BadRequest(f'The member "references" is no list of up to {_MAX_REFERENCES:,} references.')
    found: list[SubjectReference] = []
    for item in given:
        if not isinstance(item, dict) or type(item.get("version")) is not int:
            raise BadRequest("A reference needs name, subject and version, the last a number.")
        name, subject = _text(item, "name"), _text(item, "subject")
        if not name or not subject:
            raise BadRequest("A reference needs name, subject and version.")
        found.append(SubjectReference(name=name, subject=subject, version=item["version"]))
    return tuple(found)


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UnreadableRequest(f'The member "{name}" is no text.')
    return value
