"""ARNs, ids and names as types, and checks that all packages share.

Sources: Glue API reference for name patterns; the service authorization reference for ARN formats.
"""

import re
from dataclasses import dataclass
from typing import NewType
from uuid import UUID

from penstock.errors import InvalidInput

__all__ = [
    "DEFAULT_ACCOUNT",
    "DEFAULT_REGION",
    "AccountId",
    "Arn",
    "RegistryName",
    "SchemaName",
    "SchemaVersionId",
    "account_of",
    "arn",
    "canonical",
    "parse_arn",
]

AccountId = NewType("AccountId", str)
RegistryName = NewType("RegistryName", str)
SchemaName = NewType("SchemaName", str)
SchemaVersionId = NewType("SchemaVersionId", UUID)

# The account of an embedded platform; AWS account ids are twelve digits.
DEFAULT_ACCOUNT = AccountId("000000000000")
DEFAULT_REGION = "us-east-1"

_ARN = re.compile(r"arn:(aws[a-zA-Z-]*):([a-z0-9-]+):([a-z0-9-]*):(\d{12}|):(.+)", re.DOTALL)
_MAX_ARN = 10_240  # GlueResourceArn in the Glue API model


@dataclass(frozen=True, slots=True, kw_only=True)
class Arn:
    """An Amazon Resource Name, split. ``resource`` keeps its slashes: ``schema/REGISTRY/NAME``."""

    service: str
    region: str
    account: str
    resource: str
    partition: str = "aws"

    def __str__(self) -> str:
        return f"arn:{self.partition}:{self.service}:{self.region}:{self.account}:{self.resource}"


def arn(service: str, region: str, account: str, resource: str) -> str:
    """Return the ARN's text for ``resource`` (such as ``registry/NAME``) of ``service``."""
    return f"arn:aws:{service}:{region}:{account}:{resource}"


def canonical(text: str) -> str:
    """Return an ARN in the partition ``aws``; other text as it is."""
    parts = text.split(":", 5)
    return ":".join(["arn", "aws", *parts[2:]]) if len(parts) == 6 else text


def account_of(text: str) -> str | None:
    """Return the account in an ARN; None if it has none, or if ``text`` is not an ARN."""
    parts = text.split(":", 5)
    return parts[4] if len(parts) == 6 and len(parts[4]) == 12 and parts[4].isdigit() else None


def parse_arn(text: str) -> Arn:
    """Split an ARN; raise :class:`~penstock.errors.InvalidInput` if it is not one."""
    match = _ARN.fullmatch(text) if len(text) <= _MAX_ARN else None
    if match is None:
        raise InvalidInput(
            f"'{text[:200]}' is not an ARN.", remedy="An ARN has the form arn:aws:SERVICE:REGION:ACCOUNT:RESOURCE."
        )
    partition, service, region, account, resource = match.groups()
    return Arn(partition=partition, service=service, region=region, account=account, resource=resource)
