"""ETags of files that did not come through the S3 endpoint."""

import hashlib
import os
from pathlib import Path

from penstock.lake import etags
from penstock.lake.etags import HASHED_BYTES, current_etag, etag, tag_file


def test_a_tagged_file_has_its_md5_and_does_not_change_again(tmp_path: Path) -> None:
    file = tmp_path / "part-0.parquet"
    file.write_bytes(b"rows")
    assert etag(file) is None
    assert tag_file(file)
    assert etag(file) == f'"{hashlib.md5(b"rows").hexdigest()}"'
    assert not tag_file(file)


def test_a_file_overwritten_in_place_gets_a_new_etag(tmp_path: Path) -> None:
    file = tmp_path / "part-0.parquet"
    file.write_bytes(b"rows")
    tag_file(file)
    os.utime(file, ns=(1, 1))
    tag_file(file)
    file.write_bytes(b"other rows")
    assert tag_file(file)
    assert etag(file) == f'"{hashlib.md5(b"other rows").hexdigest()}"'


def test_the_etag_of_a_multipart_upload_of_s3proxy_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "big"
    file.write_bytes(b"rows")
    etags.set_attribute(file, etags._ETAG, b'"0123-2"')
    assert not tag_file(file)
    assert etag(file) == '"0123-2"' == current_etag(file, file.stat())


def test_a_file_without_an_etag_gets_its_md5_on_the_first_request(tmp_path: Path) -> None:
    file = tmp_path / "part-0.parquet"
    file.write_bytes(b"rows")
    expected = f'"{hashlib.md5(b"rows").hexdigest()}"'
    assert current_etag(file, file.stat()) == expected == etag(file)


def test_a_large_file_is_not_read_for_its_etag(tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as output:
        output.truncate(HASHED_BYTES + 1)
    first = current_etag(file, file.stat())
    assert first == current_etag(file, file.stat())
    assert first.endswith('-2"')
    assert etag(file) is None
    os.utime(file, (1000, 1000))
    assert current_etag(file, file.stat()) != first


def test_missing_files_are_not_errors(tmp_path: Path) -> None:
    assert not tag_file(tmp_path / "gone")
