"""Where a session's jars go: those of the class archive first on the class path, others behind Spark's own."""

import os
from pathlib import Path
from typing import Any

from penstock.spark.session import SessionSettings, submit_arguments

_JARS, _MORE = [Path("/cache/kafka.jar"), Path("/cache/avro.jar")], [Path("/cache/iceberg.jar")]


def _properties(folder: Path, master: str, more: list[Path], **settings_of: Any) -> dict[str, str]:
    settings = SessionSettings(master=master, jars=_JARS, more_jars=more, log=folder / "spark.log", **settings_of)
    submit_arguments(settings, name="any", locations=[], folder=folder)
    lines = (folder / "spark.properties").read_text().splitlines()
    return {key.replace("\\", ""): value.replace("\\", "") for key, _, value in (line.partition("=") for line in lines)}


def test_one_jvm_has_the_archive_s_class_path_whatever_else_it_loads(tmp_path: Path) -> None:
    for more in ([], _MORE):
        properties = _properties(tmp_path, "local[2]", more)
        assert properties["spark.driver.extraClassPath"] == os.pathsep.join(map(str, _JARS))
        assert properties.get("spark.jars") == ("local:/cache/iceberg.jar" if more else None)


def test_executors_get_all_files(tmp_path: Path) -> None:
    properties = _properties(tmp_path, "spark://host:7077", _MORE)
    assert properties["spark.jars"] == "/cache/kafka.jar,/cache/avro.jar,/cache/iceberg.jar"
    assert "spark.driver.extraClassPath" not in properties


def test_files_that_a_user_names_do_not_replace_ours(tmp_path: Path) -> None:
    extra = {"spark.jars": "/work/own.jar", "spark.executorEnv.PYTHONPATH": "/opt/own", "spark.ui.enabled": "true"}
    properties = _properties(tmp_path, "spark://host:7077", _MORE, extra=extra, library=tmp_path / "library.zip")
    assert properties["spark.jars"] == "/cache/kafka.jar,/cache/avro.jar,/cache/iceberg.jar,/work/own.jar"
    assert properties["spark.archives"] == f"{tmp_path}/library.zip#penstock_library"
    assert properties["spark.executorEnv.PYTHONPATH"] == f"./penstock_library{os.pathsep}/opt/own"
    assert properties["spark.ui.enabled"] == "true"
    properties = _properties(tmp_path, "local[2]", _MORE, extra=extra, library=tmp_path / "library.zip")
    assert properties["spark.jars"] == "local:/cache/iceberg.jar,/work/own.jar"
    assert "spark.archives" not in properties


def test_a_cluster_s_scheduler_is_heard(tmp_path: Path) -> None:
    for master, heard in (("local[2]", False), ("spark://host:7077", True)):
        _properties(tmp_path, master, [])
        assert ("TaskSchedulerImpl" in (tmp_path / "log4j2.properties").read_text()) is heard
