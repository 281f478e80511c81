"""The demo's requests to the server, in boto3 as a user would write them: registry, catalog, crawler, SQL."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import boto3

from penstock.demo.children import ChildFailed
from penstock.retries import wait_until
from penstock.schema.version import SchemaVersion
from penstock.settings.home import PlatformConfig

if TYPE_CHECKING:
    from types_boto3_athena import AthenaClient
    from types_boto3_glue import GlueClient
    from types_boto3_s3 import S3Client

__all__ = ["Cloud", "Refusal"]

DATABASE, REGISTRY, SCHEMA, TOPIC = "nyc", "nyc-flights", "flight", "flights"

_CRAWL_SECONDS = 120
_QUERY_SECONDS = 120
_ENDED = frozenset({"SUCCEEDED", "FAILED", "CANCELLED"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused version: its number, the registry's message in one line, and each incompatibility."""

    number: int
    headline: str
    reasons: Sequence[str]

    @classmethod
    def from_verdict(cls, number: int, verdict: str) -> "Refusal":
        """Return ``verdict`` is the registry's text: the headline, then a line with a dash for each incompatibility."""
        headline, *reasons = verdict.splitlines()
        return cls(number, headline, [reason.removeprefix("- ") for reason in reasons])


class Cloud:
    """boto3 clients of one platform, and the demo's calls."""

    def __init__(self, config: PlatformConfig) -> None:
        session = boto3.Session(
            aws_access_key_id=config.access_key_id,
            aws_secret_access_key=config.secret_access_key,
            region_name=config.region,
        )
        self.bucket = config.bucket
        self.glue: GlueClient = session.client("glue", endpoint_url=config.endpoint_url)
        self.athena: AthenaClient = session.client("athena", endpoint_url=config.endpoint_url)
        self.s3: S3Client = session.client("s3", endpoint_url=config.s3_endpoint_url)

    def create_schema(self, definition: str) -> None:
        """Create a registry and an AVRO schema with BACKWARD compatibility."""
        self.glue.create_registry(RegistryName=REGISTRY, Description="Flights that left New York in 2013")
        self.glue.create_schema(
            RegistryId={"RegistryName": REGISTRY},
            SchemaName=SCHEMA,
            DataFormat="AVRO",
            Compatibility="BACKWARD",
            SchemaDefinition=definition,
        )

    def create_stream_table(self, brokers: str) -> int:
        """Create a database and a table over the topic with the schema's columns; return the number of columns."""
        self.glue.create_database(DatabaseInput={"Name": DATABASE})
        self.glue.create_table(
            DatabaseName=DATABASE,
            TableInput={
                "Name": "flights_stream",
                "Parameters": {"classification": "avro"},
                "StorageDescriptor": {
                    "Location": TOPIC,
                    "Parameters": {"typeOfData": "kafka", "topicName": TOPIC, "bootstrap.servers": brokers},
                    "SchemaReference": {
                        "SchemaId": {"RegistryName": REGISTRY, "SchemaName": SCHEMA},
                        "SchemaVersionNumber": 1,
                    },
                },
            },
        )
        return self.stream_columns()

    def follow_version(self, number: int) -> int:
        """Change the stream table's schema version, with the table's version as precondition; return its columns' number."""
        table = self.glue.get_table(DatabaseName=DATABASE, Name="flights_stream")["Table"]
        storage: Any = table["StorageDescriptor"]
        storage.pop("Columns", None)
        storage["SchemaReference"] = {
            "SchemaId": {"RegistryName": REGISTRY, "SchemaName": SCHEMA},
            "SchemaVersionNumber": number,
        }
        self.glue.update_table(
            DatabaseName=DATABASE,
            VersionId=table["VersionId"],
            TableInput={"Name": "flights_stream", "Parameters": table["Parameters"], "StorageDescriptor": storage},
        )
        return self.stream_columns()

    def stream_columns(self) -> int:
        """Return the number of columns of the stream's table."""
        return len(
            self.glue.get_table(DatabaseName=DATABASE, Name="flights_stream")["Table"]["StorageDescriptor"]["Columns"]
        )

    def register(self, definition: str) -> int:
        """Register a version that must be accepted; return its number."""
        answer = self.glue.register_schema_version(
            SchemaId={"RegistryName": REGISTRY, "SchemaName": SCHEMA}, SchemaDefinition=definition
        )
        if answer["Status"] != "AVAILABLE":
            raise ChildFailed(
                f"Version {answer['VersionNumber']} of {REGISTRY}/{SCHEMA} is {answer['Status']}, not AVAILABLE."
            )
        return answer["VersionNumber"]

    def register_refused(self, definition: str) -> Refusal:
        """Try a version that must be refused; return the reasons in the registry's schema difference."""
        schema: Any = {"RegistryName": REGISTRY, "SchemaName": SCHEMA}
        answer = self.glue.register_schema_version(SchemaId=schema, SchemaDefinition=definition)
        if answer["Status"] != "FAILURE":
            raise ChildFailed(f"The incompatible version {answer['VersionNumber']} was not refused: {answer['Status']}.")
        diff = self.glue.get_schema_versions_diff(
            SchemaId=schema,
            FirstSchemaVersionNumber={"LatestVersion": True},
            SecondSchemaVersionNumber={"VersionNumber": answer["VersionNumber"]},
            SchemaDiffType="SYNTAX_DIFF",
        )["Diff"]
        # The patch's first operation has the reason, in a member that JSON Patch tools ignore.
        (refused,) = json.loads(diff)[0]["penstock:refused"]
        return Refusal.from_verdict(answer["VersionNumber"], refused["verdict"])

    def version(self, number: int) -> SchemaVersion:
        """Return a version of the demo's schema, for serialising in the demo."""
        answer = self.glue.get_schema_version(
            SchemaId={"RegistryName": REGISTRY, "SchemaName": SCHEMA}, SchemaVersionNumber={"VersionNumber": number}
        )
        return SchemaVersion(
            id=UUID(answer["SchemaVersionId"]),
            schema_arn=answer["SchemaArn"],
            registry_name=REGISTRY,
            schema_name=SCHEMA,
            number=number,
            definition=answer["SchemaDefinition"],
            data_format="AVRO",
        )

    def crawl(self, name: str, paths: Sequence[str]) -> None:
        """Create a crawler over ``paths``, run it, and wait until it is done."""
        self.glue.create_crawler(
            Name=name, Role="crawler", DatabaseName=DATABASE, Targets={"S3Targets": [{"Path": path} for path in paths]}
        )
        self.glue.start_crawler(Name=name)

        def ended() -> dict[str, Any] | None:
            crawler: Any = self.glue.get_crawler(Name=name)["Crawler"]
            return crawler["LastCrawl"] if crawler["State"] == "READY" else None

        last = wait_until(ended, seconds=_CRAWL_SECONDS, every=0.1)
        if last is None:
            raise ChildFailed(f"Crawler {name} did not end within {_CRAWL_SECONDS} s.")
        if last["Status"] != "SUCCEEDED":
            raise ChildFailed(f"Crawler {name} ended as {last['Status']}: {last.get('ErrorMessage', 'no message')}")

    def partitions(self, table: str) -> int:
        """Return the number of partitions of a table."""
        pages = self.glue.get_paginator("get_partitions").paginate(DatabaseName=DATABASE, TableName=table)
        return sum(len(page["Partitions"]) for page in pages)

    def query(self, sql: str) -> list[list[str | None]]:
        """Return the rows of one statement through Athena's API, without the header."""
        identifier = self.athena.start_query_execution(
            QueryString=sql,
            QueryExecutionContext={"Database": DATABASE},
            ResultConfiguration={"OutputLocation": f"s3://{self.bucket}/athena-results/"},
        )["QueryExecutionId"]

        def status() -> Any:
            return self.athena.get_query_execution(QueryExecutionId=identifier)["QueryExecution"]["Status"]

        wait_until(lambda: status()["State"] in _ENDED, seconds=_QUERY_SECONDS)
        last = status()
        if last["State"] != "SUCCEEDED":
            raise ChildFailed(f"'{sql}' is {last['State']}: {last.get('StateChangeReason', 'no reason given')}")
        pages = self.athena.get_paginator("get_query_results").paginate(QueryExecutionId=identifier)
        rows = [[cell.get("VarCharValue") for cell in row["Data"]] for page in pages for row in page["ResultSet"]["Rows"]]
        return rows[1:]

    def upload(self, key: str, data: bytes) -> None:
        """Put an object through the S3 endpoint."""
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=data)
