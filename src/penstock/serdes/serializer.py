"""Values to messages of a registered schema: the common part of the serialisers for Kafka, asyncio and Kinesis.

It finds or registers the schema version to write with, and caches it. A registry that is down, slow or throttling is not
asked again for a cached version. If "the latest version" has expired and the registry fails, the stale one stays in use.
"""

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from penstock.caching import SharedCache
from penstock.client.cache import OnceCache
from penstock.errors import EnvironmentProblem, InvalidInput, LimitExceeded
from penstock.schema.version import SchemaText, SchemaVersion
from penstock.serdes.codec import MessageWriter, framed
from penstock.serdes.config import SerdeConfig
from penstock.serdes.encoders import payload_encoder
from penstock.serdes.errors import SerdeError, UnreadableSchema
from penstock.serdes.ports import Definition, Registrar, SchemaDeriver
from penstock.serdes.registration import TRANSPORT_KEY, Registration, perform
from penstock.serdes.resolve import open_registry, resolve_config

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["RegistrySerializer", "SchemaFunction", "definition_text", "version_uuid"]

SchemaFunction = Callable[[Any, str, str], Definition | None]
"""A function from a value and the names of registry and schema to the value's definition; see :class:`SchemaDeriver`."""

_LOG = logging.getLogger("penstock.serdes")
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds between two attempts to refresh a stale version


def definition_text(definition: Definition) -> str:
    """Return a definition as text: compact, keys in the given order, as Avro's ``toString`` prints it."""
    return definition if isinstance(definition, str) else json.dumps(definition, separators=(",", ":"))


@dataclass(slots=True, eq=False)
class PreparedWriter:
    """A schema version's writer, for one topic's keys or values. ``expires`` is when to refresh it, on the given clock."""

    topic: str
    is_key: bool
    write: MessageWriter
    schema: str
    version: int | None
    version_id: UUID
    expires: float = 0.0
    tries: int = 0

    def with_schema(self, error: SerdeError) -> SerdeError:
        """Add this schema to the error's text."""
        return error.of(self.schema, self.version, self.version_id)


class RegistrySerializer:
    """Writes values with a registered schema version. Thread-safe.

    ``schema`` is the schema to write with: a definition (text or JSON), the class of a Protobuf message, or a
    :class:`~penstock.serdes.ports.SchemaDeriver`, which gives the definition for each value. Its version is looked up, and
    registered first if ``schemaAutoRegistrationEnabled`` is true. ``version_id`` pins a registered version instead. With
    neither, a Protobuf message is written with the definition of its own class, and any other value with the schema's
    latest AVAILABLE version, which is refreshed after ``timeToLiveMillis``. ``message`` names the Protobuf type of mappings,
    by default the definition's first. ``source`` replaces the client that is otherwise made from region and endpoint.
    ``settings`` are fields of :class:`SerdeConfig`. ``patience`` is how many seconds a write waits for the refresh of a
    stale version. ``sleep``, ``clock`` and ``jitter`` (from 0 to 1) are for tests.
    """

    __slots__ = (
        "_clock",
        "_config",
        "_definition",
        "_derive",
        "_entries",
        "_jitter",
        "_message",
        "_patience",
        "_pinned",
        "_ready",
        "_refreshes",
        "_seconds",
        "_sleep",
        "_source",
        "_stale",
    )

    def __init__(
        self,
        properties: Mapping[str, Any] | SerdeConfig | None = None,
        *,
        schema: "Definition | type[Message] | SchemaDeriver | SchemaFunction | None" = None,
        version_id: UUID | str | None = None,
        message: str | None = None,
        source: Registrar | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
        patience: float = 2.0,
        **settings: Any,
    ) -> None:
        if schema is not None and version_id is not None:
            raise InvalidInput("Give a schema or a version_id, not both.")
        self._config = resolve_config(properties, settings)
        self._message = message
        self._derive: SchemaDeriver | None = None
        self._definition: str | None = None
        self._pinned = version_uuid(version_id) if version_id is not None else None
        self._use(schema)
        self._source: Registrar = source or open_registry(self._config)
        # A definition's id never changes; only "latest" goes stale.
        latest = schema is None and self._pinned is None
        self._seconds = self._config.ttl_seconds if latest else None
        self._entries: OnceCache[tuple[Any, ...], PreparedWriter] = OnceCache(
            self._config.cache_size, seconds=self._seconds, clock=clock
        )
        self._stale: SharedCache[tuple[Any, ...], PreparedWriter] = SharedCache(self._config.cache_size)
        self._refreshes: dict[tuple[Any, ...], Future[PreparedWriter]] = {}
        self._patience = patience
        # The writer of the last call, so that one topic's values skip the cache and its lock.
        self._ready: PreparedWriter | None = None
        self._sleep, self._clock, self._jitter = sleep, clock, jitter

    def write(self, value: Any, topic: str, *, is_key: bool = False) -> bytes | None:
        """Return the message, or ``None`` for ``None``. Raise :class:`SerdeError` with schema and topic in its text."""
        if value is None:
            return None
        try:
            ready = self._ready
            if (
                ready is None
                or ready.topic != topic
                or ready.is_key is not is_key
                or self._clock() >= ready.expires
                or self._derive is not None
            ):
                ready = self._prepare(value, topic, is_key)
            try:
                return ready.write(value)
            except SerdeError as error:
                raise ready.with_schema(error) from error.__cause__
        except SerdeError as error:
            raise self._place(error, topic) from error.__cause__

    def is_ready(self, value: Any, topic: str, *, is_key: bool = False) -> bool:
        """Return whether ``value`` can be written without a call to the registry."""
        definition = self._definition
        if self._derive is not None:
            name = self._config.schema_name(topic, key=is_key)
            derived = self._derive.known(value, self._config.registry, name)
            if derived is None and not isinstance(self._derive, _OfMessages):
                return False
            definition = definition_text(derived) if derived is not None else None
        key = (topic, is_key, definition)
        entry = self._entries.peek(key) if self._seconds is None else self._stale.peek(key)
        return entry is not None and self._clock() < entry.expires

    def prepare(self, value: Any, topic: str, *, is_key: bool = False) -> None:
        """Fetch from the registry what :meth:`write` needs for ``value``. Raise the same errors for its schema."""
        try:
            self._prepare(value, topic, is_key)
        except SerdeError as error:
            raise self._place(error, topic) from error.__cause__

    @property
    def is_derived(self) -> bool:
        """Whether the schema is derived from each value, so that two values of a topic may need two versions."""
        return self._derive is not None

    def _place(self, error: SerdeError, topic: str) -> SerdeError:
        return error.at(topic or None)

    def _use(self, schema: "Definition | type[Message] | SchemaDeriver | SchemaFunction | None") -> None:
        if schema is None:
            if self._config.data_format == "PROTOBUF" and self._pinned is None:
                self._derive = _OfMessages()
        elif isinstance(schema, type) and hasattr(schema, "DESCRIPTOR"):
            from penstock.serdes.protobuf.encoder import definition_of  # noqa: PLC0415

            self._definition, self._message = definition_of(schema), self._message or schema.DESCRIPTOR.full_name
        elif isinstance(schema, str | Mapping | list):
            self._definition = definition_text(schema)
        elif callable(schema) and not isinstance(schema, type):
            self._derive = schema if isinstance(schema, SchemaDeriver) else _OfFunction(schema)
            derived = self._derive.data_format or self._config.data_format
            if derived != self._config.data_format:
                raise InvalidInput(
                    f"The schema deriver makes {derived} schemas, and dataFormat is {self._config.data_format}.",
                    remedy=f"Set dataFormat to {derived}, or give a schema.",
                )
        else:
            raise InvalidInput(
                f"A {type(schema).__name__} is not a schema.",
                remedy="Give the definition as text or JSON, the class of a Protobuf message, or a SchemaDeriver.",
            )

    def _prepare(self, value: Any, topic: str, is_key: bool) -> PreparedWriter:
        name = self._config.schema_name(topic, key=is_key) if self._pinned is None else ""
        definition = self._definition
        if self._derive is not None:
            derived = self._derive(value, self._config.registry, name)
            definition = definition_text(derived) if derived is not None else None
        key = (topic, is_key, definition)
        stale = self._stale.peek(key)

        def make() -> PreparedWriter:
            return self._entries.get(key, lambda: self._make(topic, is_key, name, definition))

        if stale is None:
            ready = make()
            self._keep(key, ready)
        else:
            ready = stale if self._clock() < stale.expires else self._refreshed(key, stale, make)
        self._ready = ready
        return ready

    def _refreshed(self, key: tuple[Any, ...], stale: PreparedWriter, make: Callable[[], PreparedWriter]) -> PreparedWriter:
        """Return the writer of the latest version, or the stale one if the registry fails or takes too long."""
        refresh = self._refreshes.get(key)
        if refresh is None:
            refresh = self._refreshes[key] = _in_background(make)
        try:
            ready = refresh.result(self._patience)
        except TimeoutError:
            return self._postponed(stale, f"the registry gave no answer within {self._patience:g} s")
        except (EnvironmentProblem, LimitExceeded) as error:
            self._refreshes.pop(key, None)
            return self._postponed(stale, error)
        except BaseException:
            self._refreshes.pop(key, None)
            raise
        self._refreshes.pop(key, None)
        self._keep(key, ready)
        return ready

    def _keep(self, key: tuple[Any, ...], ready: PreparedWriter) -> None:
        if self._seconds is None:
            ready.expires = float("inf")
            return
        # A quarter of the cache's time to live: the two together exceed that only a little.
        ready.expires, ready.tries = self._clock() + self._seconds / 4, 0
        self._stale.put(key, ready)

    def _postponed(self, stale: PreparedWriter, error: object) -> PreparedWriter:
        """Keep the stale version in use, for a time that grows with each failure of the registry."""
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(stale.tries, 10)) * (0.5 + self._jitter() / 2)
        stale.tries, stale.expires = stale.tries + 1, self._clock() + pause
        _LOG.warning(
            "Still writing with schema version %s of %s; the next refresh is in %.1f s: %s",
            stale.version or stale.version_id, stale.schema, pause, error,
        )  # fmt: skip
        return stale

    def _make(self, topic: str, is_key: bool, name: str, definition: str | None) -> PreparedWriter:
        config = self._config
        if definition is None:
            version = self._source.version(self._pinned) if self._pinned else self._source.latest(config.registry, name)
            text, version_id, number = self._text(version), version.id, version.number
            place = f"{version.registry_name}/{version.schema_name}"
        else:
            text, number, place = SchemaText(definition=definition, data_format=config.data_format), None, ""
        # The encoder is made before the registration, so that an unusable definition is not registered.
        # A value without a field in a definition that was derived from it has no type yet, so nothing is lost.
        ignore_unknown = config.ignore_unknown_fields or (self._derive is not None and self._derive.covers_values)
        try:
            encoder_of = payload_encoder(text, message=self._message, ignore_unknown=ignore_unknown)
            if definition is not None:
                place = f"{config.registry}/{name}"
                version_id = self._registered(topic, name, definition)
        except SerdeError as error:
            raise error.of(place or f"{config.registry}/{name}", number) from error.__cause__
        return PreparedWriter(
            topic=topic,
            is_key=is_key,
            write=framed(version_id, encoder_of, config.compression),
            schema=place,
            version=number,
            version_id=version_id,
        )

    def _text(self, version: SchemaVersion) -> SchemaText:
        if version.data_format != self._config.data_format:
            raise UnreadableSchema(
                f"Schema {version.registry_name}/{version.schema_name} is {version.data_format}, not "
                f"{self._config.data_format}.",
                remedy="Set dataFormat to the schema's format.",
            )
        return SchemaText(definition=version.definition, data_format=version.data_format)

    def _registered(self, topic: str, name: str, definition: str) -> UUID:
        config = self._config
        registration = Registration(
            registry=config.registry,
            schema=name,
            definition=definition,
            data_format=config.data_format,
            compatibility=config.compatibility,
            description=config.description,
            tags=config.tags,
            metadata={**({TRANSPORT_KEY: topic} if topic else {}), **config.metadata},
        )
        return perform(registration, self._source, auto_register=config.auto_register, sleep=self._sleep)


def version_uuid(version_id: UUID | str) -> UUID:
    """Return a schema version's id as UUID. Raise :class:`InvalidInput` for a text that is not a UUID."""
    try:
        return version_id if isinstance(version_id, UUID) else UUID(str(version_id))
    except ValueError:
        raise InvalidInput(
            f"'{str(version_id)[:80]}' is not a schema version id: it is not a UUID.",
            remedy="CreateSchema, RegisterSchemaVersion and ListSchemaVersions return the id as SchemaVersionId.",
        ) from None


def _in_background(make: Callable[[], PreparedWriter]) -> "Future[PreparedWriter]":
    """Run ``make`` in a daemon thread, which does not delay the end of the process."""
    future: Future[PreparedWriter] = Future()

    def run() -> None:
        try:
            future.set_result(make())
        except BaseException as error:  # noqa: BLE001 -- raised in the threads that wait
            future.set_exception(error)

    threading.Thread(target=run, name="penstock-serdes-refresh", daemon=True).start()
    return future


class _OfFunction:
    """A plain function as a :class:`SchemaDeriver`."""

    data_format = None
    covers_values = False

    def __init__(self, derive: SchemaFunction) -> None:
        self._derive = derive

    def known(self, value: Any, registry: str, schema: str) -> None:
        """Return ``None``: the function may ask a registry."""

    def __call__(self, value: Any, registry: str, schema: str) -> Definition | None:
        """Return the function's definition."""
        return self._derive(value, registry, schema)


class _OfMessages:
    """Gives the definition of a Protobuf message's class, rendered once per class; mappings have no class."""

    data_format = "PROTOBUF"
    covers_values = False

    def __init__(self) -> None:
        self._definitions: OnceCache[Any, str] = OnceCache(1000)

    def known(self, value: Any, registry: str, schema: str) -> str | None:
        """Return the same as a call, which asks no registry."""
        return self(value, registry, schema)

    def __call__(self, value: Any, registry: str, schema: str) -> str | None:  # noqa: ARG002 - the port's
        """Return the definition, or ``None`` for a value that is not a message."""
        from penstock.serdes.protobuf.encoder import definition_of, is_message  # noqa: PLC0415

        return self._definitions.get(value.DESCRIPTOR, lambda: definition_of(value)) if is_message(value) else None
