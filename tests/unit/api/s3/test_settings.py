"""Settings of buckets through boto3, answered in this process: what is stored, what holds anyway, what is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.api.s3.app import S3App
from penstock.api.s3.call import Lake
from penstock.api.s3.work import Work
from penstock.lake.objects.store import LakeStore
from penstock.lake.objects.uploads import Uploads
from tests.unit.api.aws.loopback import loopback_client

NEVER_ENABLED: dict[str, Any] = {}


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[Any]:
    store = LakeStore(tmp_path / "lake")
    store.create_bucket("shop")
    lake = Lake(account="000000000000", store=store, uploads=Uploads(store))
    work = Work(threads=1)
    yield loopback_client("s3", S3App(lambda _: lake, None, work=work, first=lake.account, region="us-east-1"))
    work.close()


def _body(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def _code(call: Any, **arguments: Any) -> tuple[int, str]:
    with pytest.raises(ClientError) as refused:
        call(Bucket="shop", **arguments)
    response: Any = refused.value.response
    return response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]


RULE = {"ID": "uploads", "Status": "Enabled", "Filter": {"Prefix": ""}}
ABORT = {**RULE, "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}}
EXPIRY = {**RULE, "Expiration": {"Days": 30}}
KMS = {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "alias/lake"}}]}
BLOCKED = dict.fromkeys(("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), True)
LIFECYCLE = {"Rules": [ABORT, {**EXPIRY, "ID": "off", "Status": "Disabled"}]}
# put, its document, get, what it answers then, delete, what get answers after that
STORED = [
    (
        *("put_bucket_tagging", {"Tagging": {"TagSet": [{"Key": "täm", "Value": "a b"}]}}),
        *("get_bucket_tagging", {"TagSet": [{"Key": "täm", "Value": "a b"}]}, "delete_bucket_tagging", "NoSuchTagSet"),
    ),
    (
        *("put_bucket_encryption", {"ServerSideEncryptionConfiguration": KMS}),
        *("get_bucket_encryption", {"ServerSideEncryptionConfiguration": KMS}, "delete_bucket_encryption", None),
    ),
    (
        *("put_public_access_block", {"PublicAccessBlockConfiguration": BLOCKED}),
        *("get_public_access_block", {"PublicAccessBlockConfiguration": BLOCKED}),
        *("delete_public_access_block", "NoSuchPublicAccessBlockConfiguration"),
    ),
    (
        *("put_bucket_ownership_controls", {"OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}}),
        *("get_bucket_ownership_controls", {"OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}}),
        *("delete_bucket_ownership_controls", "OwnershipControlsNotFoundError"),
    ),
    (
        *("put_bucket_lifecycle_configuration", {"LifecycleConfiguration": LIFECYCLE}),
        "get_bucket_lifecycle_configuration",
        {**LIFECYCLE, "TransitionDefaultMinimumObjectSize": "all_storage_classes_128K"},
        *("delete_bucket_lifecycle", "NoSuchLifecycleConfiguration"),
    ),
]


@pytest.mark.parametrize("case", STORED, ids=lambda item: str(item[0]))
def test_a_setting_is_stored_answered_and_removed(s3: Any, case: tuple[Any, ...]) -> None:
    put, document, get, found, delete, gone = case
    getattr(s3, put)(Bucket="shop", **document)
    assert _body(getattr(s3, get)(Bucket="shop")) == found
    getattr(s3, delete)(Bucket="shop")
    if gone is None:
        assert _body(getattr(s3, get)(Bucket="shop")) != found
    else:
        assert _code(getattr(s3, get))[1] == gone
    getattr(s3, put)(Bucket="shop", **document)
    s3.delete_bucket(Bucket="shop")
    assert _code(getattr(s3, get)) == (404, "NoSuchBucket")
    s3.create_bucket(Bucket="shop")
    if gone in {"NoSuchTagSet", "NoSuchLifecycleConfiguration"}:
        assert _code(getattr(s3, get))[1] == gone


def test_values_that_hold_anyway_are_taken(s3: Any) -> None:
    s3.put_bucket_versioning(Bucket="shop", VersioningConfiguration={"MFADelete": "Disabled"})
    assert _body(s3.get_bucket_versioning(Bucket="shop")) == NEVER_ENABLED
    s3.put_bucket_accelerate_configuration(Bucket="shop", AccelerateConfiguration={"Status": "Suspended"})
    s3.put_bucket_request_payment(Bucket="shop", RequestPaymentConfiguration={"Payer": "BucketOwner"})
    s3.put_bucket_notification_configuration(Bucket="shop", NotificationConfiguration={})
    s3.put_bucket_logging(Bucket="shop", BucketLoggingStatus={})
    assert s3.get_bucket_request_payment(Bucket="shop")["Payer"] == "BucketOwner"
    for delete in (s3.delete_bucket_cors, s3.delete_bucket_website, s3.delete_bucket_replication):
        delete(Bucket="shop")


ORIGINS = {"CORSRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*"]}]}
TARGET = {"TargetBucket": "logs", "TargetPrefix": ""}
OWNERS = {"Rules": [{"ObjectOwnership": "ObjectWriter"}]}
MANY_TAGS = [{"Key": str(number), "Value": ""} for number in range(51)]
TOPIC = {"TopicArn": "arn:aws:sns:us-east-1:000000000000:t", "Events": ["s3:ObjectCreated:*"]}


@pytest.mark.parametrize(
    ("operation", "document", "status", "code"),
    [
        ("put_bucket_versioning", {"VersioningConfiguration": {"Status": "Enabled"}}, 501, "NotImplemented"),
        ("put_bucket_versioning", {"VersioningConfiguration": {"Status": "Suspended"}}, 501, "NotImplemented"),
        ("put_bucket_versioning", {"VersioningConfiguration": {"Status": "On"}}, 400, "MalformedXML"),
        ("put_bucket_ownership_controls", {"OwnershipControls": OWNERS}, 501, "NotImplemented"),
        ("put_bucket_lifecycle_configuration", {"LifecycleConfiguration": {"Rules": [EXPIRY]}}, 501, "NotImplemented"),
        ("put_bucket_lifecycle_configuration", {"LifecycleConfiguration": {"Rules": []}}, 400, "MalformedXML"),
        ("put_bucket_cors", {"CORSConfiguration": ORIGINS}, 501, "NotImplemented"),
        ("put_bucket_logging", {"BucketLoggingStatus": {"LoggingEnabled": TARGET}}, 501, "NotImplemented"),
        ("put_bucket_website", {"WebsiteConfiguration": {"IndexDocument": {"Suffix": "i"}}}, 501, "NotImplemented"),
        ("put_bucket_accelerate_configuration", {"AccelerateConfiguration": {"Status": "Enabled"}}, 501, "NotImplemented"),
        ("put_bucket_request_payment", {"RequestPaymentConfiguration": {"Payer": "Requester"}}, 501, "NotImplemented"),
        ("put_public_access_block", {"PublicAccessBlockConfiguration": {}}, 501, "NotImplemented"),
        ("put_bucket_encryption", {"ServerSideEncryptionConfiguration": {"Rules": []}}, 400, "MalformedXML"),
        ("put_bucket_tagging", {"Tagging": {"TagSet": [{"Key": "aws:a", "Value": ""}]}}, 400, "InvalidTag"),
        ("put_bucket_tagging", {"Tagging": {"TagSet": MANY_TAGS}}, 400, "InvalidTag"),
        ("put_bucket_acl", {"ACL": "private"}, 400, "AccessControlListNotSupported"),
        (
            *("put_bucket_notification_configuration", {"NotificationConfiguration": {"TopicConfigurations": [TOPIC]}}),
            *(501, "NotImplemented"),
        ),
        (
            *("put_bucket_notification_configuration", {"NotificationConfiguration": {"EventBridgeConfiguration": {}}}),
            *(501, "NotImplemented"),
        ),
        ("list_bucket_inventory_configurations", {}, 501, "NotImplemented"),
    ],
)  # fmt: skip
def test_settings_without_an_effect_here_are_refused(
    s3: Any, operation: str, document: dict[str, Any], status: int, code: str
) -> None:
    assert _code(getattr(s3, operation), **document) == (status, code)


# What Terraform's aws_s3_bucket reads after it made one: internal/service/s3/bucket.go of its provider.
READ_BY_TERRAFORM = [
    ("get_bucket_policy", "NoSuchBucketPolicy"),
    ("get_bucket_acl", None),
    ("get_bucket_cors", "NoSuchCORSConfiguration"),
    ("get_bucket_website", "NoSuchWebsiteConfiguration"),
    ("get_bucket_versioning", None),
    ("get_bucket_accelerate_configuration", None),
    ("get_bucket_request_payment", None),
    ("get_bucket_logging", None),
    ("get_bucket_lifecycle_configuration", "NoSuchLifecycleConfiguration"),
    ("get_bucket_replication", "ReplicationConfigurationNotFoundError"),
    ("get_bucket_encryption", None),
    ("get_object_lock_configuration", "ObjectLockConfigurationNotFoundError"),
    ("get_bucket_location", None),
    ("get_bucket_tagging", "NoSuchTagSet"),
    ("get_bucket_notification_configuration", None),
    ("get_public_access_block", None),
    ("get_bucket_ownership_controls", None),
]


@pytest.mark.parametrize(("operation", "code"), READ_BY_TERRAFORM)
def test_a_new_bucket_answers_all_that_terraform_reads(s3: Any, operation: str, code: str | None) -> None:
    if code is None:
        getattr(s3, operation)(Bucket="shop")
    else:
        assert _code(getattr(s3, operation)) == (404, code)
