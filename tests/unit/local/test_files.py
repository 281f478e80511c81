"""Small private files on a full disk: errors name the file."""

import errno
from pathlib import Path
from typing import Any

import pytest

from penstock.local.files import write_private
from penstock.settings.home import Home, PlatformConfig


def _full(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_the_error_of_a_full_disk_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fdopen", _full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_private(tmp_path / "state", "text")
    assert caught.value.filename == str(tmp_path / "state")


def test_a_configuration_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fdopen", _full)
    home = Home(tmp_path / "home")
    with pytest.raises(OSError, match="No space left") as caught:
        home.save(PlatformConfig.generate())
    assert caught.value.filename == str(home.config_file)
    assert list(home.root.iterdir()) == []
