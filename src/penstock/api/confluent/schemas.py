"""Handlers of /schemas and /contexts: read by id, read by UUID, list all."""

from typing import Any

from penstock import __version__
from penstock.api.confluent.requests import Request, listing
from penstock.api.confluent.routes import RawText, Route
from penstock.api.confluent.shapes import Shapes
from penstock.registry.subjects.ids import SubjectIds
from penstock.registry.subjects.names import SubjectName, parse_subject, subject_of
from penstock.schema.format import DATA_FORMATS

__all__ = ["routes"]

_MOST_SCHEMAS = 1_000  # one answer of GET /schemas
_FIRST_TYPES = ("JSON", "PROTOBUF", "AVRO")  # as Confluent's server lists them


def routes(ids: SubjectIds, shapes: Shapes) -> list[Route]:
    """The routes of schemas, contexts and the server's own data."""
    served = _Schemas(ids, shapes)

    def get(path: str, name: str, *, inline: bool = False) -> Route:
        return Route(method="GET", path=path, name=name, handler=getattr(served, name), inline=inline)

    return [
        get("/", "root"),
        get("/schemas", "list_schemas"),
        get("/schemas/types", "list_types"),
        get("/schemas/ids/{id}", "get_by_id", inline=True),
        get("/schemas/ids/{id}/schema", "get_text_by_id", inline=True),
        get("/schemas/ids/{id}/subjects", "list_subjects_of_id"),
        get("/schemas/ids/{id}/versions", "list_versions_of_id"),
        get("/schemas/guids/{guid}", "get_by_guid", inline=True),
        get("/schemas/guids/{guid}/ids", "list_ids_of_guid"),
        get("/contexts", "list_contexts"),
        Route(method="DELETE", path="/contexts/{name}", name="delete_context", handler=served.delete_context),
        get("/v1/metadata/id", "cluster"),
        get("/v1/metadata/version", "version"),
    ]


class _Schemas:
    def __init__(self, ids: SubjectIds, shapes: Shapes) -> None:
        self._ids = ids
        self._shapes = shapes

    def root(self, _request: Request) -> Any:
        return {}

    def list_schemas(self, request: Request) -> Any:
        request.query.refuse("aliases", "findTags")
        if request.query.text("ruleType"):
            # No schema has rules here.
            return []
        versions = self._ids.scan(
            request.prefix, listing(request.query, most=_MOST_SCHEMAS), latest_only=request.query.flag("latestOnly")
        )
        return [self._shapes.version(version, request) for version in versions]

    def list_types(self, _request: Request) -> Any:
        return [*_FIRST_TYPES, *(name for name in DATA_FORMATS if name not in _FIRST_TYPES)]

    def get_by_id(self, request: Request) -> Any:
        request.query.refuse("findTags", "referenceFormat", "reference_format")
        version = self._ids.schema(request.schema_id, self._within(request))
        answer = self._shapes.schema(version, request)
        if request.within.name and request.extras:
            # confluent-kafka's cache has these as its key. A caller that asks by the id alone may read the text, but not
            # learn which subject has it.
            answer |= {"subject": str(subject_of(version.key)), "version": version.number}
        if request.query.flag("fetchMaxId"):
            answer["maxId"] = self._ids.highest(version)
        return answer

    def get_text_by_id(self, request: Request) -> Any:
        return RawText(self._shapes.text(self._ids.schema(request.schema_id, self._within(request)), request))

    def list_subjects_of_id(self, request: Request) -> Any:
        subjects = self._ids.subjects(request.schema_id, self._within(request), listing(request.query))
        return [str(subject) for subject in subjects]

    def list_versions_of_id(self, request: Request) -> Any:
        versions = self._ids.versions(request.schema_id, self._within(request), listing(request.query))
        return [{"subject": str(subject_of(head.key)), "version": head.number} for head in versions]

    def get_by_guid(self, request: Request) -> Any:
        return self._shapes.schema(self._ids.by_uuid(request.parts["guid"]), request)

    def list_ids_of_guid(self, request: Request) -> Any:
        version = self._ids.by_uuid(request.parts["guid"])
        return [{"context": subject_of(version.key).context, "id": version.schema_id}]

    def _within(self, request: Request) -> SubjectName:
        return self._ids.resolve_alias(request.within)

    def list_contexts(self, request: Request) -> Any:
        # The prefix begins with the dot, as the names do.
        prefix = request.query.text("contextPrefix")
        return [name for name in self._ids.contexts() if name.startswith(prefix)][listing(request.query).window]

    def delete_context(self, request: Request) -> Any:
        self._ids.delete_context(parse_subject("", context=request.parts["name"].strip(":")))

    def cluster(self, _request: Request) -> Any:
        return {
            "id": "penstock",
            "scope": {"path": [], "clusters": {"kafka-cluster": "", "schema-registry-cluster": "penstock"}},
        }

    def version(self, _request: Request) -> Any:
        return {"version": __version__, "commitId": "penstock"}
