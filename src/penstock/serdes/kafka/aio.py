"""Serialisers and deserialisers for asyncio, for use with confluent-kafka's ``AIOProducer`` and ``AIOConsumer``.

Values of cached schemas are written and read at once, without leaving the loop. A call to the registry runs in a thread, and
all tasks that need the same version wait for that one call. A cancelled task does not cancel it for the others.
"""

import asyncio
import copy
from collections.abc import Callable, Hashable
from typing import Any

from penstock.serdes.errors import SerdeError
from penstock.serdes.frame import HEADER_SIZE
from penstock.serdes.kafka.client import Message, MessageField, SerializationContext
from penstock.serdes.kafka.serdes import GlueDeserializer
from penstock.serdes.serializer import RegistrySerializer

__all__ = ["AsyncGlueDeserializer", "AsyncGlueSerializer"]


class _Fetches:
    """Calls in threads, at most one at a time per key, which any number of tasks can wait for."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[tuple[asyncio.AbstractEventLoop, Hashable], asyncio.Task[None]] = {}

    async def once(self, key: Hashable, call: Callable[[], None]) -> None:
        """Wait for ``call``, or for the key's call that already runs. Each task gets its own copy of an error."""
        loop = asyncio.get_running_loop()
        place = (loop, key)
        task = self._open.get(place)
        if task is None:
            task = self._open[place] = loop.create_task(asyncio.to_thread(call))
            task.add_done_callback(lambda done: self._close(place, done))
        try:
            await asyncio.shield(task)
        except SerdeError as error:
            # Each task adds the place of its own message.
            raise copy.copy(error) from error.__cause__

    def _close(self, place: tuple[asyncio.AbstractEventLoop, Hashable], task: "asyncio.Task[None]") -> None:
        del self._open[place]
        if not task.cancelled():
            task.exception()  # marked as retrieved, in case all waiting tasks were cancelled


class AsyncGlueSerializer(RegistrySerializer):
    """``message = await serializer(value, context)``; arguments as in :class:`RegistrySerializer`."""

    __slots__ = ("_fetches",)

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._fetches = _Fetches()

    async def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """Return the message, or ``None`` for ``None``. Raise :class:`SerdeError` with the topic in its text."""
        topic = ctx.topic if ctx is not None else ""
        is_key = ctx is not None and ctx.field == MessageField.KEY
        if obj is not None and not self.is_ready(obj, topic, is_key=is_key):
            if self.is_derived:
                return await asyncio.to_thread(self.write, obj, topic, is_key=is_key)
            await self._fetches.once((topic, is_key), lambda: self.prepare(obj, topic, is_key=is_key))
        return self.write(obj, topic, is_key=is_key)


class AsyncGlueDeserializer:
    """``value = await deserializer(data, context)``; arguments as in :class:`RegistryDeserializer`."""

    __slots__ = ("_fetches", "_inner")

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self._inner = GlueDeserializer(*arguments, **settings)
        self._fetches = _Fetches()

    async def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """Return the value, or ``None`` for a tombstone. Raise :class:`SerdeError` with the topic in its text."""
        try:
            await self._prepare(
                value, ctx.headers if ctx is not None else None, ctx is not None and ctx.field == MessageField.KEY
            )
        except SerdeError as error:
            raise error.at(ctx.topic if ctx is not None else None) from error.__cause__
        return self._inner(value, ctx)

    async def message(self, message: Message, field: MessageField = MessageField.VALUE) -> Any:
        """Return the value (or key) of a consumed message. Errors name its topic, partition and offset."""
        is_key = field == MessageField.KEY
        data = message.key() if is_key else message.value()
        try:
            await self._prepare(data, message.headers(), is_key)
        except SerdeError as error:
            raise error.at(message.topic(), message.partition(), message.offset()) from error.__cause__
        return self._inner.message(message, field)

    async def _prepare(self, data: bytes | None, headers: Any, is_key: bool) -> None:
        if data is None or self._inner.is_ready(data, headers, is_key=is_key):
            return
        key = (bytes(data[:HEADER_SIZE]), is_key)
        await self._fetches.once(key, lambda: self._inner.prepare(data, headers, is_key=is_key))
