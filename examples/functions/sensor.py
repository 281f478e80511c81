"""A simulated IoT sensor: each event becomes a message, whose schema is derived from the event and registered if needed.

Runs on AWS Lambda and under ``penstock functions``. Environment: BOOTSTRAP_SERVERS, TOPIC, DEVICE_ID, REGISTRY_NAME,
SCHEMA_NAME; KAFKA_SECRET, the secret with the broker's user name and password; SECURITY_PROTOCOL, Kafka's protocol.
"""

import json
import os
import time

import boto3
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.client import RegistryClient
from penstock.serdes import DerivedSchemas, GlueSerializer

TOPIC = os.environ["TOPIC"]


def _kafka():
    settings = {"bootstrap.servers": os.environ["BOOTSTRAP_SERVERS"]}
    secret = os.environ.get("KAFKA_SECRET")
    if secret:
        login = json.loads(boto3.client("secretsmanager").get_secret_value(SecretId=secret)["SecretString"])
        settings |= {
            "security.protocol": os.environ.get("SECURITY_PROTOCOL", "SASL_SSL"),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": login["username"],
            "sasl.password": login["password"],
        }
    return settings


def _topic(settings):
    """Create the topic if it does not exist."""
    admin = AdminClient(settings)
    if TOPIC not in admin.list_topics(timeout=10).topics:
        admin.create_topics([NewTopic(TOPIC, 3)])[TOPIC].result(10)


_registry = RegistryClient()
_serialise = GlueSerializer(
    {
        "registry.name": os.environ["REGISTRY_NAME"],
        "schemaName": os.environ["SCHEMA_NAME"],
        "schemaAutoRegistrationEnabled": "true",
        "compatibility": "FULL",
    },
    schema=DerivedSchemas(_registry),
    source=_registry,
)
_settings = _kafka()
_topic(_settings)
_producer = Producer({**_settings, "enable.idempotence": True})


def handler(event, context):
    """Send one measurement: the members of ``event``, the device's id and the time."""
    measurement = {"deviceId": os.environ["DEVICE_ID"], "timestamp": int(time.time() * 1000), **event}
    sent = []
    _producer.produce(
        TOPIC,
        _serialise(measurement, SerializationContext(TOPIC, MessageField.VALUE, headers=[])),
        measurement["deviceId"],
        on_delivery=lambda error, message: sent.append((error, message)),
    )
    _producer.flush(context.get_remaining_time_in_millis() / 1000 - 0.5)
    if not sent or sent[0][0] is not None:
        raise RuntimeError(f"the broker did not take the message: {sent[0][0] if sent else 'no answer in time'}")
    return {"topic": TOPIC, "partition": sent[0][1].partition(), "offset": sent[0][1].offset(), "sent": measurement}
