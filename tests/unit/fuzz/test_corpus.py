"""Every input that a fuzzer found something with, and what it starts from: ``run_atheris.py`` makes more of them."""

from pathlib import Path

import pytest

from tests.unit.fuzz.fuzz_targets import TARGETS

CORPUS = Path(__file__).with_name("corpus")
FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())


def test_each_target_has_a_corpus() -> None:
    assert {path.parent.name for path in FILES} == set(TARGETS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_nothing_is_found_again(path: Path) -> None:
    TARGETS[path.parent.name](path.read_bytes())


def test_a_target_tells_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(*asked: str) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr("penstock.schema.avro.parse.read_json", defect)
    with pytest.raises(KeyError, match="a defect"):
        TARGETS["avro"](b'"int"')
