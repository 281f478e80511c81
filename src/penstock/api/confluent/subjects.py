"""Handlers of /subjects and /compatibility: register, look up, list, read, delete, test."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.api.confluent.errors import BadRequest, code_of, conflicts_json
from penstock.api.confluent.requests import Request, listing, read_schema, wanted_id
from penstock.api.confluent.routes import RawText, Route
from penstock.api.confluent.shapes import Shapes
from penstock.errors import PenstockError
from penstock.registry.model import Version
from penstock.registry.subjects.errors import EmptySchema, NotNextVersion
from penstock.registry.subjects.model import LATEST, SubjectSchema, version_number
from penstock.registry.subjects.names import SubjectName, subject_of
from penstock.registry.subjects.registration import SubjectRegistration
from penstock.registry.subjects.service import Subjects
from penstock.schema.compatibility import CompatibilityVerdict
from penstock.schema.errors import InvalidSchema

__all__ = ["routes"]

_SUBJECT = "/subjects/{subject}"
_VERSION = "/subjects/{subject}/versions/{version}"
_TEST = "/compatibility/subjects/{subject}/versions"
_INVALID = 42201


def routes(subjects: Subjects, registration: SubjectRegistration, shapes: Shapes) -> list[Route]:
    """The routes of subjects, their versions and compatibility tests."""
    served = _Subjects(subjects, registration, shapes)

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
    def __init__(self, subjects: Subjects, registration: SubjectRegistration, shapes: Shapes) -> None:
        self._subjects = subjects
        self._registration = registration
        self._shapes = shapes

    def list_subjects(self, request: Request) -> Any:
        return [str(subject) for subject in self._subjects.list(request.prefix, listing(request.query))]

    def look_up(self, request: Request) -> Any:
        schema = read_schema(request.body)
        with typed(schema):
            version = self._subjects.lookup(self._subject(request), schema, deleted=request.query.flag("deleted"))
        return self._shapes.version(version, request)

    def get_with_metadata(self, request: Request) -> Any:
        keys, values = request.query.texts("key"), request.query.texts("value")
        if len(keys) != len(values):
            raise BadRequest("Each parameter key needs a parameter value.")
        properties = dict(zip(keys, values, strict=True))
        version = self._subjects.latest_with(self._subject(request), properties, deleted=request.query.flag("deleted"))
        return self._shapes.version(version, request)

    def delete_subject(self, request: Request) -> Any:
        return list(self._subjects.delete(self._subject(request), permanent=request.query.flag("permanent")))

    def list_versions(self, request: Request) -> Any:
        numbers = self._subjects.versions(self._subject(request), listing(request.query))
        if not request.query.flag("deletedAsNegative"):
            return list(numbers)
        live = self._subjects.live(self._subject(request))
        return [number if number in live else -number for number in numbers]

    def register(self, request: Request) -> Any:
        body = request.body
        schema = read_schema(body)
        with typed(schema):
            version = self._registration.register(
                self._subject(request), schema, schema_id=wanted_id(body, "id"), number=wanted_id(body, "version")
            )
        if not request.extras:
            return {"id": version.schema_id}
        # Without the text: the Python client would cache it in place of the descriptor that it sent.
        return {
            "id": version.schema_id,
            "version": version.number,
            "guid": version.id,
            "subject": str(subject_of(version.key)),
            "schemaType": version.data_format,
        }

    def get_version(self, request: Request) -> Any:
        request.query.refuse("findTags")
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
        return self._test(request, None)

    def test_one(self, request: Request) -> Any:
        number = version_number(request.parts["version"])
        return self._test(request, LATEST if number is None else number)

    def _test(self, request: Request, against: int | str | None) -> Any:
        subject = self._subject(request)
        try:
            schema = read_schema(request.body)
            with typed(schema):
                return _verdict(self._registration.test(subject, schema, against), request)
        except PenstockError as error:
            # CompatibilityResource: a verbose request gets an invalid schema as an answer with messages, not as an error.
            if code_of(error) != _INVALID or not request.query.flag("verbose"):
                raise
            return {"is_compatible": False, "messages": [str(error)]}

    def _subject(self, request: Request) -> SubjectName:
        return self._subjects.configs.resolve_alias(request.subject)

    def _version(self, request: Request) -> Version:
        request.query.refuse("referenceFormat", "reference_format")
        number = version_number(request.parts["version"])
        return self._subjects.version(self._subject(request), number, deleted=request.query.flag("deleted"))


@contextmanager
def typed(schema: SubjectSchema) -> Iterator[None]:
    """Prefix the message of an invalid schema with its type, as Confluent's server does (loadSchema)."""
    try:
        yield
    except (EmptySchema, NotNextVersion):
        raise
    except InvalidSchema as error:
        message = f"Invalid schema of type {schema.data_format}, details: {error.message}"
        raise InvalidSchema(message, remedy=error.remedy) from error


def _verdict(verdict: CompatibilityVerdict, request: Request) -> dict[str, Any]:
    answer: dict[str, Any] = {"is_compatible": verdict.compatible}
    if request.query.flag("verbose"):
        answer["messages"] = [str(conflict) for conflict in verdict.conflicts]
        if request.extras:
            answer["incompatibilities"] = conflicts_json(verdict.conflicts)
    return answer
