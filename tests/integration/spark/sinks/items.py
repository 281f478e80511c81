"""A table of DynamoDB Local as a target of the suite."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from penstock.pipelines.sinks.dynamodb import DynamoDbSink
from penstock.pipelines.sinks.settings import ChangeCapture, WriteMode
from penstock.spark.sinks.dynamodb.writer import DynamoDbWriter
from penstock.spark.sinks.port import SinkBatch, SinkWriter
from penstock.testing.dynamodb import DynamoDBLocal
from tests.integration.spark.sinks.targets import SinkTarget

__all__ = ["ItemsTarget"]


class ItemsTarget(SinkTarget):
    """A table of its own with the key ``id``, a number."""

    def __init__(self, dynamodb: DynamoDBLocal, *, conditional: bool = True) -> None:
        self.table = f"t-{uuid4().hex[:8]}"
        self._dynamodb = dynamodb
        self._conditional = conditional
        self.client = dynamodb.client()
        self.client.create_table(
            TableName=self.table,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def writer(self, mode: WriteMode = "append", **more: Any) -> DynamoDbWriter:
        changes = ChangeCapture(envelope="column") if mode == "cdc" else None
        keys = () if mode == "append" else ("id",)
        conditional = self._conditional or mode == "append"
        declared: dict[str, Any] = {"table": self.table, "conditional": conditional, "threads": 4, "keys": keys, **more}
        return DynamoDbWriter(DynamoDbSink(mode=mode, changes=changes, **declared), self._dynamodb.client())

    def items(self) -> list[dict[str, Any]]:
        return [item for page in self.client.get_paginator("scan").paginate(TableName=self.table) for item in page["Items"]]

    def rows(self) -> list[tuple[int, str | None]]:
        return sorted((int(item["id"]["N"]), item["name"]["S"] if "name" in item else None) for item in self.items())

    def interrupted(self, writer: SinkWriter, batch: SinkBatch) -> None:
        """The connection to the service is lost in the middle of the rows."""
        assert isinstance(writer, DynamoDbWriter)
        sent, enough = 0, 100 if writer.settings.conditional else 3

        def lose(request: Any, **_: Any) -> None:
            nonlocal sent
            sent += 1
            if sent > enough:
                request.url = "http://127.0.0.1:1/"

        writer._dynamodb.meta.events.register("before-sign.dynamodb", lose)
        writer.publish(batch)

    def unreachable(self) -> Sequence[tuple[SinkWriter, str]]:
        away = DynamoDBLocal(endpoint_url="http://127.0.0.1:1").client()
        return [
            (self.writer(table="nowhere"), "there is no DynamoDB table nowhere at .* Create it"),
            (self.writer("upsert", keys=("name",)), "the keys of DynamoDB table .* are id, and 'keys' are name"),
            (
                DynamoDbWriter(DynamoDbSink(table="t"), away),
                "Asking for DynamoDB table t: http://127.0.0.1:1 gave no usable",
            ),
        ]
