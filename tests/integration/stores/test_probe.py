"""``penstock lake probe`` on a store that others wrote, and on one that has less than it says."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from penstock.lake.probe import CHECKS, Finding, probe
from penstock.testing.stores import S3Store

NEEDED = {"upload", "uploads-listed", "completed-twice", "order", "start-after", "ranges", "delete-many", "copy"}
"""What each store of the table in docs/lake/object-stores.md has; a lake relies on nothing more."""


@pytest.fixture(scope="module")
def findings(s3_store: S3Store) -> dict[str, Finding]:
    return {finding.name: finding for finding in probe(s3_store.client(), s3_store.bucket, "some/prefix/")}


def test_a_store_has_what_a_lake_relies_on(findings: dict[str, Finding]) -> None:
    assert [name for name in sorted(NEEDED) if not findings[name].holds] == []
    assert list(findings) == [check.name for check in CHECKS]


def test_nothing_is_left_behind(findings: dict[str, Finding], s3_store: S3Store) -> None:
    del findings
    client = s3_store.client()
    assert "Contents" not in client.list_objects_v2(Bucket=s3_store.bucket, Prefix="some/")
    assert "Uploads" not in client.list_multipart_uploads(Bucket=s3_store.bucket, Prefix="some/")


def test_a_store_that_ignores_a_condition_is_seen_through(s3_store: S3Store) -> None:
    client = s3_store.client()

    def without(params: dict[str, Any], **_: Any) -> None:
        params["headers"].pop("If-None-Match", None)
        params["headers"].pop("If-Match", None)

    client.meta.events.register("before-call.s3", without)
    holds = {finding.name: finding.holds for finding in probe(client, s3_store.bucket)}
    conditional = {"create", "create-race", "replace", "replace-race", "upload-create"}
    assert {name for name in conditional if holds[name]} == set()
    assert all(holds[name] for name in NEEDED)


def _command(store: S3Store, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return subprocess.run(
        [sys.executable, "-m", "penstock", "lake", "probe", *arguments],
        env=environment | store.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_command_prints_a_line_for_each_property(s3_store: S3Store) -> None:
    done = _command(s3_store, f"s3://{s3_store.bucket}/some", "--json")
    assert done.returncode == 0, done.stderr
    assert [finding["name"] for finding in json.loads(done.stdout)] == [check.name for check in CHECKS]


def test_a_bucket_that_does_not_exist_is_an_error_in_one_line(s3_store: S3Store) -> None:
    done = _command(s3_store, "s3://nowhere/")
    assert done.returncode != 0
    assert "s3://nowhere/" in done.stderr
    assert "bucket does not exist" in done.stderr
    assert "Traceback" not in done.stderr
