"""Decisions on many files: few questions and few decisions where the policies treat a folder alike."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.access.context_keys import Origin
from penstock.access.entities import User
from penstock.access.errors import NotAuthorized
from penstock.api.access_checker import AccessChecker
from penstock.api.aws.authorization.callers_files import CallersFiles
from penstock.lake.locations import LakeFolder
from penstock.lake.permitted import GET_OBJECT, LIST_BUCKET, PermittedFiles, TableKey
from tests.unit.api.aws.test_crawl_access import BEN, NOON
from tests.unit.api.aws.test_policy_authorizer import A
from tests.unit.api.aws.test_policy_authorizer import World as Policies

ALLOWED = {"Effect": "Allow", "Action": "s3:*", "Resource": ["arn:aws:s3:::lake", "arn:aws:s3:::lake/t/*"]}
SECRET = {"Effect": "Deny", "Action": "s3:*", "Resource": "arn:aws:s3:::lake/t/p=7/secret/*"}


class OperationCall:
    """Counts questions to the owner, and the decisions that it makes."""

    def __init__(self, *statements: dict[str, Any]) -> None:
        policies, self.questions, self.decisions = Policies(), 0, 0
        text = json.dumps({"Version": "2012-10-17", "Statement": statements})
        user = User(account=A, name="ben", id="AIDABEN", created=NOON, inline={"p": text})
        policies.store.add_entity(user, "CreateUser", limit=10)
        asked = self

        class Counted(AccessChecker):
            def on_objects(self, *arguments: Any, **named: Any) -> Any:
                asked.decisions += 1
                return super().on_objects(*arguments, **named)

        self._files = CallersFiles(Counted(policies.policies, region="us-east-1"), BEN, Origin(), owner=A, governed=None)

    def check_files(self, action: str, uris: Sequence[str], table: TableKey | None = None, /) -> Sequence[str]:
        self.questions += 1
        return self._files.check(action, uris, table)


def _paths(root: Path) -> list[str]:
    return [f"{root}/lake/t/p={number % 10}/f{number}.parquet" for number in range(20_000)]


@pytest.mark.parametrize(
    ("statements", "questions", "decisions"), [((ALLOWED,), 1, 2), ((ALLOWED, SECRET), 3, 2_012)], ids=["alike", "divided"]
)
def test_many_files_are_few_questions(
    tmp_path: Path, statements: Sequence[dict[str, Any]], questions: int, decisions: int
) -> None:
    asked = OperationCall(*statements)
    PermittedFiles(LakeFolder(tmp_path), asked, ("d", "t")).check(_paths(tmp_path.resolve()))
    assert (asked.questions, asked.decisions) == (questions, decisions)


@pytest.mark.parametrize(
    "uri", ["s3://lake/t/p=7/secret/x", "s3a://lake/t/./p=7//secret/x", "s3://lake/t/p=7/../p=7/secret/x"]
)
def test_each_spelling_of_a_denied_file_is_denied(uri: str) -> None:
    asked = OperationCall(ALLOWED, SECRET)
    asked.check_files(GET_OBJECT, ["s3://lake/t/p=7/x"])
    with pytest.raises(NotAuthorized):
        asked.check_files(GET_OBJECT, [uri])


def test_a_listing_is_decided_by_its_prefix() -> None:
    listing = {**ALLOWED, "Action": "s3:ListBucket", "Condition": {"StringLike": {"s3:prefix": "t/*"}}}
    asked = OperationCall(listing)
    asked.check_files(LIST_BUCKET, ["s3://lake/t/", "s3://lake/t/p=1/"])
    with pytest.raises(NotAuthorized, match="with the prefix 't2/'"):
        asked.check_files(LIST_BUCKET, ["s3://lake/t2/"])


def test_a_file_that_was_replaced_since_is_noticed(tmp_path: Path) -> None:
    files = PermittedFiles(LakeFolder(tmp_path), OperationCall(ALLOWED), ("d", "t"))
    path = tmp_path / "lake" / "t" / "m.avro"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"one")
    times = path.stat()
    files.readable("s3://lake/t/m.avro")
    assert not files.changed()
    (tmp_path / "other").write_bytes(b"one")
    (tmp_path / "other").replace(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert files.changed(), "also if it looks as it did"
