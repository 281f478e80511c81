"""The versions of a Confluent subject, with the ids that records name them by."""

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote
from uuid import NAMESPACE_URL, UUID, uuid5

from penstock.errors import EnvironmentProblem, NotFound
from penstock.pipelines.decode import ConfluentRegistry
from penstock.schema.version import SchemaVersion

__all__ = ["ConfluentRequests", "SubjectVersions"]

_DEFAULT_REGISTRY = "default-registry"


class ConfluentRequests(Protocol):
    """Confluent's REST API; :class:`penstock.client.confluent.ConfluentClient` has it."""

    def request(self, method: str, path: str, body: bytes | None = None) -> Any:
        """Return the JSON value that a path answers. Raises :class:`NotFound`, :class:`EnvironmentProblem` etc."""
        ...


class SubjectVersions:
    """The versions of one subject. A version is read once; the list of their numbers is read each time."""

    def __init__(self, declared: ConfluentRegistry, registry: str, schema: str, client: ConfluentRequests) -> None:
        """``registry`` and ``schema`` are the declared names of Glue's, and give the default."""
        context = declared.context
        if context is None and declared.subject is None and registry not in ("", _DEFAULT_REGISTRY):
            context = registry
        subject = declared.subject or schema
        self.name = f":.{context}:{subject}" if context else subject
        self.foreign = declared.url is not None or not schema
        self._client = client
        self._known: dict[int, tuple[int, SchemaVersion]] = {}

    def list(self) -> Mapping[int, SchemaVersion]:
        """Return the versions by Confluent's id. Raises the client's errors; a subject that does not exist has none."""
        path = f"/subjects/{quote(self.name, safe='')}/versions"
        try:
            numbers = self._client.request("GET", path)
        except NotFound:
            return {}
        for number in numbers if isinstance(numbers, list) else ():
            if number not in self._known:
                self._known[number] = self._version(self._client.request("GET", f"{path}/{number}"), number)
        return dict(self._known.values())

    def _version(self, answer: Any, number: int) -> tuple[int, SchemaVersion]:
        try:
            schema_id, definition, guid = int(answer["id"]), str(answer["schema"]), answer.get("guid")
            if answer.get("references"):
                raise EnvironmentProblem(
                    f"Version {number} of subject {self.name} refers to other subjects, which pipelines do not follow.",
                    remedy="Register a definition without references.",
                )
            version_id = UUID(guid) if guid else uuid5(NAMESPACE_URL, f"{self.name}/{schema_id}")
        except (KeyError, TypeError, ValueError) as error:
            raise EnvironmentProblem(f"Subject {self.name}: version {number} has no usable {error}.") from None
        version = SchemaVersion(
            id=version_id,
            schema_arn="",
            registry_name="",
            schema_name=self.name,
            number=number,
            definition=definition,
            data_format=answer.get("schemaType") or "AVRO",
        )
        return schema_id, version
