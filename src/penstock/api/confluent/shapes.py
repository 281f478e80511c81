"""Answers in the form that Confluent's clients read; empty lists are left out."""

import json
from collections.abc import Callable
from typing import Any

from penstock.api.confluent.errors import BadRequest
from penstock.api.confluent.requests import Request
from penstock.registry.model import Version
from penstock.registry.service import RegistryService
from penstock.registry.subjects.names import subject_of
from penstock.registry.subjects.service import Subjects
from penstock.schema.formats.protobuf import ProtobufFormat

__all__ = ["Shapes"]

_Writer = Callable[[Version], str]
# Values for any of the types; a value that does not apply to a schema's type leaves its text as it was registered.
_FORMATS = ("", "default", "resolved", "serialized")


class Shapes:
    """Renders versions as JSON objects, with the text in the form that the parameter ``format`` asks for."""

    def __init__(self, service: RegistryService, subjects: Subjects) -> None:
        self._service = service
        self._subjects = subjects
        # By the schema's type and the parameter's value.
        self._writers: dict[tuple[str, str], _Writer] = {
            ("AVRO", "resolved"): self._resolved,
            ("PROTOBUF", "serialized"): self._serialized,
        }

    def text(self, version: Version, request: Request) -> str:
        """Return the schema's text: as it was registered, or as ``format`` asks if the schema's type has that format."""
        format_ = request.query.text("format")
        if format_ not in _FORMATS:
            raise BadRequest(f"The format '{format_[:40]}' is not served.", remedy=f"Use one of {', '.join(_FORMATS[1:])}.")
        writer = self._writers.get((version.data_format, format_))
        return version.definition if writer is None else writer(version)

    def schema(self, version: Version, request: Request) -> dict[str, Any]:
        """Return ``schema``, ``schemaType``, ``references``, ``metadata`` and, for clients that accept it, ``guid``."""
        answer: dict[str, Any] = {"schema": self.text(version, request)}
        answer["schemaType"] = version.data_format
        references = self._subjects.references_of(version)
        if references:
            answer["references"] = [
                {"name": reference.name, "subject": reference.subject, "version": reference.version}
                for reference in references
            ]
        if version.contract is not None:
            answer["metadata"] = json.loads(version.contract)
        if request.extras:
            answer["guid"] = version.id
        return answer

    def version(self, version: Version, request: Request) -> dict[str, Any]:
        """Return a schema with ``subject``, ``version`` and ``id``."""
        answer: dict[str, Any] = {
            "subject": str(subject_of(version.key)),
            "version": version.number,
            "id": version.schema_id,
        }
        answer.update(self.schema(version, request))
        if version.deleted is not None and request.extras:
            answer["deleted"] = True
        return answer

    def _resolved(self, version: Version) -> str:
        return self._service.versions.parsed(version).canonical

    def _serialized(self, version: Version) -> str:
        return ProtobufFormat().serialized(self._service.versions.parsed(version))
