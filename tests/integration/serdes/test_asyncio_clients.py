"""confluent-kafka's asyncio clients with the awaited serdes, against a real broker and registry."""

import asyncio
import uuid
from typing import Any

import pytest
from confluent_kafka.aio import AIOConsumer, AIOProducer
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.client.registry import RegistryClient
from penstock.local.broker import Broker
from penstock.serdes.errors import NotFramed
from penstock.serdes.kafka.aio import AsyncGlueDeserializer, AsyncGlueSerializer

pytestmark = pytest.mark.jvm

ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'


def test_produce_and_consume(broker: Broker, source: RegistryClient) -> None:
    topic = f"asyncio-{uuid.uuid4().hex[:8]}"

    async def work() -> tuple[list[Any], str]:
        properties = {"schemaAutoRegistrationEnabled": "true", "compression": "ZLIB"}
        write = AsyncGlueSerializer(properties, schema=ORDER, source=source)
        read = AsyncGlueDeserializer(source=source)
        context = SerializationContext(topic, MessageField.VALUE)
        producer = AIOProducer(broker.client_settings)
        delivered = [await producer.produce(topic, await write({"id": number}, context)) for number in range(20)]
        delivered.append(await producer.produce(topic, b"plain text, not a message"))
        await producer.flush()
        await asyncio.gather(*delivered)
        await producer.close()
        consumer = AIOConsumer(broker.client_settings | {"group.id": topic, "auto.offset.reset": "earliest"})
        await consumer.subscribe([topic])
        found, refused = [], ""
        while not refused:
            message = await consumer.poll(timeout=1.0)
            if message is None or message.error():
                continue
            try:
                found.append(await read.message(message))
            except NotFramed as error:
                refused = error.message
        await consumer.close()
        return found, refused

    found, refused = asyncio.run(work())
    assert found == [{"id": number} for number in range(20)]
    assert refused.endswith(f"(topic {topic}, partition 0, offset 20)")
