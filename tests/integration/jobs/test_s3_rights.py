"""A run reads and writes the lake by the rights of its role, where an S3 endpoint serves the lake."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.jobs.conftest import Jobs, jobs_beside_s3
from tests.unit.runs.wheels import wheel

READS = """
import boto3
s3 = boto3.client("s3")
print(s3.get_object(Bucket="lake", Key="open/a.txt")["Body"].read())
try:
    s3.get_object(Bucket="lake", Key="closed/a.txt")
except Exception as error:
    print(error.response["Error"]["Code"])
"""


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Jobs]:
    with jobs_beside_s3(tmp_path, _read("open"), _read("scripts")) as jobs:
        yield jobs


def _read(folder: str) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::lake/{folder}/*"}


def test_a_run_reads_what_its_role_may_read(guarded: Jobs) -> None:
    for folder in ("open", "closed"):
        (guarded.server.lake / "lake" / folder).mkdir()
        (guarded.server.lake / "lake" / folder / "a.txt").write_text(folder)
    guarded.create("reads", READS)
    run = guarded.wait("reads", guarded.start("reads"))
    assert (run["JobRunState"], guarded.output(run["Id"])) == ("SUCCEEDED", ["b'open'", "AccessDenied"]), run
    (guarded.server.lake / "lake/closed/b.py").write_text("print('never')\n")
    command = {"Name": "pythonshell", "ScriptLocation": "s3://lake/closed/b.py"}
    guarded.glue.create_job(Name="closed", Role="etl", Command=command)
    run = guarded.wait("closed", guarded.start("closed"))
    assert run["JobRunState"] == "FAILED"
    assert "Forbidden" in run["ErrorMessage"] or "Access" in run["ErrorMessage"], run


def test_wheels_of_a_run_are_read_by_the_rights_of_its_role(guarded: Jobs) -> None:
    lake = guarded.server.lake / "lake"
    named = {folder: f"s3://lake/{folder}/shop-1.0-py3-none-any.whl" for folder in ("open", "closed")}
    for folder in named:
        wheel(lake / folder, "shop", "1.0")
    guarded.create("modules", "import shop\nprint(shop.VERSION)\n")
    run = guarded.wait("modules", guarded.start("modules", Arguments={"--additional-python-modules": named["open"]}))
    assert (run["JobRunState"], guarded.output(run["Id"])) == ("SUCCEEDED", ["1.0"]), run
    # The same file is installed by now, and the role has to be allowed to read it all the same.
    run = guarded.wait("modules", guarded.start("modules", Arguments={"--additional-python-modules": named["closed"]}))
    assert run["JobRunState"] == "FAILED"
    assert run["ErrorMessage"].startswith("Error Category: LAUNCH_ERROR; The modules of --additional-python-modules"), run
    assert "Forbidden" in run["ErrorMessage"] or "Access" in run["ErrorMessage"], run
