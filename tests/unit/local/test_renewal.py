"""The thread that renews the platform's certificates lives as long as the platform, whatever a look finds."""

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.local import platform as module
from penstock.local.platform import Platform
from penstock.settings.home import Home, PlatformConfig


class _Tls:
    """Files that cannot be read at the first look."""

    certificate = Path("server.crt")

    def __init__(self) -> None:
        self.looks = 0
        self.stop: Callable[[], None] = lambda: None

    def refresh(self) -> bool:
        self.looks += 1
        if self.looks == 1:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
        self.stop()
        return False


def test_a_failed_check_is_reported_and_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RENEW_PAUSE", 0.01)
    reported: list[str] = []
    platform = Platform(Home(tmp_path), PlatformConfig.generate(), report=reported.append)
    tls = _Tls()
    tls.stop = platform.request_stop
    platform._renew(tls)  # type: ignore[arg-type]
    assert tls.looks == 2
    assert len(reported) == 1
    assert "invalid start byte" in reported[0]
