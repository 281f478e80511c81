"""Registration of a definition: the calls in the order of AWS's serde, without I/O.

A generator yields each call (:class:`Find`, :class:`Register`, :class:`Create`, :class:`Status`, :class:`PutMetadata`,
:class:`Wait`), receives the answer or the registry's error, and returns the version's id. :func:`perform` is its synchronous
driver. The order, the matched messages and the waiting times were measured on AWS's Java serde 1.1.27.
"""

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from penstock.errors import AlreadyExists, InvalidInput, NotFound, PenstockError
from penstock.serdes.errors import UnreadableSchema
from penstock.serdes.ports import Registrar

if TYPE_CHECKING:
    from types_boto3_glue.literals import CompatibilityType, DataFormatType

__all__ = [
    "TRANSPORT_KEY",
    "Create",
    "Find",
    "PutMetadata",
    "Register",
    "Registration",
    "Status",
    "Step",
    "Wait",
    "perform",
    "registration",
]

TRANSPORT_KEY = "x-amz-meta-transport"

# AWS's clients distinguish the two cases by these messages.
_NO_VERSION = "Schema version is not found."
_NO_SCHEMA = "Schema is not found."

_STATUS_TRIES = 10
_STATUS_SECONDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A definition to register, and the settings of the schema if it must be created."""

    registry: str
    schema: str
    definition: str
    data_format: "DataFormatType" = "AVRO"
    compatibility: "CompatibilityType" = "BACKWARD"
    description: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Find:
    """Look up the version with the definition."""


@dataclass(frozen=True, slots=True)
class Register:
    """Register the definition as a version."""


@dataclass(frozen=True, slots=True)
class Create:
    """Create the schema with the definition."""


@dataclass(frozen=True, slots=True)
class Status:
    """Get a version's status; the answer is (id, status)."""

    version_id: UUID


@dataclass(frozen=True, slots=True)
class PutMetadata:
    """Add a metadata pair; the answer is ignored."""

    version_id: UUID
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for ``seconds``."""

    seconds: float


Step = Find | Register | Create | Status | PutMetadata | Wait
Answer = tuple[UUID, str] | None
Flow = Generator[Step, Answer, UUID]


def registration(request: Registration, *, auto_register: bool) -> Flow:
    """Yield the steps from a definition to the id of an AVAILABLE version.

    Raise :class:`UnreadableSchema` if the version is FAILURE or stays PENDING too long, and :class:`NotFound` if the schema
    or version does not exist and ``auto_register`` is off. Other errors pass through.
    """
    name = f"{request.registry}/{request.schema}"
    new = False
    try:
        version_id, status = _version((yield Find()))
    except (NotFound, InvalidInput) as error:
        if not auto_register:
            raise NotFound(
                f"Schema {name} has no version with this definition: {error.message}",
                remedy="Register it, or set schemaAutoRegistrationEnabled to true.",
            ) from error
        new = True
        if _NO_VERSION in error.message:
            version_id, status = _version((yield Register()))
        elif _NO_SCHEMA in error.message:
            try:
                version_id, status = _version((yield Create()))
            except AlreadyExists:
                version_id, status = _version((yield Register()))
        else:
            raise
    yield from _until_available(name, version_id, status)
    if new:
        for key, value in request.metadata.items():
            yield PutMetadata(version_id, key, value)
    return version_id


def _until_available(name: str, version_id: UUID, status: str) -> Generator[Step, Answer, None]:
    for _ in range(_STATUS_TRIES):
        if status != "PENDING":
            break
        yield Wait(_STATUS_SECONDS)
        _, status = _version((yield Status(version_id)))
    if status == "FAILURE":
        raise UnreadableSchema(
            f"Version {version_id} of schema {name} is FAILURE: it breaks the schema's compatibility mode.",
            remedy="Change the new definition, or the mode; 'penstock schema check' shows which rule it breaks and where.",
        )
    if status != "AVAILABLE":
        raise UnreadableSchema(f"Version {version_id} of schema {name} is {status}, not AVAILABLE.")


def _version(answer: Answer) -> tuple[UUID, str]:
    if answer is None:
        raise AssertionError("a driver answers this step with an id and a status")
    return answer


def perform(
    request: Registration,
    registrar: Registrar,
    *,
    auto_register: bool,
    sleep: Callable[[float], None] = time.sleep,
) -> UUID:
    """Run :func:`registration` with ``registrar`` and return the version's id."""
    flow = registration(request, auto_register=auto_register)
    try:
        step = next(flow)
        while True:
            try:
                answer = _ask(step, request, registrar, sleep)
            except PenstockError as error:
                step = flow.throw(error)
            else:
                step = flow.send(answer)
    except StopIteration as done:
        version_id: UUID = done.value
        return version_id


def _ask(step: Step, request: Registration, registrar: Registrar, sleep: Callable[[float], None]) -> Answer:
    place = (request.registry, request.schema, request.definition)
    match step:
        case Find():
            return registrar.find_version(*place)
        case Register():
            return registrar.register_version(*place)
        case Create():
            return registrar.create_schema(
                *place,
                data_format=request.data_format,
                compatibility=request.compatibility,
                description=request.description,
                tags=request.tags,
            )
        case Status(version_id):
            return version_id, registrar.version_status(version_id)
        case PutMetadata(version_id, key, value):
            registrar.put_metadata(version_id, key, value)
        case Wait(seconds):
            sleep(seconds)
    return None
