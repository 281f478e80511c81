"""Finding Java: the real one, none, too old, too new, trimmed, broken."""

import os
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.errors import EnvironmentProblem
from penstock.local.java import find_java


def fake_java(folder: Path, release: str, modules: str = "java.base@1\njdk.incubator.vector@1") -> dict[str, str]:
    """An environment whose java prints the version of that release."""
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(
        f"""#!/bin/sh
case "$*" in
  *list-modules*) echo "{modules}" ;;
  *) echo "    java.home = {folder}" >&2; echo "    java.specification.version = {release}" >&2 ;;
esac
"""
    )
    script.chmod(0o755)
    return {"PATH": f"{script.parent}:/usr/bin:/bin"}


def test_the_machines_java_will_do() -> None:
    java = find_java(os.environ)
    assert java.release in {17, 21}
    assert (java.home / "bin" / "java").exists()


@pytest.mark.parametrize("release", ["17", "21"])
def test_supported_releases(tmp_path: Path, release: str) -> None:
    java = find_java(fake_java(tmp_path, release))
    assert (java.release, java.home) == (int(release), tmp_path)


@pytest.mark.parametrize(
    ("release", "shown", "why"), [("1.8", "8", "too old"), ("11", "11", "too old"), ("25", "25", "not supported")]
)
def test_other_releases_say_what_is_needed_and_how_to_get_it(tmp_path: Path, release: str, shown: str, why: str) -> None:
    with pytest.raises(EnvironmentProblem) as caught:
        find_java(fake_java(tmp_path, release))
    text = str(caught.value)
    assert f"Java 17 or 21 is needed, and the PATH ({tmp_path}/bin/java) is Java {shown}, which is {why}" in text
    assert "apt install openjdk-17-jre-headless" in text
    assert "brew install openjdk@21" in text
    assert "\n" not in text


def test_no_java_at_all(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=r"Java is needed, and neither JAVA_HOME nor the PATH has one\. Install"):
        find_java({"PATH": str(tmp_path)})


def test_a_java_home_that_is_none_is_not_passed_over(tmp_path: Path) -> None:
    environment = {**fake_java(tmp_path / "good", "17"), "JAVA_HOME": str(tmp_path / "gone")}
    with pytest.raises(EnvironmentProblem, match=r"JAVA_HOME is .*gone, which has no bin/java"):
        find_java(environment)


def test_java_home_wins_over_the_path(tmp_path: Path) -> None:
    environment = fake_java(tmp_path / "path", "11")
    fake_java(tmp_path / "home", "21")
    assert find_java({**environment, "JAVA_HOME": str(tmp_path / "home")}).release == 21


def test_a_trimmed_runtime_is_recognised(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=r"trimmed runtime without jdk\.incubator\.vector"):
        find_java(fake_java(tmp_path, "17", modules="java.base@17"))


def test_a_stub_that_only_fails(tmp_path: Path) -> None:
    script = tmp_path / "java"
    script.write_text("#!/bin/sh\necho Unable to locate a Java Runtime. >&2\nexit 1\n")
    script.chmod(0o755)
    with pytest.raises(EnvironmentProblem, match="does not run: Unable to locate a Java Runtime"):
        find_java({"PATH": f"{tmp_path}:/usr/bin:/bin"})


def test_up_ends_with_exit_code_3_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in fake_java(tmp_path / "java", "11").items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["up", "--home", str(tmp_path / "home")])
    assert ended.value.code == 3
    assert capsys.readouterr().err.startswith("penstock: Java 17 or 21 is needed")
    assert not (tmp_path / "home").exists()
