"""Reads the sensors' messages with a role in the producer's account, and writes them to a DynamoDB table of its own.

Runs on AWS Lambda and under ``penstock functions``. Environment: TABLE_NAME; SCHEMA_ROLE_ARN, the role in the
account that has the schemas; EXTERNAL_ID, the external id that the two accounts agreed on.
"""

import base64
import os
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import boto3

from penstock.client import RegistryClient
from penstock.serdes import GlueDeserializer

_table = boto3.resource("dynamodb").Table(os.environ["TABLE_NAME"])
_readers = {}


def _reader(session_name):
    """Return a deserialiser that uses the role; a new one five minutes before the credentials expire."""
    cached = _readers.get("reader")
    if cached is None or cached[1] < datetime.now(UTC) + timedelta(minutes=5):
        granted = boto3.client("sts").assume_role(
            RoleArn=os.environ["SCHEMA_ROLE_ARN"], RoleSessionName=session_name, ExternalId=os.environ["EXTERNAL_ID"]
        )["Credentials"]
        session = boto3.session.Session(granted["AccessKeyId"], granted["SecretAccessKey"], granted["SessionToken"])
        cached = _readers["reader"] = GlueDeserializer(source=RegistryClient(session=session)), granted["Expiration"]
    return cached[0]


def handler(event, context):
    """Store each record by its topic, partition and offset, so that a record which is delivered twice is stored once."""
    read = _reader(context.function_name)
    stored = 0
    with _table.batch_writer(overwrite_by_pkeys=["id"]) as batch:
        for records in event["records"].values():
            for record in records:
                measurement = read(base64.b64decode(record["value"]))
                item = {name: _item(value) for name, value in measurement.items() if value is not None}
                batch.put_item(Item={"id": f"{record['topic']}-{record['partition']}-{record['offset']}", **item})
                stored += 1
    return {"stored": stored}


def _item(value):
    # DynamoDB's numbers are decimals.
    return Decimal(str(value)) if isinstance(value, float) else value
