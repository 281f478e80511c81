"""The files in memory, on which the ledger's tests rest, behave as every file system does."""

import pytest

from penstock.lake.files import FileSystem, MemoryFiles
from penstock.testing.suites import FileSystemSuite


class TestMemoryFiles(FileSystemSuite):
    @pytest.fixture
    def files(self) -> FileSystem:
        return MemoryFiles()

    @pytest.fixture
    def root(self) -> str:
        return "s3://lake/folder"
