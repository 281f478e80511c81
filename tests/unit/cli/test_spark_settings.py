"""Spark's settings come from the command line or a file; secrets from a file that others cannot read."""

import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from penstock.cli.streams import submit
from penstock.cli.streams.spark_options import spark_settings
from penstock.spark.running.bundle import Bundle
from penstock.spark.session import is_secret

_PIPELINE = """
name: orders
source: {kafka: {brokers: "localhost:9092", topic: orders, security_protocol: PLAINTEXT}}
decode: {registry: r, schema: s}
transform: {sql: SELECT * FROM records}
sink: {parquet: {location: /lake/orders}}
dead_letters: {location: /lake/dead}
checkpoint: /lake/checkpoint
"""
SECRETS = ("spark.hadoop.fs.s3a.secret.key", "spark.ssl.keyPassword", "spark.my.TOKEN", "spark.hadoop.fs.s3a.access.key")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "spark.conf"
    made.touch(mode=0o600)
    made.write_text("# Secrets.\n\nspark.hadoop.fs.s3a.secret.key=a=b\n  spark.executor.memory=2g\n")
    return made


def test_a_file_and_the_command_line_are_one_list(file: Path) -> None:
    assert spark_settings(["spark.executor.memory=1g", f"@{file}", "spark.executor.cores=2"]) == {
        "spark.executor.memory": "2g",
        "spark.hadoop.fs.s3a.secret.key": "a=b",
        "spark.executor.cores": "2",
    }


@pytest.mark.parametrize("key", SECRETS)
def test_a_secret_in_a_command_line_is_refused_and_not_repeated(key: str) -> None:
    assert is_secret(key)
    for text in (f"{key}=open-sesame", f"{key.removeprefix('spark.')}=open-sesame"):
        with pytest.raises(click.BadParameter) as refusal:
            spark_settings([text])
        assert "open-sesame" not in refusal.value.message


def test_a_file_of_settings_is_its_owners(file: Path) -> None:
    file.chmod(0o640)
    with pytest.raises(click.BadParameter, match="chmod 600"):
        spark_settings([f"@{file}"])
    with pytest.raises(click.BadParameter, match="cannot be read"):
        spark_settings([f"@{file}.gone"])


def test_settings_that_start_the_jvm_are_given_to_its_launcher() -> None:
    assert not any(map(is_secret, ("spark.driver.extraJavaOptions", "spark.driver.memory", "spark.jars", "spark.master")))


def test_a_secret_is_in_a_private_file_and_not_in_the_command_line_of_spark_submit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipeline.yaml").write_text(_PIPELINE)
    monkeypatch.setattr(submit, "write_bundle", lambda folder, _file: Bundle(archive=folder / "a", script=folder / "s"))
    monkeypatch.setattr(submit, "class_path", lambda _group: [])
    arguments = ["pipeline.yaml", "--master", "yarn", "--artefacts", "artefacts", "--conf", f"@{file}", "--print"]
    result = CliRunner().invoke(submit.command, arguments, catch_exceptions=False)
    assert "spark.executor.memory=2g" in result.output
    assert "a=b" not in result.output
    command = shlex.split(result.output)
    written = Path(command[command.index("--properties-file") + 1])
    assert "--load-spark-defaults" in command
    assert written.read_text() == "spark.hadoop.fs.s3a.secret.key=a\\=b\n"
    assert written.stat().st_mode & 0o777 == 0o600
