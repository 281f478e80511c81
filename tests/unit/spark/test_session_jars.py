"""Where a session's jars go: those of the class archive first on the class path, others behind Spark's own."""

import os
from pathlib import Path

from penstock.spark.session import SessionSettings, submit_arguments

_JARS, _MORE = [Path("/cache/kafka.jar"), Path("/cache/avro.jar")], [Path("/cache/iceberg.jar")]


def _properties(folder: Path, master: str, more: list[Path]) -> dict[str, str]:
    settings = SessionSettings(master=master, jars=_JARS, more_jars=more, log=folder / "spark.log")
    submit_arguments(settings, name="any", locations=[], folder=folder)
    lines = (folder / "spark.properties").read_text().splitlines()
    return {key.replace("\\", ""): value.replace("\\", "") for key, _, value in (line.partition("=") for line in lines)}


def test_one_jvm_has_the_archive_s_class_path_whatever_else_it_loads(tmp_path: Path) -> None:
    for more in ([], _MORE):
        found = _properties(tmp_path, "local[2]", more)
        assert found["spark.driver.extraClassPath"] == os.pathsep.join(map(str, _JARS))
        assert found.get("spark.jars") == ("local:/cache/iceberg.jar" if more else None)


def test_executors_get_all_files(tmp_path: Path) -> None:
    found = _properties(tmp_path, "spark://host:7077", _MORE)
    assert found["spark.jars"] == "/cache/kafka.jar,/cache/avro.jar,/cache/iceberg.jar"
    assert "spark.driver.extraClassPath" not in found
