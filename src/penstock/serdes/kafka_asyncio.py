"""The serialisers and deserialisers for asyncio, beside confluent-kafka's ``AIOProducer`` and ``AIOConsumer``.

What is known already is written and read at once, without leaving the loop. A call to the registry is made in a thread, and
those who need the same version wait for that one call.
"""

import asyncio
from typing import Any

from confluent_kafka import Message
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.serdes.kafka import GlueDeserializer
from penstock.serdes.writing import RegisteredWriter

__all__ = ["AsyncGlueDeserializer", "AsyncGlueSerializer"]


class AsyncGlueSerializer(RegisteredWriter):
    """``message = await serializer(value, context)``; arguments as in :class:`RegisteredWriter`."""

    __slots__ = ()

    async def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """The message; ``None`` for ``None``. Raises :class:`SerdeError` with the topic in its text."""
        topic = ctx.topic if ctx is not None else ""
        is_key = ctx is not None and ctx.field == MessageField.KEY
        if obj is None or self.is_ready(obj, topic, is_key=is_key):
            return self.write(obj, topic, is_key=is_key)
        return await asyncio.to_thread(self.write, obj, topic, is_key=is_key)


class AsyncGlueDeserializer:
    """``value = await deserializer(data, context)``; arguments as in :class:`FrameReader`."""

    __slots__ = ("_inner",)

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self._inner = GlueDeserializer(*arguments, **settings)

    async def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """The value; ``None`` for a tombstone. Raises :class:`SerdeError` with the topic in its text."""
        headers = ctx.headers if ctx is not None else None
        if self._inner.is_ready(value, headers, is_key=ctx is not None and ctx.field == MessageField.KEY):
            return self._inner(value, ctx)
        return await asyncio.to_thread(self._inner, value, ctx)

    async def message(self, message: Message, field: MessageField = MessageField.VALUE) -> Any:
        """The value (or key) of a consumed message; errors name its topic, partition and offset."""
        is_key = field == MessageField.KEY
        data = message.key() if is_key else message.value()
        if self._inner.is_ready(data, message.headers(), is_key=is_key):
            return self._inner.message(message, field)
        return await asyncio.to_thread(self._inner.message, message, field)
