"""ETags of files that did not come through the gateway."""

import hashlib
import os

from penstock.lake import etags
from penstock.lake.etags import etag, tag_file, tag_tree


def test_a_tagged_file_has_its_md5_and_is_left_alone_then(tmp_path):
    file = tmp_path / "part-0.parquet"
    file.write_bytes(b"rows")
    assert etag(file) is None
    assert tag_file(file)
    assert etag(file) == f'"{hashlib.md5(b"rows").hexdigest()}"'
    assert not tag_file(file)


def test_a_file_written_over_in_place_gets_a_new_one(tmp_path):
    file = tmp_path / "part-0.parquet"
    file.write_bytes(b"rows")
    tag_file(file)
    os.utime(file, ns=(1, 1))
    tag_file(file)
    file.write_bytes(b"other rows")
    assert tag_file(file)
    assert etag(file) == f'"{hashlib.md5(b"other rows").hexdigest()}"'


def test_what_the_gateway_tagged_stays(tmp_path):
    file = tmp_path / "big"
    file.write_bytes(b"rows")
    etags._set(file, etags._ETAG, b'"0123-2"')
    assert not tag_file(file)
    assert etag(file) == '"0123-2"'


def test_a_tree_is_tagged_but_not_what_still_grows_or_is_the_gateways(tmp_path):
    old = tmp_path / "lake" / "t" / "month=1" / "old"
    fresh, upload = old.with_name("fresh"), tmp_path / "lake" / ".mpus-1-big-1"
    for file in (old, fresh, upload):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"rows")
    os.utime(old, (1000, 1000))
    assert tag_tree(tmp_path, settled_before=2000) == 1
    assert [etag(file) is not None for file in (old, fresh, upload)] == [True, False, False]
    assert tag_tree(tmp_path) == 1
    assert etag(upload) is None


def test_files_and_folders_that_are_gone_are_no_errors(tmp_path):
    assert not tag_file(tmp_path / "gone")
    assert tag_tree(tmp_path / "gone") == 0
