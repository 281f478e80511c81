"""A store that others wrote, as tests use it."""

import contextlib
from collections.abc import Iterator

import psutil
import pytest
from botocore.exceptions import ClientError

from penstock.testing.stores import S3Store


def test_the_store_keeps_an_object_for_its_key_and_refuses_another(s3_store: S3Store) -> None:
    client = s3_store.client()
    client.put_object(Bucket=s3_store.bucket, Key="a/b", Body=b"text")
    assert client.get_object(Bucket=s3_store.bucket, Key="a/b")["Body"].read() == b"text"
    stranger = s3_store.client(aws_secret_access_key="another")
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        stranger.get_object(Bucket=s3_store.bucket, Key="a/b")
    client.delete_object(Bucket=s3_store.bucket, Key="a/b")


def test_the_secret_is_not_in_the_store_s_text_nor_on_its_command_line(s3_store: S3Store) -> None:
    assert s3_store.secret_access_key not in repr(s3_store)
    assert list(running_command_lines()), "the store's own is one"
    assert all(s3_store.secret_access_key not in command_line for command_line in running_command_lines())


def running_command_lines() -> Iterator[str]:
    for child in psutil.Process().children(recursive=True):
        # One may end meanwhile, and is a zombie then, or gone.
        with contextlib.suppress(psutil.NoSuchProcess):
            yield " ".join(child.cmdline())
