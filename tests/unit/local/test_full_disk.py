"""A running platform continues if its state file and its log cannot be written any more."""

import errno
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.platform import up
from penstock.errors import EnvironmentProblem
from penstock.local.platform import Platform
from penstock.settings.home import Home, PlatformConfig


def _full(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_the_state_file_has_to_be_written_at_the_start_and_may_grow_old_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = Platform(Home(tmp_path), PlatformConfig.generate())
    platform._instance.acquire()
    try:
        monkeypatch.setattr("penstock.local.instance.write_private", _full)
        with pytest.raises(OSError, match="No space left"):
            platform._write_state()
        platform._phase = "running"
        platform._write_state()
    finally:
        platform._instance.release()


def test_a_line_that_cannot_be_printed_does_not_end_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.echo", _full)
    up._report("Kafka broker ready after 2.0 s")


def test_a_detached_start_that_ends_without_a_message_is_reported(tmp_path: Path) -> None:
    log = tmp_path / "platform.log"
    log.write_text("said by the platform before\n")

    class Ended:
        def poll(self) -> int:
            return 1

    with pytest.raises(EnvironmentProblem, match=r"status 1, without a message in .*platform\.log.*disk is not full"):
        up._follow(Ended(), log, log.stat().st_size)  # type: ignore[arg-type]
