"""The class path of AWS's own Java serde is complete."""

import subprocess
from pathlib import Path

import pytest

from tests.integration.java_source import java_program

pytestmark = pytest.mark.jvm


def test_a_java_program_loads_aws_serializer(tmp_path: Path) -> None:
    source = Path(__file__).parent / "java" / "LoadSerde.java"
    done = subprocess.run(
        [*java_program(source, tmp_path / "classes"), "LoadSerde"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "com.amazonaws.services.schemaregistry.serializers.avro.AWSKafkaAvroSerializer"
