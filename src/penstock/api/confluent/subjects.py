"""Handlers of /subjects and /compatibility: register, look up, list, read, delete, test."""

from typing import Any

from penstock.api.confluent.errors import BadRequest, conflicts_json
from penstock.api.confluent.requests import Request, listing, read_schema, wanted_id
from penstock.api.confluent.routes import RawText, Route
from penstock.api.confluent.shapes import Shapes
from penstock.registry.model import Version
from penstock.registry.subject_names import SubjectName, subject_of
from penstock.registry.subjects import LATEST, Subjects, version_number
from penstock.schema.compatibility import CompatibilityVerdict

__all__ = ["routes"]

_SUBJECT = "/subjects/{subject}"
_VERSION = "/subjects/{subject}/versions/{version}"
_TEST = "/compatibility/subjects/{subject}/versions"


def routes(subjects: Subjects, shapes: Shapes) -> list[Route]:
    """The routes of subjects, their versions and compatibility tests."""
    served = _Subjects(subjects, shapes)

    def route(method: str, path: str, name: str) -> Route:
        return Route(method=method, path=path, name=name, handler=getattr(served, name))

    return [
        route("GET", "/subjects", "list_subjects"),
        route("POST", _SUBJECT, "look_up"),
        route("DELETE", _SUBJECT, "delete_subject"),
        route("GET", f"{_SUBJECT}/metadata", "get_with_metadata"),
        route("GET", f"{_SUBJECT}/versions", "list_versions"),
        route("POST", f"{_SUBJECT}/versions", "register"),
        route("GET", _VERSION, "get_version"),
        route("DELETE", _VERSION, "delete_version"),
        route("GET", f"{_VERSION}/schema", "get_text"),
        route("GET", f"{_VERSION}/referencedby", "list_referencing"),
        route("POST", _TEST, "test_all"),
        route("POST", f"{_TEST}/{{version}}", "test_one"),
    ]


class _Subjects:
    def __init__(self, subjects: Subjects, shapes: Shapes) -> None:
        self._subjects = subjects
        self._shapes = shapes

    def list_subjects(self, request: Request) -> Any:
        return [str(subject) for subject in self._subjects.list(request.prefix, listing(request.query))]

    def look_up(self, request: Request) -> Any:
        found = self._subjects.lookup(
            self._subject(request), read_schema(request.body), deleted=request.query.flag("deleted")
        )
        return self._shapes.version(found, request)

    def get_with_metadata(self, request: Request) -> Any:
        keys, values = request.query.texts("key"), request.query.texts("value")
        if len(keys) != len(values):
            raise BadRequest("Each parameter key needs a parameter value.")
        properties = dict(zip(keys, values, strict=True))
        found = self._subjects.latest_with(self._subject(request), properties, deleted=request.query.flag("deleted"))
        return self._shapes.version(found, request)

    def delete_subject(self, request: Request) -> Any:
        return list(self._subjects.delete(self._subject(request), permanent=request.query.flag("permanent")))

    def list_versions(self, request: Request) -> Any:
        return list(self._subjects.versions(self._subject(request), listing(request.query)))

    def register(self, request: Request) -> Any:
        body = request.body
        found = self._subjects.register(
            self._subject(request), read_schema(body), serial=wanted_id(body, "id"), number=wanted_id(body, "version")
        )
        if not request.extras:
            return {"id": found.serial}
        # Without the text: Python's client would keep it in place of the descriptor that it sent.
        return {"id": found.serial, "version": found.number, "guid": found.id, "subject": str(subject_of(found.key))}

    def get_version(self, request: Request) -> Any:
        return self._shapes.version(self._version(request), request)

    def get_text(self, request: Request) -> Any:
        return RawText(self._shapes.text(self._version(request), request))

    def delete_version(self, request: Request) -> Any:
        number = version_number(request.parts["version"])
        return self._subjects.delete_version(self._subject(request), number, permanent=request.query.flag("permanent"))

    def list_referencing(self, request: Request) -> Any:
        number = version_number(request.parts["version"])
        return list(self._subjects.referenced_by(self._subject(request), number, listing(request.query)))

    def test_all(self, request: Request) -> Any:
        verdict = self._subjects.test(self._subject(request), read_schema(request.body))
        return _verdict(verdict, request)

    def test_one(self, request: Request) -> Any:
        number = version_number(request.parts["version"])
        against = LATEST if number is None else number
        return _verdict(self._subjects.test(self._subject(request), read_schema(request.body), against), request)

    def _subject(self, request: Request) -> SubjectName:
        return self._subjects.policies.meant(request.subject)

    def _version(self, request: Request) -> Version:
        number = version_number(request.parts["version"])
        return self._subjects.version(self._subject(request), number, deleted=request.query.flag("deleted"))


def _verdict(verdict: CompatibilityVerdict, request: Request) -> dict[str, Any]:
    answer: dict[str, Any] = {"is_compatible": verdict.compatible}
    if request.query.flag("verbose"):
        answer["messages"] = [str(conflict) for conflict in verdict.conflicts]
        if request.extras:
            answer["incompatibilities"] = conflicts_json(verdict.conflicts)
    return answer
