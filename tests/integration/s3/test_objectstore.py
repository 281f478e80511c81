"""The S3 endpoint over a folder, through boto3 and pyarrow."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
import requests
from botocore.config import Config
from botocore.exceptions import ClientError

from penstock.errors import EnvironmentProblem
from penstock.local.objectstore import ObjectStore


def code_of(error: ClientError) -> str:
    return error.response["Error"]["Code"]


def test_put_get_list_delete(store: ObjectStore, s3: Any) -> None:
    s3.put_object(Bucket="lake", Key="a/b=1/c.txt", Body=b"hello")
    assert (store.lake / "lake/a/b=1/c.txt").read_bytes() == b"hello"
    assert s3.get_object(Bucket="lake", Key="a/b=1/c.txt")["Body"].read() == b"hello"
    listed = s3.list_objects_v2(Bucket="lake", Prefix="a/")["Contents"]
    assert [(item["Key"], item["Size"], item["ETag"]) for item in listed] == [
        ("a/b=1/c.txt", 5, f'"{hashlib.md5(b"hello").hexdigest()}"')
    ]
    assert [
        common_prefix["Prefix"]
        for common_prefix in s3.list_objects_v2(Bucket="lake", Prefix="a/", Delimiter="/")["CommonPrefixes"]
    ] == ["a/b=1/"]
    s3.delete_object(Bucket="lake", Key="a/b=1/c.txt")
    assert "Contents" not in s3.list_objects_v2(Bucket="lake", Prefix="a/")


def test_multipart(s3: Any) -> None:
    upload = s3.create_multipart_upload(Bucket="lake", Key="big")["UploadId"]
    part = b"x" * 5 * 2**20
    parts = [
        {
            "PartNumber": number,
            "ETag": s3.upload_part(Bucket="lake", Key="big", UploadId=upload, PartNumber=number, Body=part)["ETag"],
        }
        for number in (1, 2)
    ]
    s3.complete_multipart_upload(Bucket="lake", Key="big", UploadId=upload, MultipartUpload={"Parts": parts})
    assert s3.head_object(Bucket="lake", Key="big")["ContentLength"] == 2 * len(part)


def test_one_of_many_conditional_puts_wins(s3: Any) -> None:
    def put(number: int) -> str:
        try:
            s3.put_object(Bucket="lake", Key="lease", Body=str(number).encode(), IfNoneMatch="*")
        except ClientError as error:
            return code_of(error)
        return "won"

    with ThreadPoolExecutor(8) as executor:
        outcomes = list(executor.map(put, range(32)))
    assert outcomes.count("won") == 1
    assert set(outcomes) <= {"won", "PreconditionFailed", "ConditionalRequestConflict"}
    assert s3.get_object(Bucket="lake", Key="lease")["Body"].read() == str(outcomes.index("won")).encode()


def test_a_wrong_secret_and_an_unknown_key_are_refused(store: ObjectStore) -> None:
    for key, secret in (("AKIATESTTESTTESTTEST", "wrong"), ("AKIAUNKNOWN", "endpoint-tests-secret")):
        client = boto3.client(
            "s3",
            endpoint_url=store.endpoint_url,
            aws_access_key_id=key,
            aws_secret_access_key=secret,
            region_name="us-east-1",
        )
        with pytest.raises(ClientError) as caught:
            client.put_object(Bucket="lake", Key="x", Body=b"x")
        assert code_of(caught.value) in {"SignatureDoesNotMatch", "InvalidAccessKeyId"}
        client.close()


def test_presigned_urls_of_version_4_work_and_those_of_version_2_are_refused_by_name(store: ObjectStore, s3: Any) -> None:
    s3.put_object(Bucket="lake", Key="presigned/x y.txt", Body=b"hello")
    answers = {}
    for version in ("s3", "s3v4"):
        client = boto3.client(
            "s3",
            endpoint_url=store.endpoint_url,
            region_name="us-east-1",
            aws_access_key_id=store.access_key_id,
            aws_secret_access_key=store.secret_access_key,
            config=Config(signature_version=version),
        )
        url = client.generate_presigned_url("get_object", Params={"Bucket": "lake", "Key": "presigned/x y.txt"})
        client.close()
        answers[version] = requests.get(url, timeout=30)
        assert requests.get(url.replace("x%20y", "other"), timeout=30).status_code in {400, 403}
    assert (answers["s3v4"].status_code, answers["s3v4"].content) == (200, b"hello")
    assert answers["s3"].status_code == 400
    assert "Signature Version 2 is refused" in answers["s3"].text
    assert "signature_version='s3v4'" in answers["s3"].text.replace("&apos;", "'")


def test_a_refused_key_is_a_clear_health_error(store: ObjectStore) -> None:
    other = ObjectStore(
        lake=store.lake, folder=store.folder, port=store.port, access_key_id="AKIAOTHER", secret_access_key="x" * 16
    )
    with pytest.raises(EnvironmentProblem, match=rf"port {store.port} refuses the platform's access key"):
        other.healthy()


def test_large_puts_at_once_are_streamed(store: ObjectStore, s3: Any) -> None:
    s3.put_object(Bucket="lake", Key="huge", Body=bytes(40 * 2**20))
    with ThreadPoolExecutor(8) as executor:
        list(executor.map(lambda n: s3.put_object(Bucket="lake", Key=f"large/{n}", Body=bytes(30 * 2**20)), range(8)))
    assert store.healthy()
    assert s3.head_object(Bucket="lake", Key="huge")["ContentLength"] == 40 * 2**20


def test_files_written_into_the_folder_are_objects_with_etags(store: ObjectStore, s3: Any) -> None:
    table = pa.table({"id": [1, 2, 3]})
    file = store.lake / "lake" / "direct" / "month=1" / "part-0.parquet"
    file.parent.mkdir(parents=True)
    pq.write_table(table, file)
    expected = f'"{hashlib.md5(file.read_bytes()).hexdigest()}"'
    assert s3.list_objects_v2(Bucket="lake", Prefix="direct/")["Contents"][0]["ETag"] == expected
    assert s3.head_object(Bucket="lake", Key="direct/month=1/part-0.parquet")["ETag"] == expected
    got = s3.get_object(Bucket="lake", Key="direct/month=1/part-0.parquet", IfMatch=expected)
    assert got["Body"].read() == file.read_bytes()
    file.write_bytes(b"other")
    assert s3.head_object(Bucket="lake", Key="direct/month=1/part-0.parquet")["ETag"] != expected


def test_pyarrow_reads_and_writes(store: ObjectStore) -> None:
    filesystem = pyarrow.fs.S3FileSystem(
        access_key=store.access_key_id,
        secret_key=store.secret_access_key,
        endpoint_override=store.endpoint_url,
        region=store.region,
    )
    table = pa.table({"id": [1, 2, 3]})
    pq.write_table(table, "lake/arrow/part.parquet", filesystem=filesystem)
    assert pq.read_table(store.lake / "lake/arrow/part.parquet").equals(table)
    assert pq.read_table("lake/arrow/part.parquet", filesystem=filesystem).equals(table)
