"""The limits of uploads in progress, and the files that a killed process leaves."""

import os
from pathlib import Path

import pytest

from penstock.lake.objects import uploads as module
from penstock.lake.objects.attributes import Attributes
from penstock.lake.objects.errors import S3Error
from penstock.lake.objects.store import LakeStore
from penstock.lake.objects.uploads import Upload, Uploads

LONG_AGO = 1_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> LakeStore:
    made = LakeStore(tmp_path)
    made.create_bucket("bucket")
    return made


def begin(uploads: Uploads, key: str = "key") -> Upload:
    return uploads.create(Upload(id="", bucket="bucket", key=key, initiated=1.0, attributes=Attributes()))


def test_the_number_of_uploads_is_limited(store: LakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_UPLOADS", 2)
    uploads = Uploads(store)
    first = begin(uploads)
    begin(uploads)
    with pytest.raises(S3Error) as caught:
        begin(uploads)
    assert caught.value.code == "TooManyUploads"
    uploads.abort(first)
    begin(uploads)


def test_an_upload_without_activity_for_a_week_is_deleted(store: LakeStore) -> None:
    uploads = Uploads(store)
    old, young = begin(uploads, "old"), begin(uploads, "young")
    with store.draft() as draft:
        draft.write(b"x")
        uploads.put_part(old, 1, draft, {})
    os.utime(store.uploads / "bucket" / old.id, (LONG_AGO, LONG_AGO))
    Uploads(store).sweep()
    assert [upload.id for upload in uploads.of_bucket("bucket")] == [young.id]
    assert list(store.drafts.iterdir()) == []
    with pytest.raises(S3Error):
        uploads.get("bucket", "old", old.id)


def test_drafts_of_a_killed_process_are_removed_and_those_of_a_running_one_are_not(store: LakeStore) -> None:
    (store.drafts / "left").write_bytes(b"half")
    os.utime(store.drafts / "left", (LONG_AGO, LONG_AGO))
    with store.draft() as draft:
        LakeStore(store.root)
        assert list(store.drafts.iterdir()) == [draft.path]


def test_an_upload_of_another_key_or_bucket_is_not_found(store: LakeStore) -> None:
    store.create_bucket("other")
    uploads = Uploads(store)
    upload = begin(uploads)
    for bucket, key in (("bucket", "other"), ("other", "key")):
        with pytest.raises(S3Error) as caught:
            uploads.get(bucket, key, upload.id)
        assert caught.value.code == "NoSuchUpload"
