"""Tables of DynamoDB: their items with types that fit all of them, or DynamoDB's JSON as its exports have it.

Items are read by parallel scans. Source: "DynamoDB connections",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-dynamodb-home.html
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import boto3
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.client.assumed_role import assumed_role_session
from penstock.client.connection import open_client, translated_errors
from penstock.client.databases.dynamodb import is_whole, table_of_arn
from penstock.errors import InvalidInput, NotFound
from penstock.glue.frames.dynamodb import plain_items, simplified, unnested_items
from penstock.glue.options import Options
from penstock.glue.sources.listing import check_bucket
from penstock.glue.sources.port import Read, Table

if TYPE_CHECKING:
    from boto3.session import Session

__all__ = ["acting_session", "check_rate", "is_dynamodb_table", "read", "rows", "table_options"]

_ATTEMPTS = 10
_MOST_SPLITS = 1_000_000
_EXPORTS = ("", "ddb", "s3")


def read(read: Read) -> DataFrame:
    """Return the items of a table. Raises :class:`InvalidInput` for options, and NotFound for a table."""
    options = Options("the dynamodb source", read.options)
    export = (options.text("dynamodb.export") or "").strip().lower()
    if export not in _EXPORTS:
        raise InvalidInput(f"dynamodb.export is {export[:100]!r}.", remedy="Use ddb or s3, or leave it out.")
    name, arn = options.text("dynamodb.input.tableName"), options.text("dynamodb.tableArn")
    named, its_region = table_of_arn(arn or "")
    table = name or named
    splits = options.number("dynamodb.splits", least=1)
    check_rate(options, "dynamodb.throughput.read.percent")
    unnest, simplify = options.flag("dynamodb.unnestDDBJson"), options.flag("dynamodb.simplifyDDBJson")
    bucket, prefix = options.text("dynamodb.s3.bucket"), options.text("dynamodb.s3.prefix")
    region = options.text("dynamodb.region") or (None if name else its_region)
    session = acting_session(options, "glue-dynamodb-read-sts-session", region)
    if (unnest or simplify) and not export:
        raise InvalidInput(
            "dynamodb.unnestDDBJson and dynamodb.simplifyDDBJson need dynamodb.export.", remedy="Set it to ddb."
        )
    if unnest and simplify:
        raise InvalidInput("dynamodb.unnestDDBJson and dynamodb.simplifyDDBJson exclude each other.")
    if export == "s3":
        items = _exported(read, bucket, prefix)
    else:
        if not table:
            option = "dynamodb.tableArn" if export else "dynamodb.input.tableName"
            raise InvalidInput(f"The dynamodb source needs {option}.", remedy="Name the table.")
        count = min(splits or read.session.spark.sparkContext.defaultParallelism, _MOST_SPLITS)
        items = _scanned(read, table, _checked_access(table, region, session), count, str if export else _number)
    if not export:
        return plain_items(items)
    return unnested_items(items) if unnest else simplified(items) if simplify else items


def _exported(read: Read, bucket: str | None, prefix: str | None) -> DataFrame:
    """Return the items of an export in S3.

    Its files: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html.
    """
    if not bucket:
        raise InvalidInput("dynamodb.export is s3, and dynamodb.s3.bucket is missing.", remedy="Name the export's bucket.")
    folder = f"s3://{bucket}/{(prefix or '').strip('/')}".rstrip("/")
    check_bucket(read.session.spark, folder)
    files = [node for node in read.session.files.walk(folder) if node.endswith(".json.gz") and "/data/" in node]
    folders = {file.rpartition("/")[0] for file in files}
    if len(folders) != 1:
        raise InvalidInput(
            f"There are {len(folders) or 'no'} exports in DynamoDB's JSON below {folder}.",
            remedy="Set dynamodb.s3.prefix to that of one: PREFIX/AWSDynamoDB/EXPORT.",
        )
    return read.session.spark.read.json(files)


def is_dynamodb_table(table: Table) -> bool:
    """Return whether a crawler found the table in DynamoDB."""
    return str((table.get("Parameters") or {}).get("classification", "")).lower() == "dynamodb"


def rows(request: Read, table: Table) -> DataFrame:
    """Return the items of a table of DynamoDB that is in the catalog, by :func:`read`'s options."""
    options = {**table_options(table, "dynamodb.input.tableName"), **request.options}
    return read(replace(request, options=options))


def table_options(table: Table, member: str) -> dict[str, str]:
    """Return the options that a table of the catalog stands for: its name under ``member``, and its region."""
    arn = str((table.get("StorageDescriptor") or {}).get("Location", ""))
    name, region = table_of_arn(arn)
    if not name:
        raise InvalidInput(f"Table {table.get('Name')} has no ARN of DynamoDB as its location.", remedy="Crawl it again.")
    return {member: name, **({} if region is None else {"dynamodb.region": region})}


def acting_session(options: Options, default: str, region: str | None) -> "Session | None":
    """Return boto3's session of the role in the options, for a table of another account; None if they have none.

    ``default`` is the name of its session with STS.
    """
    role, name = options.text("dynamodb.sts.roleArn"), options.text("dynamodb.sts.roleSessionName")
    if role is not None:
        return assumed_role_session(role, name or default, region=region)
    if name is not None:
        raise InvalidInput("Option dynamodb.sts.roleSessionName goes with dynamodb.sts.roleArn.", remedy="Give both.")
    return None


def check_rate(options: Options, name: str) -> None:
    """Raise :class:`InvalidInput` unless a share of the table's capacity is from 0.1 to 1.5; the table itself bounds it."""
    text = options.text(name)
    try:
        good = text is None or 0.1 <= float(text) <= 1.5
    except ValueError:
        good = False
    if not good:
        raise InvalidInput(f"{name} is {text!r}.", remedy="Use a number from 0.1 to 1.5.")


@dataclass(frozen=True, slots=True)
class _Access:
    """How Spark's tasks reach DynamoDB: as this process does, whose environment they need not have."""

    region: str
    endpoint_url: str
    keys: Mapping[str, str | None] = field(repr=False)

    def client(self) -> Any:
        """Return a client."""
        session = boto3.session.Session(**self.keys) if self.keys else None  # type: ignore[arg-type]
        return open_client(
            "dynamodb", region=self.region, endpoint_url=self.endpoint_url, session=session, attempts=_ATTEMPTS
        )


def _checked_access(table: str, region: str | None, session: "Session | None") -> _Access:
    """Return the access to a table that exists. Raises NotFound.

    The credentials of a role are those of now, which STS gives for an hour.
    """
    client = open_client("dynamodb", region=region, session=session)
    try:
        with translated_errors(client, f"DynamoDB table {table}"):
            client.describe_table(TableName=table)
    except NotFound:
        raise NotFound(
            f"There is no DynamoDB table {table} at {client.meta.endpoint_url}.", remedy="Correct its name, or the region."
        ) from None
    credentials = (session or boto3.session.Session()).get_credentials()
    keys: dict[str, str | None] = {}
    if credentials is not None:
        now = credentials.get_frozen_credentials()
        keys = {
            "aws_access_key_id": now.access_key,
            "aws_secret_access_key": now.secret_key,
            "aws_session_token": now.token,
        }
    return _Access(client.meta.region_name, client.meta.endpoint_url, keys)


def _scanned(read: Read, table: str, access: _Access, count: int, number: Callable[[str], Any]) -> DataFrame:
    spark = read.session.spark
    scan = partial(_segment, table, access, count, number)
    # Kept, so that the types are those of the rows: a second scan may find others.
    lines = spark.sparkContext.parallelize(range(count), count).flatMap(scan).persist(StorageLevel.MEMORY_AND_DISK)
    items = spark.read.json(lines)
    return items if items.columns else spark.createDataFrame([], StructType([]))


def _segment(table: str, access: _Access, count: int, number: Callable[[str], Any], segment: int) -> Iterator[str]:
    """Yield the items of one part of the table, as JSON; runs where Spark's tasks do."""
    client = access.client()
    with translated_errors(client, f"DynamoDB table {table}"):
        for page in client.get_paginator("scan").paginate(
            TableName=table, Segment=segment, TotalSegments=count, ConsistentRead=True
        ):
            for item in page["Items"]:
                yield json.dumps(_item(item, number))


def _item(item: Mapping[str, Any], number: Callable[[str], Any]) -> dict[str, Any]:
    """Return an item as DynamoDB's exports have it: binary values are base64. ``number`` makes the values of numbers."""
    return {"Item": {name: _tagged(entry, number) for name, entry in item.items()}}


def _tagged(attribute: Mapping[str, Any], number: Callable[[str], Any]) -> dict[str, Any]:
    ((tag, value),) = attribute.items()
    if tag in {"M", "L"}:
        inner = value.items() if tag == "M" else enumerate(value)
        tagged = {name: _tagged(item, number) for name, item in inner}
        return {tag: tagged if tag == "M" else list(tagged.values())}
    if tag not in {"B", "BS", "N", "NS"}:
        return {tag: value}
    scalar: Callable[[Any], Any] = _base64 if tag.startswith("B") else number
    return {tag: [scalar(item) for item in value] if tag in {"BS", "NS"} else scalar(value)}


def _number(text: str) -> int | float:
    return int(text) if is_whole(text) else float(text)


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
