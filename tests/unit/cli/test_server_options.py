"""What the commands that serve refuse or warn of, both alike."""

from pathlib import Path
from types import ModuleType

import pytest
from click import Command
from click.testing import CliRunner, Result

from penstock.cli.server import serve, serve_s3
from penstock.settings.server import ServerSettings

COMMANDS = [serve, serve_s3]


def run(module: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[Result, list[ServerSettings]]:
    """Run a command up to the point where it would serve."""
    kept: list[ServerSettings] = []
    name = "serve" if module is serve else "serve_s3"
    monkeypatch.setattr(module, name, lambda settings, **_: kept.append(settings))
    command: Command = module.command
    return CliRunner().invoke(command, [*arguments]), kept


@pytest.mark.parametrize("module", COMMANDS)
@pytest.mark.parametrize("account", ["12345678901", "../../../../", "\u0661" * 12])
def test_an_account_has_twelve_digits(module: ModuleType, account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done, kept = run(module, monkeypatch, "--account", account)
    assert (done.exit_code, kept) == (2, [])
    assert "twelve digits" in done.output


@pytest.mark.parametrize("module", COMMANDS)
@pytest.mark.parametrize(("host", "warned"), [("127.0.0.2", False), ("192.0.2.7", True)])
def test_serving_everybody_on_a_network_is_warned_of(
    module: ModuleType, host: str, warned: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done, kept = run(module, monkeypatch, "--no-auth", "--host", host, "--home", str(tmp_path))
    assert [settings.authenticate for settings in kept] == [False]
    assert "everybody who reaches this port" in done.output
    assert ("is not loopback" in done.output) is warned
