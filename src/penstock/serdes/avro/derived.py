"""Schemas derived from data: a producer without a schema registers the schema that its records need.

Give :class:`DerivedSchemas` to a serialiser as its ``schema``. For each value it returns a definition: the latest registered
one if the value fits it, which costs no call to the registry; otherwise that one with the value's new fields added, which it
registers first. :mod:`penstock.schema.infer.avro` defines what is derived and what is refused.

The registry has no conditional registration, so two producers may extend the same version at once, each without the other's
field. A producer that finds versions between the one it extended and its own registers a version with the fields of all.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from penstock.client.cache import OnceCache
from penstock.errors import NotFound
from penstock.schema.avro.fold import types_within
from penstock.schema.avro.logical import logical_type
from penstock.schema.avro.model import AvroType, PrimitiveType
from penstock.schema.infer.avro import derive_avro, extend_avro, record_name, room_in_avro, rotated_avro, unite_avro
from penstock.schema.infer.errors import CannotDerive
from penstock.schema.infer.rules import InferenceRules
from penstock.schema.infer.shape import Shape, shape_of
from penstock.schema.version import SchemaVersion
from penstock.serdes.avro.codec import AvroSchema, encoder
from penstock.serdes.errors import IncompatibleValue, SerdeError, UnreadableSchema
from penstock.serdes.ports import Registrar
from penstock.serdes.registration import Registration, perform

if TYPE_CHECKING:
    from types_boto3_glue.literals import CompatibilityType

__all__ = ["DerivedSchemas", "DerivingRegistrar", "UnderivableSchema"]

_LOG = logging.getLogger("penstock.serdes")
_EXACT = 2**53  # a double holds every whole number up to here
_ROUNDS = 10  # attempts to unite versions with other producers'; each is the last unless another producer registers again
# Logical types that fastavro also writes from values of other types without an error, some of them unreadable.
_LENIENT = ("date", "time-millis", "time-micros", "uuid")
_LENIENT_PREFIXES = ("timestamp-", "local-timestamp-")


class UnderivableSchema(IncompatibleValue):
    """No schema can be derived from a value: contradictory or unsupported types, too many fields or too many versions."""

    reason = "underivable-schema"


class DerivingRegistrar(Registrar, Protocol):
    """Also lists versions. :class:`penstock.client.registry.RegistryClient` implements it."""

    def versions(self, registry: str, schema: str) -> list[SchemaVersion]:
        """Return the AVAILABLE versions, lowest number first."""
        ...


class _Latest:
    """A schema's latest version with its per-value checks: whether a value fits, and whether a shape does."""

    __slots__ = ("_doubles", "_encode", "_lenient", "has_room", "version")

    def __init__(self, version: SchemaVersion) -> None:
        if version.data_format != "AVRO":
            raise UnreadableSchema(
                f"Schema {version.registry_name}/{version.schema_name} is {version.data_format}; AVRO schemas are derived."
            )
        schema = AvroSchema(version.definition)
        self.version = version
        self.has_room = room_in_avro(version.definition)
        self._encode = encoder(schema)
        types = list(types_within(schema.tree, schema.tree.root))
        self._lenient, self._doubles = any(map(_is_lenient, types)), any(map(_is_double, types))

    def fits(self, value: Any) -> bool:
        """Return whether ``value`` can be written without loss; the shape is compared where fastavro is too lenient."""
        try:
            self._encode(value)
            doubtful = self._lenient or (self._doubles and _has_wide_number(value))
            return not doubtful or self.has_room(shape_of([value]))
        except (SerdeError, CannotDerive):
            return False


@dataclass(frozen=True, slots=True)
class _Data:
    """Data that the schema must fit. ``attempt`` raises if the data cannot be written with a new definition."""

    registry: str
    schema: str
    shape: Shape
    attempt: Callable[[str], None] = lambda _: None
    converted: bool = False


@dataclass(slots=True, eq=False)
class _Cached:
    """The cached state of one schema. ``read_at`` is when its latest version was read from the registry, on the clock."""

    lock: Lock = field(default_factory=Lock)
    latest: _Latest | None = None
    read_at: float = float("-inf")


class DerivedSchemas:
    """Derives the definitions for values of any number of schemas. Thread-safe. It registers even if a serialiser does not.

    ``compatibility`` is the mode of schemas that it creates; derived schemas are made for FULL. At ``max_versions``,
    derivation ends with an error: data whose fields keep changing use data as keys. If values do not fit, the latest version
    is read at most once in ``refresh_seconds``, and always before a registration. ``cache_size`` is the number of schemas in
    the cache. ``description``, ``tags`` and ``metadata`` are set on new schemas and versions.
    """

    data_format = "AVRO"

    covers_values = True
    """For serialisers: values without a field in the definition have no type yet, and may be dropped."""

    def __init__(
        self,
        registrar: DerivingRegistrar,
        *,
        compatibility: "CompatibilityType" = "FULL",
        rules: InferenceRules | None = None,
        max_versions: int = 100,
        refresh_seconds: float = 5.0,
        cache_size: int = 1000,
        description: str | None = None,
        tags: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._registrar = registrar
        self._compatibility = compatibility
        self._rules = rules or InferenceRules()
        self._max_versions = max_versions
        self._refresh_seconds = refresh_seconds
        self._description, self._tags, self._metadata = description, dict(tags or {}), dict(metadata or {})
        self._sleep, self._clock = sleep, clock
        self._cache: OnceCache[tuple[str, str], _Cached] = OnceCache(cache_size)

    def __call__(self, value: Any, registry: str, schema: str) -> str:
        """Return the definition to write ``value`` with, and register it if it is new. Raise as :meth:`cover` does."""
        return self.known(value, registry, schema) or self.cover([value], registry, schema).definition

    def known(self, value: Any, registry: str, schema: str) -> str | None:
        """Return the cached definition that ``value`` fits, or ``None``, without a call to the registry."""
        cached = self._cache.peek((registry, schema))
        latest = cached.latest if cached is not None else None
        return latest.version.definition if latest is not None and latest.fits(value) else None

    def cover(self, values: Sequence[Any], registry: str, schema: str) -> SchemaVersion:
        """Return the latest version, which all ``values`` fit. At most one version is registered for all of them.

        Raise :class:`UnderivableSchema` with the path if no schema can be derived, another
        :class:`~penstock.serdes.errors.SerdeError` if a value does not fit the registered schema (then nothing is
        registered), and the registrar's errors.
        """

        def attempt(definition: str) -> None:
            encode = encoder(AvroSchema(definition), ignore_unknown=True)
            for value in values:
                encode(value)

        try:
            return self._cover(_Data(registry, schema, shape_of(values), attempt))
        except CannotDerive as error:
            raise _underivable(error, registry, schema) from error

    def cover_shape(self, shape: Shape, registry: str, schema: str, *, converted: bool = False) -> SchemaVersion:
        """Do the same as :meth:`cover` for a shape, without the values, such as a file's; no value is tried.

        ``converted`` is true if the values are converted to the registered types, so that those types need not match.
        """
        try:
            return self._cover(_Data(registry, schema, shape, converted=converted))
        except CannotDerive as error:
            raise _underivable(error, registry, schema) from error

    def _cover(self, data: _Data) -> SchemaVersion:
        cached = self._cache.get((data.registry, data.schema), _Cached)
        with cached.lock:
            expired = cached.latest is None or self._clock() >= cached.read_at + self._refresh_seconds
            latest = self._read(cached, data) if expired else cached.latest
            if latest is not None and not data.converted and latest.has_room(data.shape):
                return latest.version
            if not expired:
                latest = self._read(cached, data)
            version = latest.version if latest is not None else None
            definition = self._definition(version, data)
            if definition is None:
                assert version is not None
                return version
            data.attempt(definition)
            return self._keep(cached, self._register(version, definition, data)).version

    def _read(self, cached: _Cached, data: _Data) -> _Latest | None:
        cached.read_at = self._clock()
        try:
            version = self._registrar.latest(data.registry, data.schema)
        except NotFound:
            cached.latest = None
            return None
        return self._keep(cached, version)

    def _keep(self, cached: _Cached, version: SchemaVersion) -> _Latest:
        latest = cached.latest
        if latest is None or latest.version.id != version.id:
            latest = cached.latest = _Latest(version)
        return latest

    def _definition(self, latest: SchemaVersion | None, data: _Data) -> str | None:
        """Return the definition to register, or ``None`` if ``latest`` fits all data."""
        if latest is None:
            return derive_avro(data.shape, record_name(data.schema), self._rules)
        definition = extend_avro(latest.definition, data.shape, self._rules, converted=data.converted)
        if definition is not None and latest.number >= self._max_versions:
            raise CannotDerive(
                f"the data need a new version, and the schema has {latest.number} versions already.",
                path="",
                remedy="If keys are data themselves, register a schema with a map for them. Or raise max_versions.",
            )
        return definition

    def _register(self, extended: SchemaVersion | None, definition: str, data: _Data) -> SchemaVersion:
        base, first = (extended.definition, extended.number) if extended is not None else (None, 0)
        place, newest = (data.registry, data.schema), first
        registered: SchemaVersion | None = None
        for turn in range(_ROUNDS):
            try:
                registered = self._registered(definition, *place)
            except UnreadableSchema:
                latest = self._registrar.latest(*place)
                if latest.number <= newest:
                    raise
                # Another producer's version came first, and ours is incompatible with it: extend that one.
                extended_again = self._definition(latest, data)
                if extended_again is None:
                    return latest
                base, definition = latest.definition, extended_again
                first = newest = latest.number
                continue
            if registered.number == newest + 1 or (registered.number <= newest and turn == 0):
                return registered
            versions = self._registrar.versions(*place)
            latest, between = versions[-1], [version.definition for version in versions if version.number > first]
            union = unite_avro(base, between) if base is not None else unite_avro(between[0], between[1:]) or between[0]
            missing = unite_avro(latest.definition, [union]) if union is not None else None
            if union is None or missing is None:
                return latest
            # A definition that is registered already cannot become the latest again.
            definition = union if registered.number > newest else rotated_avro(missing, turn)
            newest = latest.number
        if registered is None:
            raise UnderivableSchema(
                f"Schema {'/'.join(place)} got another producer's version before each of {_ROUNDS} tries to extend it.",
                path="/",
                remedy="Write the value again.",
            )
        _LOG.warning(
            "Other producers kept registering versions of %s/%s; writing with version %d.", *place, registered.number
        )
        return registered

    def _registered(self, definition: str, registry: str, schema: str) -> SchemaVersion:
        registration = Registration(
            registry=registry,
            schema=schema,
            definition=definition,
            compatibility=self._compatibility,
            description=self._description,
            tags=self._tags,
            metadata=self._metadata,
        )
        return self._registrar.version(perform(registration, self._registrar, auto_register=True, sleep=self._sleep))


def _underivable(error: CannotDerive, registry: str, schema: str) -> UnderivableSchema:
    return UnderivableSchema(
        f"Schema {registry}/{schema} cannot be derived. {error.message}", path=error.path, remedy=error.remedy
    )


def _has_wide_number(value: Any) -> bool:
    """Return whether a value has a whole number that a double may not hold exactly. Encoding has bounded its depth."""
    if isinstance(value, Mapping):
        return any(map(_has_wide_number, value.values()))
    if isinstance(value, list):
        return any(map(_has_wide_number, value))
    return isinstance(value, int) and not -_EXACT <= value <= _EXACT


def _is_double(avro_type: AvroType) -> bool:
    return isinstance(avro_type, PrimitiveType) and avro_type.name == "double"


def _is_lenient(avro_type: AvroType) -> bool:
    logical = logical_type(avro_type) or ""
    return logical in _LENIENT or logical.startswith(_LENIENT_PREFIXES)
