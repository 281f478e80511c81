"""The class path of AWS's own Java serde is complete."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from penstock.local.artefacts import class_path

pytestmark = pytest.mark.jvm


def test_a_java_program_loads_aws_serializer(tmp_path):
    source = Path(__file__).parent / "java" / "LoadSerde.java"
    classes = os.pathsep.join(str(path) for path in class_path("serde"))
    assert shutil.which("java")
    done = subprocess.run(
        ["java", "-Xmx256m", "-cp", classes, str(source)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "com.amazonaws.services.schemaregistry.serializers.avro.AWSKafkaAvroSerializer"
