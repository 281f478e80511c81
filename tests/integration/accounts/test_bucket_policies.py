"""Policies of buckets at the S3 endpoint: within an account, from another one, and what callers without one see."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.local.objectstore import ObjectStore
from penstock.local.processes.ports import free_ports
from tests.integration.accounts.accounts_world import Identity, World, allow, policy

OWN, SHARED = "own-bucket", "shared-bucket"


@pytest.fixture(scope="module")
def endpoint(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = world.server
    with ObjectStore(
        lake=server.lake,
        folder=tmp_path_factory.mktemp("s3"),
        port=free_ports(1)[0],
        access_key_id=server.access_key_id,
        secret_access_key=server.secret_access_key,
        home=server.home,
    ) as running:
        s3 = world.producer.client("s3", endpoint_url=running.endpoint_url)
        for bucket in (OWN, SHARED):
            s3.create_bucket(Bucket=bucket)
            s3.put_object(Bucket=bucket, Key="open/a.txt", Body=b"a")
            s3.put_object(Bucket=bucket, Key="closed/b.txt", Body=b"b")
        yield running.endpoint_url


def s3_of(identity: Identity, endpoint: str) -> Any:
    return identity.client("s3", endpoint_url=endpoint)


def refused(code: str, call: Any, **members: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(**members)
    assert caught.value.response["Error"]["Code"] == code
    return str(caught.value.response["Error"]["Message"])


def statement(effect: str, principal: Any, actions: Any, *paths: str, bucket: str = SHARED, **more: Any) -> dict[str, Any]:
    resources = [f"arn:aws:s3:::{bucket}{path}" for path in paths]
    return {"Effect": effect, "Principal": principal, "Action": actions, "Resource": resources, **more}


def user(world: World, name: str, *policies: str, account: Identity | None = None) -> tuple[Identity, str]:
    identity = world.new_user(name, *policies, account=account)
    return identity, identity.client("sts").get_caller_identity()["Arn"]


def test_a_policy_is_put_read_and_deleted(world: World, endpoint: str) -> None:
    s3 = s3_of(world.producer, endpoint)
    text = policy(statement("Deny", "*", "s3:DeleteObject", "/kept/*", bucket=OWN))
    s3.put_bucket_policy(Bucket=OWN, Policy=text)
    assert s3.get_bucket_policy(Bucket=OWN)["Policy"] == text
    assert s3.get_bucket_policy_status(Bucket=OWN)["PolicyStatus"] == {"IsPublic": False}
    # AWS's quota: 20 KB.
    assert "20,480 bytes" in refused("MalformedPolicy", s3.put_bucket_policy, Bucket=OWN, Policy=text + " " * 20_480)
    s3.delete_bucket_policy(Bucket=OWN)
    s3.delete_bucket_policy(Bucket=OWN)
    for read in (s3.get_bucket_policy, s3.get_bucket_policy_status):
        refused("NoSuchBucketPolicy", read, Bucket=OWN)
    s3.put_public_access_block(Bucket=OWN, PublicAccessBlockConfiguration=dict.fromkeys(BLOCKED, True))
    assert "BlockPublicPolicy" in refused(
        "NotImplemented",
        s3.put_public_access_block,
        Bucket=OWN,
        PublicAccessBlockConfiguration={**dict.fromkeys(BLOCKED, True), "BlockPublicPolicy": False},
    )


BLOCKED = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")
ACCOUNT = {"AWS": "111122223333"}


@pytest.mark.parametrize(
    ("found", "code", "says"),
    [
        ("{", "MalformedPolicy", "the document is not JSON"),
        (policy(statement("Allow", ACCOUNT, "glue:GetTable", "/*")), "MalformedPolicy", "'glue:GetTable' is not an action"),
        (
            policy(statement("Allow", ACCOUNT, "s3:GetObject", "-2/*")),
            "MalformedPolicy",
            "neither arn:aws:s3:::shared-bucket",
        ),
        (policy(statement("Deny", {"CanonicalUser": "79a5"}, "s3:*", "/*")), "MalformedPolicy", "names a CanonicalUser"),
        (
            policy(statement("Allow", ACCOUNT, "s3:*", "/*", Condition={"StringEquals": {"s3:ExistingObjectTag/a": "b"}})),
            "MalformedPolicy",
            "reads 's3:ExistingObjectTag/a', which no request has here",
        ),
        (policy(statement("Allow", "*", "s3:GetObject", "/*")), "AccessDenied", "BlockPublicPolicy"),
        (
            policy(statement("Allow", "*", "s3:*", "/*", Condition={"IpAddress": {"aws:SourceIp": "0.0.0.0/1"}})),
            "AccessDenied",
            "BlockPublicPolicy",
        ),
        (
            policy(statement("Allow", {"AWS": "*"}, "s3:*", "/*", Condition={"StringLike": {"aws:PrincipalArn": "*"}})),
            "AccessDenied",
            "BlockPublicPolicy",
        ),
    ],
)
def test_what_no_policy_of_a_bucket_may_say(world: World, endpoint: str, found: str, code: str, says: str) -> None:
    assert says in refused(code, s3_of(world.producer, endpoint).put_bucket_policy, Bucket=SHARED, Policy=found)


def test_a_policy_allows_users_of_its_account_and_denies_them_and_root(world: World, endpoint: str) -> None:
    plain, arn = user(world, "plain")
    s3, root = s3_of(plain, endpoint), s3_of(world.producer, endpoint)
    refused("AccessDenied", s3.get_object, Bucket=OWN, Key="open/a.txt")
    root.put_bucket_policy(
        Bucket=OWN,
        Policy=policy(
            statement("Allow", {"AWS": arn}, ["s3:GetObject", "s3:PutObject"], "/*", bucket=OWN),
            statement("Deny", "*", "s3:GetObject", "/closed/*", bucket=OWN),
            statement(
                "Deny",
                "*",
                "s3:PutObject",
                "/*",
                bucket=OWN,
                Condition={"StringNotEquals": {"s3:x-amz-server-side-encryption": "aws:kms"}},
            ),
            statement("Deny", "*", ["s3:GetBucketPolicy", "s3:DeleteBucketPolicy"], "", bucket=OWN),
        ),
    )
    assert s3.get_object(Bucket=OWN, Key="open/a.txt")["Body"].read() == b"a"
    for caller in (s3, root):
        assert "explicit deny in a resource-based policy" in refused(
            "AccessDenied", caller.get_object, Bucket=OWN, Key="closed/b.txt"
        )
        refused("AccessDenied", caller.put_object, Bucket=OWN, Key="open/c.txt", Body=b"c")
        caller.put_object(Bucket=OWN, Key="open/c.txt", Body=b"c", ServerSideEncryption="aws:kms")
    # The account's root can always take a policy back.
    assert root.get_bucket_policy(Bucket=OWN)["Policy"]
    root.delete_bucket_policy(Bucket=OWN)
    refused("AccessDenied", s3.get_object, Bucket=OWN, Key="open/a.txt")


def test_another_accounts_caller_reads_and_writes_what_policy_and_iam_allow(world: World, endpoint: str) -> None:
    objects = f"arn:aws:s3:::{SHARED}"
    mine = policy(allow("s3:*", [objects, f"{objects}/*"]))
    reader, arn = user(world, "reader", mine, account=world.consumer)
    bare, bare_arn = user(world, "bare", account=world.consumer)
    other, _ = user(world, "other", mine, account=world.consumer)
    s3, root = s3_of(reader, endpoint), s3_of(world.producer, endpoint)
    refused("NoSuchBucket", s3.get_object, Bucket=SHARED, Key="open/a.txt")
    root.put_bucket_policy(
        Bucket=SHARED,
        Policy=policy(
            statement(
                "Allow", {"AWS": [arn, bare_arn]}, ["s3:GetObject", "s3:PutObject", "s3:*BucketPolicy"], "", "/open/*"
            ),
            statement("Allow", {"AWS": arn}, "s3:ListBucket", "", Condition={"StringLike": {"s3:prefix": "open/*"}}),
        ),
    )
    assert s3.get_object(Bucket=SHARED, Key="open/a.txt")["Body"].read() == b"a"
    s3.put_object(Bucket=SHARED, Key="open/theirs.txt", Body=b"theirs", ExpectedBucketOwner=world.server.account)
    assert root.get_object(Bucket=SHARED, Key="open/theirs.txt")["Body"].read() == b"theirs"
    assert [content["Key"] for content in s3.list_objects_v2(Bucket=SHARED, Prefix="open/")["Contents"]] == [
        "open/a.txt",
        "open/theirs.txt",
    ]
    # What it may list, it may know to be missing.
    refused("NoSuchKey", s3.get_object, Bucket=SHARED, Key="open/missing")
    refused("AccessDenied", s3.list_objects_v2, Bucket=SHARED)
    refused("AccessDenied", s3.get_object, Bucket=SHARED, Key="closed/b.txt")
    refused("AccessDenied", s3.delete_object, Bucket=SHARED, Key="open/a.txt")
    refused("NoSuchBucket", s3.get_object, Bucket=SHARED, Key="open/a.txt", ExpectedBucketOwner=world.consumer_account)
    refused("MethodNotAllowed", s3.get_bucket_policy, Bucket=SHARED)
    # IAM of the caller's account has to allow it, too; who is not named sees no more than before.
    refused("AccessDenied", s3_of(bare, endpoint).get_object, Bucket=SHARED, Key="open/a.txt")
    refused("NoSuchBucket", s3_of(other, endpoint).get_object, Bucket=SHARED, Key="open/a.txt")
    refused("NoSuchBucket", s3_of(world.consumer, endpoint).list_objects_v2, Bucket=SHARED)
    assert [bucket["Name"] for bucket in s3_of(world.consumer, endpoint).list_buckets()["Buckets"]] == ["lake"]


def test_a_copy_from_another_accounts_bucket_needs_both_sides(world: World, endpoint: str) -> None:
    account = world.consumer_account
    consumer, root = s3_of(world.consumer, endpoint), s3_of(world.producer, endpoint)
    source = {"Bucket": SHARED, "Key": "open/a.txt"}
    root.delete_bucket_policy(Bucket=SHARED)
    refused("NoSuchBucket", consumer.copy_object, Bucket="lake", Key="copied.txt", CopySource=source)
    root.put_bucket_policy(Bucket=SHARED, Policy=policy(statement("Allow", {"AWS": account}, "s3:GetObject", "/open/*")))
    consumer.copy_object(Bucket="lake", Key="copied.txt", CopySource=source)
    assert consumer.get_object(Bucket="lake", Key="copied.txt")["Body"].read() == b"a"
    closed = {"Bucket": SHARED, "Key": "closed/b.txt"}
    refused("AccessDenied", consumer.copy_object, Bucket="lake", Key="copied.txt", CopySource=closed)
    wrong = {"ExpectedSourceBucketOwner": account}
    refused("NoSuchBucket", consumer.copy_object, Bucket="lake", Key="copied.txt", CopySource=source, **wrong)


def test_a_callers_own_bucket_hides_another_accounts_of_its_name(world: World, endpoint: str) -> None:
    consumer, root = s3_of(world.consumer, endpoint), s3_of(world.producer, endpoint)
    text = policy(statement("Allow", {"AWS": world.consumer_account}, "s3:*", "", "/*", bucket="lake"))
    root.put_bucket_policy(Bucket="lake", Policy=text)
    root.put_object(Bucket="lake", Key="whose.txt", Body=b"the producer's")
    consumer.put_object(Bucket="lake", Key="whose.txt", Body=b"the consumer's")
    asked = {"Bucket": "lake", "Key": "whose.txt"}
    assert consumer.get_object(**asked)["Body"].read() == b"the consumer's"
    theirs = consumer.get_object(**asked, ExpectedBucketOwner=world.server.account)
    assert theirs["Body"].read() == b"the producer's"
    root.delete_bucket_policy(Bucket="lake")
    refused("AccessDenied", consumer.get_object, **asked, ExpectedBucketOwner=world.server.account)


def test_a_bucket_that_is_made_again_has_no_policy(world: World, endpoint: str) -> None:
    s3 = s3_of(world.producer, endpoint)
    text = policy(statement("Deny", "*", "s3:PutObject", "/*", bucket="again"))
    for removed in ("by S3", "by another program"):
        s3.create_bucket(Bucket="again")
        s3.put_bucket_policy(Bucket="again", Policy=text)
        if removed == "by S3":
            s3.delete_bucket(Bucket="again")
        else:
            Path(world.server.lake, "again").rmdir()
        s3.create_bucket(Bucket="again")
        refused("NoSuchBucketPolicy", s3.get_bucket_policy, Bucket="again")
        s3.delete_bucket(Bucket="again")


def test_what_a_policy_denies_sql_does_not_write(world: World, endpoint: str) -> None:
    writer, arn = user(world, "writer", policy(allow(["athena:*", "glue:*", "s3:*"], "*")))
    s3 = s3_of(world.producer, endpoint)
    asked = {"QueryString": "SELECT 1", "ResultConfiguration": {"OutputLocation": f"s3://{OWN}/results/"}}
    athena = writer.client("athena")
    athena.start_query_execution(**asked)
    s3.put_bucket_policy(
        Bucket=OWN, Policy=policy(statement("Deny", {"AWS": arn}, "s3:PutObject", "/results/*", bucket=OWN))
    )
    assert "explicit deny in a resource-based policy" in refused(
        "AccessDeniedException", athena.start_query_execution, **asked
    )
    s3.delete_bucket_policy(Bucket=OWN)
