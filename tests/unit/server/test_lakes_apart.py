"""The first account's lake and the others' lie apart, whatever the folders are called and linked to."""

from pathlib import Path

import pytest

from penstock.errors import EnvironmentProblem
from penstock.server.lakes import Lakes
from penstock.server.s3 import serve_s3
from penstock.settings.server import ServerSettings

A, B = "111122223333", "444455556666"


def lakes(lake: Path, others: Path) -> Lakes:
    return Lakes(first=A, lake=lake, others=others, bucket="lake")


def test_each_account_has_a_folder_with_a_first_bucket(tmp_path: Path) -> None:
    placed = lakes(tmp_path / "lake", tmp_path / "lakes")
    placed.check_apart()
    assert placed.make(A) == tmp_path / "lake"
    assert placed.make(B) == tmp_path / "lakes" / B
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("lake")) == [
        "lake",
        "lake/lake",
        f"lakes/{B}/lake",
    ]
    assert (tmp_path / "lakes" / B / "lake").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("lake", "others"), [("a", "a/b"), ("a/b", "a"), ("a", "a"), ("a", "link/b")])
def test_one_within_the_other_is_refused(tmp_path: Path, lake: str, others: str) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(EnvironmentProblem, match="lie one within the other"):
        lakes(tmp_path / lake, tmp_path / others).check_apart()


def test_the_s3_endpoint_refuses_it_too(tmp_path: Path) -> None:
    settings = ServerSettings(
        store_url="sqlite://",
        lake=tmp_path / "lake",
        account_lakes=tmp_path / "lake" / "others",
        master_key_file=tmp_path / "master.key",
        port=0,
        authenticate=False,
    )
    announced: list[str] = []

    def announce(url: str) -> None:
        announced.append(url)
        raise AssertionError("it serves")

    with pytest.raises(EnvironmentProblem, match="lie one within the other"):
        serve_s3(settings, announce=announce)
    assert announced == []


def test_a_link_in_an_accounts_place_is_its_lake(tmp_path: Path) -> None:
    placed = lakes(tmp_path / "lake", tmp_path / "lakes")
    placed.make(A)
    (tmp_path / "lakes").mkdir()
    (tmp_path / "lakes" / B).symlink_to(tmp_path / "lake")
    placed.make(B)
    assert placed.of(B).path("s3://lake/x") == placed.of(A).path("s3://lake/x")
