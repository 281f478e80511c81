"""``penstock run`` on wrong input: one sentence and exit status 2, no traceback."""

import os
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.cli.streams.checkpoint_lock import checkpoint_lock
from penstock.errors import InvalidInput


@pytest.mark.parametrize(("text", "message"), [("name: x\n", "'source' is missing"), ("nome: x\n", "Did you mean 'name'?")])
def test_a_wrong_file_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(SystemExit) as caught:
        main(["run", str(path)])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_a_second_run_on_a_checkpoint_is_refused_with_the_process_of_the_first(tmp_path: Path) -> None:
    with (
        checkpoint_lock("s3://lake/cp", "pipeline p", tmp_path),
        checkpoint_lock("s3://lake/other", "pipeline p", tmp_path),
        pytest.raises(InvalidInput, match=rf"process {os.getpid()}\) uses the checkpoint s3://lake/cp/"),
        checkpoint_lock("s3://lake/cp/", "pipeline p", tmp_path),
    ):
        pass
    with checkpoint_lock("s3://lake/cp", "pipeline p", tmp_path):
        pass


def test_a_folders_files_may_be_of_two_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PENSTOCK_BUCKET", raising=False)
    (tmp_path / "orders.yaml").write_text("topic: orders\ntable: shop.orders\n")
    with pytest.raises(SystemExit) as caught:
        main(["run", str(tmp_path), "--dry-run"])
    assert caught.value.code == 2
    assert "PENSTOCK_BUCKET is not set" in capsys.readouterr().err
