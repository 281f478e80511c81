"""tools/sync: when the environment is left alone, renewed, or made anew, and what it shows meanwhile."""

import io
import json
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parents[3] / "tools" / "sync"


class Checkout:
    """A checkout in a folder of its own, whose steps are written down instead of run."""

    def __init__(self, root: Path, tool: Any) -> None:
        self.root = root
        self.tool = tool
        self.steps: list[str] = []
        (root / "locks").mkdir()
        for name in ("runtime", "dev", "bench", "clients", "job-clients", "build", "uv"):
            (root / "locks" / f"{name}.txt").write_text(name)
        (root / "pyproject.toml").write_text("[project]")
        tool.ROOT, tool.ENVIRONMENT, tool.STATE = root, root / ".venv", root / ".venv" / ".penstock"
        tool.TOOLS = root / ".tools"
        tool.run = self.run

    def run(self, command: list[str], extra: object = None) -> None:
        _uv, *words = command
        self.steps.append(" ".join(word for word in words if not word.startswith("--"))[:24])
        if words[0] == "venv":
            python = Path(words[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True, exist_ok=True)
            python.unlink(missing_ok=True)
            python.symlink_to(sys.executable)

    def sync(self, level: str) -> list[str]:
        """What a call with ``level`` does: the kind of each step."""
        self.steps.clear()
        self.tool.sync(Path("uv"), level)
        return [step.split()[0 if step.startswith("venv") else 1] for step in self.steps]

    @property
    def level(self) -> str:
        level: str = json.loads(self.tool.STATE.read_text())["level"]
        return level


@pytest.fixture
def tool() -> Any:
    loader = SourceFileLoader("sync_tool", str(TOOL))
    tool = module_from_spec(spec_from_loader("sync_tool", loader))  # type: ignore[arg-type]
    loader.exec_module(tool)
    return tool


@pytest.fixture
def checkout(tmp_path: Path, tool: Any) -> Checkout:
    return Checkout(tmp_path, tool)


MADE_ANEW = ["venv", "sync", "install", "compileall"]
RENEWED = ["sync", "install", "compileall"]


def test_a_second_call_does_nothing(checkout: Checkout) -> None:
    assert checkout.sync("runtime") == MADE_ANEW
    assert checkout.sync("runtime") == []


def test_it_grows_and_never_shrinks(checkout: Checkout) -> None:
    checkout.sync("runtime")
    assert checkout.sync("dev") == RENEWED
    assert checkout.sync("runtime") == []
    assert checkout.level == "dev"


@pytest.mark.parametrize("changed", ["locks/dev.txt", "locks/build.txt", "pyproject.toml"])
def test_a_changed_input_renews_what_is_installed(checkout: Checkout, changed: str) -> None:
    checkout.sync("dev")
    (checkout.root / changed).write_text("changed")
    assert checkout.sync("runtime") == RENEWED
    assert checkout.level == "dev"


def test_what_an_interrupted_run_left_is_made_anew(checkout: Checkout) -> None:
    checkout.sync("runtime")
    step = checkout.tool.run

    def interrupted(command: list[str], extra: object = None) -> None:
        if "sync" in command:
            raise KeyboardInterrupt
        step(command, extra)

    checkout.tool.run = interrupted
    with pytest.raises(KeyboardInterrupt):
        checkout.sync("dev")
    checkout.tool.run = step
    assert checkout.sync("runtime") == MADE_ANEW


def test_an_environment_that_was_moved_or_lost_its_python_is_made_anew(checkout: Checkout) -> None:
    checkout.sync("dev")
    state = json.loads(checkout.tool.STATE.read_text())
    checkout.tool.STATE.write_text(json.dumps(state | {"place": "/elsewhere"}))
    assert checkout.sync("dev") == MADE_ANEW
    (checkout.root / ".venv/bin/python").unlink()
    assert checkout.sync("dev") == MADE_ANEW


def test_a_damaged_state_is_made_anew(checkout: Checkout) -> None:
    checkout.sync("dev")
    for text in ("", "[]", '{"level": "other"}'):
        checkout.tool.STATE.write_text(text)
        assert checkout.sync("dev") == MADE_ANEW


def test_whatever_stands_in_its_place_is_replaced(checkout: Checkout) -> None:
    (checkout.root / ".venv").write_text("a file")
    assert checkout.sync("dev") == MADE_ANEW
    elsewhere = checkout.root / "elsewhere"
    (checkout.root / ".venv").rename(elsewhere)
    (checkout.root / ".venv").symlink_to(elsewhere)
    (elsewhere / ".penstock").unlink()
    assert checkout.sync("dev") == MADE_ANEW
    assert (elsewhere / "bin").is_dir()


@pytest.mark.parametrize("name", ["clients", "job-clients"])
def test_clients_have_an_environment_of_their_own(checkout: Checkout, name: str) -> None:
    def sync() -> list[str]:
        checkout.steps.clear()
        checkout.tool.sync_clients(Path("uv"), name)
        return [step.split()[0] for step in checkout.steps]

    assert sync() == ["venv", "pip"]
    assert sync() == []
    (checkout.root / f"locks/{name}.txt").write_text("changed")
    assert sync() == ["venv", "pip"]
    assert not (checkout.root / ".venv").exists()


LIST = "print('Resolved 2 packages'); print(' + one==1'); print(' + two==2')"


def shows(tool: Any, *, terminal: bool) -> io.StringIO:
    """Where the tool shows what it does."""
    stream = io.StringIO()
    tool.PROGRESS = tool.ProgressLine(stream, terminal=terminal)
    return stream


def test_without_a_terminal_each_step_is_one_plain_line(tool: Any) -> None:
    stream = shows(tool, terminal=False)
    tool.PROGRESS.step("Installing")
    tool.run([sys.executable, "-c", LIST])
    tool.PROGRESS.say("Installed.")
    assert stream.getvalue() == "Installing.\nInstalled.\n"


def test_on_a_terminal_one_line_is_redrawn_and_one_stays(tool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    stream = shows(tool, terminal=True)
    tool.PROGRESS.step("Installing")
    tool.run([sys.executable, "-c", LIST])
    tool.PROGRESS.say("Installed.")
    drawn = stream.getvalue().split("\r\x1b[K")
    # A line as wide as the terminal would wrap: it is cut to 23 columns.
    assert drawn == ["", "Installing ...", "Set-up: Resolved 2 pack", "Installed.\n"]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_step_that_fails_shows_all_that_its_command_printed(tool: Any, terminal: bool) -> None:
    stream = shows(tool, terminal=terminal)
    failing = f"{LIST}; import sys; print('error: no such package', file=sys.stderr); sys.exit(2)"
    with pytest.raises(subprocess.CalledProcessError):
        tool.run([sys.executable, "-u", "-c", failing])
    assert stream.getvalue().endswith("Resolved 2 packages\n + one==1\n + two==2\nerror: no such package\n")
