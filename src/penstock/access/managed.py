"""AWS's own managed policies, those that concern what this server serves, by ARN.

Source: AWS managed policy reference guide; the ones for Glue's registry as published on November 20, 2020.
"""

import json
from collections.abc import Mapping, Sequence

__all__ = ["AWS_MANAGED"]


def _allow(actions: Sequence[str] | str) -> str:
    statement = {"Effect": "Allow", "Action": actions, "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _glue(*names: str) -> list[str]:
    return [f"glue:{name}" for name in names]


_READ = _glue(
    "GetRegistry",
    "ListRegistries",
    "GetSchema",
    "ListSchemas",
    "GetSchemaByDefinition",
    "GetSchemaVersion",
    "ListSchemaVersions",
    "GetSchemaVersionsDiff",
    "CheckSchemaVersionValidity",
    "QuerySchemaVersionMetadata",
    "GetTags",
)
_WRITE = _glue(
    "CreateRegistry",
    "UpdateRegistry",
    "DeleteRegistry",
    "CreateSchema",
    "UpdateSchema",
    "DeleteSchema",
    "RegisterSchemaVersion",
    "DeleteSchemaVersions",
    "PutSchemaVersionMetadata",
    "RemoveSchemaVersionMetadata",
    "TagResource",
    "UntagResource",
)

AWS_MANAGED: Mapping[str, str] = {
    f"arn:aws:iam::aws:policy/{name}": document
    for name, document in {
        "AdministratorAccess": _allow("*"),
        "AWSGlueSchemaRegistryFullAccess": _allow([*_READ, *_WRITE]),
        "AWSGlueSchemaRegistryReadonlyAccess": _allow(_READ),
        "IAMFullAccess": _allow("iam:*"),
    }.items()
}
"""The documents, which cannot be changed."""
