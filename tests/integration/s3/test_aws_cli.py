"""The AWS CLI's own commands for S3, as it is installed, with its default settings."""

import os
import subprocess
import sys
from pathlib import Path

from penstock.local.objectstore import ObjectStore


def aws(store: ObjectStore, *arguments: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        [str(Path(sys.executable).with_name("aws")), "s3", *arguments],
        env={
            **inherited,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_ENDPOINT_URL": store.endpoint_url,
            "AWS_ACCESS_KEY_ID": store.access_key_id,
            "AWS_SECRET_ACCESS_KEY": store.secret_access_key,
            "AWS_REGION": store.region,
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_folder_goes_up_is_listed_comes_back_and_is_removed(store: ObjectStore, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "a b").mkdir(parents=True)
    (source / "a b" / "é=1.txt").write_text("hello")
    with (source / "large").open("wb") as file:
        file.truncate(20 * 2**20)
    aws(store, "sync", str(source), "s3://lake/cli/", "--acl", "bucket-owner-full-control", "--sse", "AES256")
    listed = aws(store, "ls", "s3://lake/cli/", "--recursive")
    assert "cli/a b/é=1.txt" in listed
    assert "20971520 cli/large" in listed
    aws(store, "sync", "s3://lake/cli/", str(target))
    assert (target / "a b" / "é=1.txt").read_text() == "hello"
    assert (target / "large").stat().st_size == 20 * 2**20
    aws(store, "mv", "s3://lake/cli/", "s3://lake/moved/", "--recursive")
    aws(store, "rm", "s3://lake/moved/", "--recursive")
    assert not (store.lake / "lake" / "cli").exists()
    assert not (store.lake / "lake" / "moved").exists()
