"""An export of the audit log that was noted as done is on the disk."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock import durable
from penstock.cli.server import audit
from penstock.testing.powerloss import ForgetfulDisk, after_power_loss


def test_a_new_file_of_an_export_is_there_after_a_power_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, target = tmp_path / "home", tmp_path / "target"
    (home / "audit").mkdir(parents=True)
    target.mkdir()
    lines = [(b'{"eventID":"1"}', "segment", 15)]
    monkeypatch.setattr(audit, "unexported", lambda *_: iter(lines))
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, getattr(os, name))
    monkeypatch.setattr(durable, "F_FULLFSYNC", None)
    ForgetfulDisk(target, tmp_path / "notes").install()
    done = CliRunner().invoke(audit.command, ["export", "--home", str(home), "--to", str(target / "events.jsonl")])
    assert done.output == "1 records exported.\n"
    after_power_loss(tmp_path / "notes", tmp_path / "left")
    assert (tmp_path / "left" / "events.jsonl").read_bytes() == lines[0][0] + b"\n"
