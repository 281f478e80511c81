"""``penstock run`` on wrong input: one sentence and exit status 2, no traceback."""

from pathlib import Path

import pytest

from penstock.cli.main import main


@pytest.mark.parametrize(("text", "message"), [("name: x\n", "'source' is missing"), ("nome: x\n", "Did you mean 'name'?")])
def test_a_wrong_file_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(SystemExit) as caught:
        main(["run", str(path)])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
