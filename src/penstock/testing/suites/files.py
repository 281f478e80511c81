"""The behaviour of every :class:`~penstock.lake.files.FileSystem`."""

import pytest

from penstock.lake.files import FileSystem

__all__ = ["FileSystemSuite"]


class FileSystemSuite:
    """Fixture ``files`` is a :class:`~penstock.lake.files.FileSystem`; fixture ``root`` is a folder's path without files.

    A folder without files may be there or not: callers ask for what is in it.
    """

    def test_a_file_is_read_as_it_was_written_last(self, files: FileSystem, root: str) -> None:
        files.write(f"{root}/a/file", b"first")
        files.write(f"{root}/a/file", b"\x00\xff second")
        assert files.read(f"{root}/a/file") == b"\x00\xff second"
        files.write(f"{root}/a/empty", b"")
        assert files.read(f"{root}/a/empty") == b""

    def test_the_tail_of_a_file_is_its_last_bytes(self, files: FileSystem, root: str) -> None:
        files.write(f"{root}/file", b"0123456789")
        assert files.tail(f"{root}/file", 4) == b"6789"
        assert files.tail(f"{root}/file", 100) == b"0123456789"
        with pytest.raises(FileNotFoundError):
            files.tail(f"{root}/missing", 4)

    def test_what_is_missing_is_a_file_not_found(self, files: FileSystem, root: str) -> None:
        with pytest.raises(FileNotFoundError):
            files.read(f"{root}/missing")
        with pytest.raises(FileNotFoundError):
            files.move(f"{root}/missing", f"{root}/target")
        assert not files.exists(f"{root}/missing")
        assert files.names(f"{root}/missing") == []
        assert files.walk(f"{root}/missing") == {}
        files.delete(f"{root}/missing")

    def test_names_are_those_directly_in_a_folder(self, files: FileSystem, root: str) -> None:
        for name in ("b", "a/one", "a/deep/two", "a b=c/three", ".hidden"):
            files.write(f"{root}/{name}", b"x")
        assert files.names(root) == [".hidden", "a", "a b=c", "b"]
        assert files.names(f"{root}/a") == ["deep", "one"]
        assert files.exists(f"{root}/a")
        assert files.exists(f"{root}/a/one")

    def test_a_walk_finds_all_files_below_with_their_sizes(self, files: FileSystem, root: str) -> None:
        for name, size in (("a/one", 1), ("a/deep/two", 20), ("a b=c/three", 0), ("b", 3)):
            files.write(f"{root}/{name}", bytes(size))
        walked = files.walk(root)
        assert walked == {f"{root}/a b=c/three": 0, f"{root}/a/deep/two": 20, f"{root}/a/one": 1, f"{root}/b": 3}
        assert list(walked) == sorted(walked)
        assert files.walk(f"{root}/a/deep") == {f"{root}/a/deep/two": 20}

    def test_a_file_is_moved_into_a_new_folder_or_over_another_file(self, files: FileSystem, root: str) -> None:
        files.write(f"{root}/a", b"first")
        files.move(f"{root}/a", f"{root}/new/folder/a")
        assert not files.exists(f"{root}/a")
        files.write(f"{root}/b", b"second")
        files.move(f"{root}/b", f"{root}/new/folder/a")
        assert files.read(f"{root}/new/folder/a") == b"second"
        assert files.walk(root) == {f"{root}/new/folder/a": 6}

    def test_a_file_or_a_folder_is_deleted_and_nothing_beside_it(self, files: FileSystem, root: str) -> None:
        for name in ("a/one", "a/deep/two", "ab", "b"):
            files.write(f"{root}/{name}", b"x")
        files.delete(f"{root}/b")
        files.delete(f"{root}/a")
        assert files.walk(root) == {f"{root}/ab": 1}

    def test_files_and_folders_are_synced_and_missing_ones_passed_over(self, files: FileSystem, root: str) -> None:
        files.write(f"{root}/a/one", b"x")
        files.move(f"{root}/a/one", f"{root}/b/two")
        files.sync([f"{root}/b/two", f"{root}/b", f"{root}/a/one", f"{root}/missing"], below=root)
        assert files.read(f"{root}/b/two") == b"x"
