"""What the tests' PostgreSQL says where there is none, and which URLs name a store."""

from pathlib import Path

import pytest

from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.store.sql.database import Database
from penstock.testing import postgres


def test_a_machine_without_postgresql_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres, "_DEBIAN", tmp_path)
    with pytest.raises(EnvironmentProblem, match="apt install postgresql"), postgres.running_postgres():
        pass


def test_debians_newest_server_is_found_off_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres, "_DEBIAN", tmp_path)
    for version in ("9.6", "15", "17"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / "initdb").touch()
    assert postgres._binary("initdb") == str(tmp_path / "17" / "bin" / "initdb")


@pytest.mark.parametrize(
    "url", ["mysql://u:secret@h/d", "postgresql+psycopg://u:secret@h/d", "secret", "", "postgresql://:x:y/"]
)
def test_a_url_of_no_store_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"postgresql\+pg8000://") as refusal:
        Database(url)
    assert "secret" not in str(refusal.value)


def test_the_name_of_a_database_has_no_password() -> None:
    database = Database("postgresql+pg8000://u:secret@h:1/d")
    assert database.name == "postgresql+pg8000://u:***@h:1/d"
    database.close()
