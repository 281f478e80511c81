"""The JVM lock file and the paths it gives its artefacts."""

from pathlib import Path

import pytest

from penstock.errors import InvalidInput
from penstock.local.artefacts import Artefact, cache_folder, class_path, group_names, locked, parse_lock


def artefact(coordinate: str) -> Artefact:
    return Artefact(group="g", coordinate=coordinate, sha256="0" * 64, size=1)


def test_every_group_that_is_fetched_is_locked() -> None:
    assert {item.group for item in locked()} == set(group_names(with_tests=True))


def test_a_group_has_one_version_of_an_artefact() -> None:
    for group in group_names(with_tests=True):
        names = [
            item.coordinate.rsplit(":", 1)[0] for item in locked() if item.group == group and item.coordinate.count(":") == 2
        ]
        assert len(names) == len(set(names)), group


def test_the_path_is_the_one_of_a_maven_repository() -> None:
    assert artefact("org.apache.kafka:kafka_2.13:4.3.1").path == "org/apache/kafka/kafka_2.13/4.3.1/kafka_2.13-4.3.1.jar"
    line = f"kafka org.example:tool:1.0:all {'0' * 64} 3"
    assert parse_lock(line)[0].path == "org/example/tool/1.0/tool-1.0-all.jar"


@pytest.mark.parametrize(
    "line", ["kafka", "kafka a:b:1 xyz 3", "kafka a:b " + "0" * 64 + " 3", "kafka a:b:1 " + "0" * 64 + " many"]
)
def test_a_bad_line_is_named(line: str) -> None:
    with pytest.raises(InvalidInput, match="Line 2 of the JVM lock"):
        parse_lock("# comment\n" + line + "\n")


def test_an_unknown_group_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no group 'flink'.*kafka, msk-iam, postgresql, s3a, s3proxy, serde, spark"):
        class_path("flink", cache=tmp_path)


def test_the_cache_follows_the_environment(tmp_path: Path) -> None:
    assert cache_folder({"PENSTOCK_CACHE": str(tmp_path)}) == tmp_path / "jvm"
    assert cache_folder({"XDG_CACHE_HOME": "/x"}).as_posix() == "/x/penstock/jvm"
