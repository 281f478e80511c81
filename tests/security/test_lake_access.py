"""The lake can be read and written only with a signature and by policies, through S3 and on the machine."""

import hashlib
import http.client
import json
import os
import re
import socket
import stat
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
import requests
from botocore.exceptions import ClientError

from penstock.local.platform import Platform
from penstock.testing.polling import eventually
from tests.security.lake_requests import client_of, send, signed


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/lake"),
        ("GET", "/lake?list-type=2"),
        ("GET", "/lake/secret.txt"),
        ("HEAD", "/lake/secret.txt"),
        ("HEAD", "/lake"),
        ("PUT", "/lake/planted.txt"),
        ("PUT", "/planted"),
        ("POST", "/lake/planted.txt?uploads"),
        ("POST", "/lake?delete"),
        ("DELETE", "/lake/secret.txt"),
    ],
)
def test_without_a_signature_nothing_is_answered(platform: Platform, s3: Any, method: str, path: str) -> None:
    answer = requests.request(
        method, platform.config.s3_endpoint_url + path, data=b"x" if method == "PUT" else b"", timeout=30
    )
    assert answer.status_code == 403
    assert b"secret" not in answer.content.replace(b"/lake/secret.txt", b"")
    assert s3.get_object(Bucket="lake", Key="secret.txt")["Body"].read() == b"secret"
    assert not (platform.home.lake / "lake" / "planted.txt").exists()
    assert not (platform.home.lake / "planted").exists()


def test_anonymous_readers_cannot_read_what_any_writer_wrote(platform: Platform, s3: Any) -> None:
    for key in written_by_all(platform, s3):
        assert requests.get(f"{platform.config.s3_endpoint_url}/lake/{key}", timeout=30).status_code == 403, key


@pytest.mark.parametrize("host", ["attacker.example", "169.254.169.254", "lake.attacker.example"])
def test_a_foreign_host_is_refused(platform: Platform, s3: Any, host: str) -> None:
    prepared = signed(platform, "GET", "/lake/secret.txt", headers={"host": host})
    answer = send(prepared)
    assert (answer.status_code, answer.headers["content-type"]) == (421, "application/xml")
    assert "--allowed-host" in answer.text
    assert b"secret" not in answer.content.replace(b"secret.txt", b"")


@pytest.mark.parametrize(
    "path",
    [
        "/lake/../secret",
        "/lake/a/../../../../platform.json",
        "/lake/%2e%2e/%2e%2e/platform.json",
        "/lake/..%2fplatform.json",
        "/../platform.json",
        "/.penstock-s3/drafts",
        "/.penstock-s3/uploads/x",
        "/lake//etc/passwd",
        "/lake/a%00b",
        "/lake/" + "n" * 300,
        "/lake/" + "d/" * 600 + "x",
        "/lake/%ff%fe",
    ],
)
def test_no_key_leads_out_of_a_bucket(platform: Platform, s3: Any, path: str) -> None:
    parts = urlsplit(platform.config.s3_endpoint_url)
    for method in ("GET", "PUT", "DELETE"):
        prepared = signed(platform, method, path)
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port or 0, timeout=30)
        connection.request(method, path, headers=dict(prepared.headers), body=b"")
        answer = connection.getresponse()
        text = answer.read()
        assert 400 <= answer.status < 500 or (method == "DELETE" and answer.status == 204), (method, text)
        assert platform.config.secret_access_key.encode() not in text
        connection.close()
    assert platform.home.load() == platform.config


def test_a_link_in_a_bucket_leads_nowhere(platform: Platform, s3: Any) -> None:
    bucket = platform.home.lake / "lake"
    (bucket / "link").symlink_to(platform.home.config_file)
    (bucket / "folder").symlink_to(platform.home.root)
    try:
        for key in ("link", "folder/platform.json"):
            with pytest.raises(ClientError, match="NoSuchKey"):
                s3.get_object(Bucket="lake", Key=key)
        keys = [content["Key"] for content in s3.list_objects_v2(Bucket="lake")["Contents"]]
        assert not [key for key in keys if key.startswith(("link", "folder"))]
        with pytest.raises(ClientError):
            s3.put_object(Bucket="lake", Key="folder/planted", Body=b"x")
        assert not (platform.home.root / "planted").exists()
    finally:
        (bucket / "link").unlink()
        (bucket / "folder").unlink()


def test_wrong_secrets_and_large_uploads_do_not_end_the_endpoint(platform: Platform, s3: Any) -> None:
    """Issue 9's flood: uploads of 16 x 31 MB at once, signed rightly and wrongly, and none of them costs a restart."""
    body = os.urandom(1024) * 31 * 1024
    wrong = client_of(platform, secret_access_key="not-the-secret-of-this-key")

    def put(number: int) -> str:
        try:
            (s3 if number < 16 else wrong).put_object(Bucket="lake", Key=f"flood/{number}", Body=body)
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return "stored"

    before = {part.name: (part.pid, part.restarts) for part in platform.state.parts}
    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(put, range(32)))
    wrong.close()
    assert outcomes == ["stored"] * 16 + ["SignatureDoesNotMatch"] * 16
    assert {part.name: (part.pid, part.restarts) for part in platform.state.parts} == before
    expected = hashlib.md5(body).hexdigest()
    for number in range(16):
        file = platform.home.lake / "lake" / "flood" / str(number)
        with file.open("rb") as stored:
            assert hashlib.file_digest(stored, "md5").hexdigest() == expected
        s3.delete_object(Bucket="lake", Key=f"flood/{number}")


def written_by_all(platform: Platform, s3: Any) -> list[str]:
    """Keys of files that S3, SQL and a crawler's table wrote into the lake."""
    s3.put_object(Bucket="lake", Key="modes/s3/put.txt", Body=b"x")
    upload = s3.create_multipart_upload(Bucket="lake", Key="modes/s3/multipart")["UploadId"]
    part = s3.upload_part(Bucket="lake", Key="modes/s3/multipart", UploadId=upload, PartNumber=1, Body=b"x")["ETag"]
    parts = {"Parts": [{"PartNumber": 1, "ETag": part}]}
    s3.complete_multipart_upload(Bucket="lake", Key="modes/s3/multipart", UploadId=upload, MultipartUpload=parts)
    s3.copy_object(Bucket="lake", Key="modes/s3/copy.txt", CopySource="lake/modes/s3/put.txt")
    athena = client_of(platform, "athena")
    location = {"OutputLocation": "s3://lake/modes/sql/"}
    begun = athena.start_query_execution(QueryString="SELECT 1", ResultConfiguration=location)["QueryExecutionId"]
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        execution = athena.get_query_execution(QueryExecutionId=begun)["QueryExecution"]
        if execution["Status"]["State"] not in {"QUEUED", "RUNNING"}:
            break
    assert execution["Status"]["State"] == "SUCCEEDED"
    athena.close()
    listed = s3.list_objects_v2(Bucket="lake", Prefix="modes/")["Contents"]
    assert len(listed) >= 4
    return [item["Key"] for item in listed]


def test_nothing_in_the_home_is_open_to_other_users(platform: Platform, s3: Any) -> None:
    written_by_all(platform, s3)
    client_of(platform, "organizations").create_account(AccountName="modes", Email="modes@example.com")
    opened = []
    for folder, folders, files in os.walk(platform.home.root):
        for name in (".", *folders, *files):
            path = Path(folder) / name
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode) and stat.S_IMODE(mode) & 0o077:
                opened.append((str(path.relative_to(platform.home.root)), oct(stat.S_IMODE(mode))))
    assert opened == []


def test_an_iam_user_does_what_its_policy_says(platform: Platform, s3: Any) -> None:
    iam = client_of(platform, "iam")
    iam.create_user(UserName="reader")
    key = iam.create_access_key(UserName="reader")["AccessKey"]
    allowed = (
        '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::lake/open/*"},'
        '{"Effect":"Allow","Action":"s3:ListBucket","Resource":"arn:aws:s3:::lake",'
        '"Condition":{"StringLike":{"s3:prefix":"open/*"}}}]}'
    )
    iam.put_user_policy(UserName="reader", PolicyName="read", PolicyDocument=allowed)
    iam.close()
    s3.put_object(Bucket="lake", Key="open/a", Body=b"a")
    reader = client_of(platform, access_key_id=key["AccessKeyId"], secret_access_key=key["SecretAccessKey"])
    assert reader.get_object(Bucket="lake", Key="open/a")["Body"].read() == b"a"
    assert [content["Key"] for content in reader.list_objects_v2(Bucket="lake", Prefix="open/")["Contents"]] == ["open/a"]
    refused = [
        lambda: reader.get_object(Bucket="lake", Key="secret.txt"),
        lambda: reader.get_object(Bucket="lake", Key="missing"),
        lambda: reader.list_objects_v2(Bucket="lake"),
        lambda: reader.put_object(Bucket="lake", Key="open/b", Body=b"b"),
        lambda: reader.delete_object(Bucket="lake", Key="open/a"),
        lambda: reader.copy_object(Bucket="lake", Key="open/b", CopySource="lake/open/a"),
        lambda: reader.create_multipart_upload(Bucket="lake", Key="open/b"),
        lambda: reader.put_object_tagging(Bucket="lake", Key="open/a", Tagging={"TagSet": []}),
        lambda: reader.create_bucket(Bucket="mine"),
        reader.list_buckets,
    ]
    for call in refused:
        with pytest.raises(ClientError, match="AccessDenied"):
            call()
    answer = reader.delete_objects(Bucket="lake", Delete={"Objects": [{"Key": "open/a"}]})
    assert [error["Code"] for error in answer["Errors"]] == ["AccessDenied"]
    assert s3.get_object(Bucket="lake", Key="open/a")["Body"].read() == b"a"
    reader.close()


def test_an_account_reaches_only_its_own_lake(platform: Platform, s3: Any) -> None:
    status = client_of(platform, "organizations").create_account(AccountName="other", Email="other@example.com")
    account = status["CreateAccountStatus"]["AccountId"]
    role = f"arn:aws:iam::{account}:role/OrganizationAccountAccessRole"
    keys = client_of(platform, "sts").assume_role(RoleArn=role, RoleSessionName="s3")["Credentials"]
    config = platform.config
    other = boto3.client(
        "s3",
        endpoint_url=config.s3_endpoint_url,
        region_name=config.region,
        aws_access_key_id=keys["AccessKeyId"],
        aws_secret_access_key=keys["SecretAccessKey"],
        aws_session_token=keys["SessionToken"],
    )
    assert "Contents" not in other.list_objects_v2(Bucket="lake")
    other.put_object(Bucket="lake", Key="secret.txt", Body=b"theirs", ExpectedBucketOwner=account)
    assert (platform.home.account_lakes / account / "lake" / "secret.txt").read_bytes() == b"theirs"
    assert s3.get_object(Bucket="lake", Key="secret.txt")["Body"].read() == b"secret"
    with pytest.raises(ClientError, match="AccessDenied"):
        other.get_object(Bucket="lake", Key="secret.txt", ExpectedBucketOwner=config.account)
    wrong = boto3.client(
        "s3",
        endpoint_url=config.s3_endpoint_url,
        region_name=config.region,
        aws_access_key_id=keys["AccessKeyId"],
        aws_secret_access_key=keys["SecretAccessKey"],
        aws_session_token=keys["SessionToken"][:-4] + "AAAA",
    )
    with pytest.raises(ClientError, match="InvalidToken"):
        wrong.list_buckets()
    other.close()
    wrong.close()


def test_failed_logins_are_bounded_and_do_not_lock_out_a_key_that_succeeded(platform: Platform) -> None:
    """From a separate address, so that the platform's other tests are not refused."""
    here = ("127.0.0.9", 0)
    parts = urlsplit(platform.config.s3_endpoint_url)
    owner = signed(platform, "GET", "/lake?list-type=2&max-keys=1")

    def owns() -> int:
        connection = http.client.HTTPConnection(parts.netloc, source_address=here, timeout=30)
        connection.request("GET", "/lake?list-type=2&max-keys=1", headers=dict(owner.headers))
        status = connection.getresponse().status
        connection.close()
        return status

    assert owns() == 200
    guess = f"GET /lake/secret.txt HTTP/1.1\r\nHost: {parts.netloc}\r\n".encode()
    with socket.create_connection((parts.hostname, parts.port), timeout=600, source_address=here) as guessing:
        guessing.sendall((guess + b"\r\n") * 599 + guess + b"Connection: close\r\n\r\n")
        answers = b""
        while received := guessing.recv(65536):
            answers += received
    assert {int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", answers)} == {403, 503}
    assert b"<Code>SlowDown</Code>" in answers
    assert owns() == 200


def test_objects_that_a_batch_may_not_delete_are_recorded(platform: Platform, s3: Any) -> None:
    s3.put_object(Bucket="lake", Key="batch/kept.txt", Body=b"kept")
    iam = client_of(platform, "iam")
    name = f"batch-{uuid.uuid4().hex[:8]}"
    iam.create_user(UserName=name)
    deny = {"Effect": "Deny", "Action": "s3:DeleteObject", "Resource": "arn:aws:s3:::lake/batch/*"}
    document = json.dumps(
        {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}, deny]}
    )
    iam.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=document)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    user = client_of(platform, access_key_id=key["AccessKeyId"], secret_access_key=key["SecretAccessKey"])
    answer = user.delete_objects(Bucket="lake", Delete={"Objects": [{"Key": "batch/kept.txt"}, {"Key": "missing.txt"}]})
    assert [error["Code"] for error in answer["Errors"]] == ["AccessDenied"]

    def recorded() -> list[tuple[str, list[str]]]:
        lines = [
            line for file in (platform.home.root / "audit").glob("*.jsonl") for line in file.read_bytes().split(b"\n")[:-1]
        ]
        records = [json.loads(line) for line in lines if name.encode() in line]
        return [
            (record["additionalEventData"]["decision"], [resource["ARN"] for resource in record["resources"]])
            for record in records
            if record["eventName"] == "DeleteObjects"
        ]

    eventually(lambda: len(recorded()) == 2, "the records of the batch", 15)
    assert sorted(recorded()) == [("allowed", ["arn:aws:s3:::lake"]), ("denied", ["arn:aws:s3:::lake/batch/kept.txt"])]
