"""Tables of DynamoDB: keys from their description, columns from a sample of their items."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from penstock.catalog.model import Column, StorageDescriptor, Table, TableInput
from penstock.client.databases.dynamodb import is_whole
from penstock.crawl.formats.shapes import columns_of, merged
from penstock.crawl.model import DynamoTarget
from penstock.crawl.targets.port import DescribedTable, Scope
from penstock.errors import DataProblem, EnvironmentProblem
from penstock.types.dynamodb import CODES
from penstock.types.model import VOID, Array, Field, LakeType, Scalar, Struct

__all__ = ["dynamodb_client", "dynamodb_table"]

_SAMPLE = 1_000
"""Items; a table that is scanned whole is read up to :data:`_ALL`."""
_ALL = 100_000
_PAGE = 250
_MOST_DEPTH = 64
_BIGINT, _DOUBLE = Scalar("bigint"), Scalar("double")


def dynamodb_client(region: str) -> Any:
    """Return a client by boto3's own settings: the process's credentials, and AWS_ENDPOINT_URL_DYNAMODB."""
    # Slow to import, and few servers read DynamoDB.
    import boto3  # noqa: PLC0415
    from botocore.config import Config  # noqa: PLC0415

    config = Config(connect_timeout=10, read_timeout=30, retries={"mode": "standard", "max_attempts": 5})
    return boto3.client("dynamodb", region_name=region, config=config)


def dynamodb_table(
    client: Any, target: DynamoTarget, check: Callable[[], None]
) -> tuple[Sequence[DescribedTable], Sequence[Scope]]:
    """Return the table, described by its first items: a thousand, or 100,000 if the target is to be scanned whole.

    Raises :class:`DataProblem` if there is no such table, :class:`EnvironmentProblem` if DynamoDB does not answer.
    """
    try:
        about = client.describe_table(TableName=target.table)["Table"]
        members = _members(client, target, check)
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        message = error.response.get("Error", {}).get("Message", "")
        if code == "ResourceNotFoundException":
            raise DataProblem(
                f"DynamoDB has no table {target.table}.", remedy="Correct Path of the DynamoDB target."
            ) from None
        raise EnvironmentProblem(f"DynamoDB refused to read table {target.table}: {code}: {message[:200]}.") from None
    except BotoCoreError as error:
        raise EnvironmentProblem(f"DynamoDB cannot be reached: {str(error)[:200]}.") from None
    for key in about["AttributeDefinitions"]:
        # Secondary indexes have such attributes, too, which an item need not have.
        members.setdefault(
            key["AttributeName"].lower(), _BIGINT if key["AttributeType"] == "N" else CODES[key["AttributeType"]]
        )
    columns = tuple(sorted(columns_of(members), key=lambda column: column.name))
    return [_described(about, columns)], [Scope(about["TableArn"])]


def _members(client: Any, target: DynamoTarget, check: Callable[[], None]) -> dict[str, LakeType]:
    members: dict[str, LakeType] = {}
    remaining = _SAMPLE if target.scan_all is False else _ALL
    start: dict[str, Any] = {}
    while remaining > 0:
        check()
        page = client.scan(TableName=target.table, Limit=min(remaining, _PAGE), **start)
        for item in page["Items"]:
            for name, attribute in item.items():
                key = name.lower()
                members[key] = merged(members.get(key, VOID), _type(attribute, 0))
        remaining -= len(page["Items"])
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    return members


def _type(attribute: Mapping[str, Any], depth: int) -> LakeType:
    if depth > _MOST_DEPTH:
        raise DataProblem(f"An item is nested more than {_MOST_DEPTH} levels deep.")
    ((code, value),) = attribute.items()
    if code == "M":
        members = {name.lower(): _type(member, depth + 1) for name, member in value.items()}
        return Struct(tuple(Field(name, member_type) for name, member_type in members.items()))
    if code in {"L", "NS"}:
        element: LakeType = VOID
        for item in value:
            element = merged(element, _type(item, depth + 1) if code == "L" else _number(item))
        return Array(element)
    return _number(value) if code == "N" else CODES[code]


def _number(text: str) -> LakeType:
    return _BIGINT if is_whole(text) else _DOUBLE


def _described(about: Mapping[str, Any], columns: Sequence[Column]) -> DescribedTable:
    count, size = int(about.get("ItemCount", 0)), int(about.get("TableSizeBytes", 0))
    parameters = {
        "classification": "dynamodb", "typeOfData": "table", "sizeKey": str(size), "recordCount": str(count),
        "averageRecordSize": str(size // count if count else 0),
        **{{"HASH": "hashKey", "RANGE": "rangeKey"}[key["KeyType"]]: key["AttributeName"] for key in about["KeySchema"]},
    }  # fmt: skip

    def define(name: str, current: Table | None) -> TableInput:
        base = (
            TableInput(name=name, table_type="EXTERNAL_TABLE", owner="owner") if current is None else TableInput.of(current)
        )
        storage = base.storage if current is not None else StorageDescriptor()
        return replace(
            base,
            storage=replace(storage, location=about["TableArn"], columns=tuple(columns)),
            parameters={**base.parameters, **parameters},
        )

    return DescribedTable(name=about["TableName"], place=about["TableArn"], define=define)
