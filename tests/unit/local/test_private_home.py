"""What Penstock writes is for its owner alone, and what an earlier release left open is closed."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.errors import EnvironmentProblem
from penstock.local.processes.child import Child, Service
from penstock.settings.home import Home


def modes(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): oct(stat.S_IMODE(path.lstat().st_mode)) for path in [root, *sorted(root.rglob("*"))]
    }


def test_an_open_home_is_closed(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    for file in (
        "lake/lake/t/day=1/part.parquet",
        "lake/other/x",
        "lakes/111122223333/lake/y",
        "store/penstock.db",
        "kafka/data/log",
        "logs/s3.log",
        "run/platform.lock",
        "audit/2026/log",
        "platform.json",
    ):
        path = home.root / file
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        path.write_text("x")
        path.chmod(0o644)
    for folder in (home.root, *home.root.rglob("*")):
        # Whatever mask the test runs with.
        folder.chmod(0o755 if folder.is_dir() else 0o644)
    outside = tmp_path / "outside"
    outside.write_text("x")
    outside.chmod(0o644)
    (home.lake / "lake" / "link").symlink_to(outside)
    (home.root / "kafka" / "data" / "run.sh").write_text("x")
    (home.root / "kafka" / "data" / "run.sh").chmod(0o755)
    home.make_private()
    results = modes(home.root)
    assert results.pop("kafka/data/run.sh") == "0o700"
    assert results.pop("lake/lake/link") == "0o777"
    assert set(results.values()) == {"0o700", "0o600"}
    assert {name for name, mode in results.items() if mode == "0o600"} == {
        name for name in results if (home.root / name).is_file()
    }
    assert oct(stat.S_IMODE(outside.stat().st_mode)) == "0o644"


def test_files_in_closed_folders_are_closed_too(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    files = [home.root / part for part in ("store/penstock.db", "logs/server.log", "run/platform.lock", "kafka/data/x.log")]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text("x")
        file.chmod(0o644)
        file.parent.chmod(0o700)
        (home.root / file.relative_to(home.root).parts[0]).chmod(0o700)
    home.make_private()
    assert {oct(stat.S_IMODE(file.stat().st_mode)) for file in files} == {"0o600"}


@pytest.mark.parametrize("part", [".", "platform.json", "master.key", "store", "run"])
def test_a_home_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    home = Home(tmp_path)
    (home.root / part).mkdir(exist_ok=True)
    assert Home.at(tmp_path, {}) == home
    real = Path.stat

    def of_another(path: Path) -> os.stat_result:
        result = real(path)
        return os.stat_result((*result[:4], os.getuid() + 1, *result[5:10])) if path == home.root / part else result

    monkeypatch.setattr(Path, "stat", of_another)
    with pytest.raises(EnvironmentProblem, match=r"belongs to another user \(uid"):
        Home.at(tmp_path, {})
    with pytest.raises(EnvironmentProblem, match=r"belongs to another user \(uid"):
        Home.at(None, {"PENSTOCK_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    "command",
    [
        "up",
        "down",
        "status",
        "env",
        "certificate me",
        "serve",
        "serve-s3",
        "backup x",
        "restore x",
        "master-key list",
        "demo",
    ],
)
def test_no_command_takes_a_home_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "x").touch()
    monkeypatch.chdir(tmp_path)
    real = Path.stat

    def of_another(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        result = real(path, follow_symlinks=follow_symlinks)
        return os.stat_result((*result[:4], os.getuid() + 1, *result[5:10])) if path.name == "home" else result

    monkeypatch.setattr(Path, "stat", of_another)
    done = CliRunner().invoke(cli, [*command.split(), "--home", "home"])
    said = f"{done.output}{done.exception}"
    assert "belongs to another user" in said
    assert done.exit_code != 0
    assert list((tmp_path / "home").iterdir()) == []


def test_a_folder_for_everybody_is_no_home(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with pytest.raises(EnvironmentProblem, match="all users of the machine share"):
        Home.at(tmp_path, {})


def test_a_home_that_is_not_there_yet_is_no_error(tmp_path: Path) -> None:
    Home(tmp_path / "none").make_private()
    assert not (tmp_path / "none").exists()


def test_a_service_writes_for_its_owner_alone_whatever_the_mask_of_who_starts_it(tmp_path: Path) -> None:
    program = f"import pathlib; p = pathlib.Path({str(tmp_path)!r}); (p / 'd').mkdir(); (p / 'd' / 'f').write_text('x')"
    service = Service(name="x", title="X", command=lambda: [sys.executable, "-c", program], is_ready=lambda: True)
    before = os.umask(0o022)
    try:
        child = Child(service, tmp_path / "logs" / "x.log")
        child.start()
        deadline = time.monotonic() + 60
        while child.wait(1) is None and time.monotonic() < deadline:
            pass
    finally:
        os.umask(before)
        child.stop()
    assert oct(stat.S_IMODE((tmp_path / "d").stat().st_mode)) == "0o700"
    assert oct(stat.S_IMODE((tmp_path / "d" / "f").stat().st_mode)) == "0o600"
    assert oct(stat.S_IMODE((tmp_path / "logs" / "x.log").stat().st_mode)) == "0o600"


def test_the_command_line_and_what_it_starts_have_the_private_mask() -> None:
    program = (
        "import os, sys, click\n"
        "from penstock.cli import main\n"
        "mask = click.Command('mask', callback=lambda: print(oct(os.umask(0))))\n"
        "main.cli.add_command(mask)\n"
        "main.cli.get_command = lambda context, name: mask\n"
        "main.main(['mask'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False, umask=0o022
    )
    assert (done.stdout.strip(), done.returncode) == ("0o77", 0), done.stderr
