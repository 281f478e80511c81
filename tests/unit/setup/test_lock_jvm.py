"""tools/lock-jvm, which CI does not run because it resolves over the network: it loads, and locked what it names."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

from penstock.local.artefacts import locked

_TOOL = Path(__file__).parents[3] / "tools" / "lock-jvm"


def test_the_lock_has_every_artefact_that_the_tool_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader = SourceFileLoader("lock_jvm", str(_TOOL))
    spec = spec_from_loader("lock_jvm", loader)
    assert spec is not None
    tool: Any = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "lock_jvm", tool)
    loader.exec_module(tool)
    known = {(artefact.group, artefact.coordinate) for artefact in locked()}
    named = {
        (name, root)
        for name, group in tool.GROUPS.items()
        for root in (*group.roots, *group.alone)
        if root.split(":")[1] + "-" + root.split(":")[2] + ".jar" not in group.without
    }
    assert named - known == set()
    assert {group for group, _ in known} == set(tool.GROUPS)
