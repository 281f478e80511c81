"""AWS's managed policies for the services of this server, by ARN.

Source: AWS managed policy reference guide; the ones for Glue's registry as published on November 20, 2020.
AWSGlueServiceRole includes the actions of services that are not served, so that it is identical to AWS's.
"""

import json
from collections.abc import Mapping, Sequence

__all__ = ["AWS_MANAGED"]


def _statement(actions: Sequence[str] | str, resource: Sequence[str] | str = "*", **more: object) -> Mapping[str, object]:
    return {"Effect": "Allow", "Action": actions, "Resource": resource, **more}


def _document(*statements: Mapping[str, object]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def _allow(actions: Sequence[str] | str) -> str:
    return _document(_statement(actions))


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

_NETWORK = (
    "DescribeVpcEndpoints",
    "DescribeRouteTables",
    "CreateNetworkInterface",
    "DeleteNetworkInterface",
    "DescribeNetworkInterfaces",
    "DescribeSecurityGroups",
    "DescribeSubnets",
    "DescribeVpcAttribute",
)
_TAGGED = {"ForAllValues:StringEquals": {"aws:TagKeys": ["aws-glue-service-resource"]}}
_GLUE_SERVICE_ROLE = _document(
    _statement(
        [
            "glue:*",
            *(f"s3:{name}" for name in ("GetBucketLocation", "ListBucket", "ListAllMyBuckets", "GetBucketAcl")),
            *(f"ec2:{name}" for name in _NETWORK),
            *(f"iam:{name}" for name in ("ListRolePolicies", "GetRole", "GetRolePolicy")),
            "cloudwatch:PutMetricData",
        ],
        ["*"],
    ),
    _statement(["s3:CreateBucket"], ["arn:aws:s3:::aws-glue-*"]),
    _statement(
        ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"], ["arn:aws:s3:::aws-glue-*/*", "arn:aws:s3:::*/*aws-glue-*/*"]
    ),
    _statement(["s3:GetObject"], ["arn:aws:s3:::crawler-public*", "arn:aws:s3:::aws-glue-*"]),
    _statement(["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"], ["arn:aws:logs:*:*:/aws-glue/*"]),
    _statement(
        ["ec2:CreateTags", "ec2:DeleteTags"],
        [f"arn:aws:ec2:*:*:{resource_type}/*" for resource_type in ("network-interface", "security-group", "instance")],
        Condition=_TAGGED,
    ),
)

AWS_MANAGED: Mapping[str, str] = {
    f"arn:aws:iam::aws:policy/{name}": document
    for name, document in {
        "AdministratorAccess": _allow("*"),
        "AmazonS3FullAccess": _allow(["s3:*", "s3-object-lambda:*"]),
        "AmazonS3ReadOnlyAccess": _allow(
            ["s3:Get*", "s3:List*", "s3:Describe*", "s3-object-lambda:Get*", "s3-object-lambda:List*"]
        ),
        "AWSGlueSchemaRegistryFullAccess": _allow([*_READ, *_WRITE]),
        "AWSGlueSchemaRegistryReadonlyAccess": _allow(_READ),
        "IAMFullAccess": _allow("iam:*"),
        "service-role/AWSGlueServiceRole": _GLUE_SERVICE_ROLE,
    }.items()
}
"""The documents by ARN; they cannot be changed."""
