"""A pipeline whose lake is S3 and no folder: what `penstock run` does against AWS, here against the S3 endpoint."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.local.broker import Broker
from penstock.local.objectstore import ObjectStore
from penstock.local.processes.ports import free_ports
from penstock.testing.server import RunningServer
from tests.integration.spark.stream import Topic, declaration, frame, records, version

KEYS = ("AKIATESTTESTTESTTEST", "s3a-tests-secret-key")


@pytest.mark.jvm
@pytest.mark.spark
def test_rows_land_in_s3_without_a_lake_folder(broker: Broker, penstock_server: RunningServer, tmp_path: Path) -> None:
    glue = penstock_server.client("glue")
    glue.create_registry(RegistryName="tests")
    registered = glue.create_schema(
        RegistryId={"RegistryName": "tests"},
        SchemaName="flights",
        DataFormat="AVRO",
        Compatibility="BACKWARD",
        SchemaDefinition=version(1).definition,
    )["SchemaVersionId"]
    topic = Topic(broker)
    ours = bytes.fromhex(registered.replace("-", ""))
    topic.send([frame(1, record).replace(version(1).id.bytes, ours) for record in records(0, 300)])
    pipeline = tmp_path / "flights.yaml"
    pipeline.write_text(declaration(topic, tmp_path / "unused").replace("s3://lk/", "s3://lake/"))
    with _object_store(tmp_path) as store:
        done = _run(pipeline, penstock_server, store, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        client = store.client()
        listed = client.list_objects_v2(Bucket="lake", Prefix="flights/day=")["Contents"]
        # S3A marks folders with empty objects whose names end in a slash.
        keys = [item["Key"] for item in listed if not item["Key"].endswith("/")]
        tables = [pq.read_table(io.BytesIO(client.get_object(Bucket="lake", Key=key)["Body"].read())) for key in keys]
        client.close()
    assert sorted(number for table in tables for number in table["id"].to_pylist()) == list(range(300))
    assert {key.split("/")[1] for key in keys} == {"day=2013-01-01", "day=2013-01-02", "day=2013-01-03"}


SCRIPT = """
import sys
from awsglue.context import GlueContext
from awsglue.job import Job
from awsglue.utils import getResolvedOptions
from penstock.errors import NotFound

args = getResolvedOptions(sys.argv, ["JOB_NAME"])
glue = GlueContext()
job = Job(glue)
job.init(args["JOB_NAME"], args)
source = {"paths": ["s3://lake/in/"], "recurse": True, "exclusions": ["**/x.json"]}
rows = glue.create_dynamic_frame.from_options("s3", source, format="json", transformation_ctx="in")
target = {"path": "s3://lake/out/", "partitionKeys": ["day"]}
glue.write_dynamic_frame.from_options(rows, "s3", target, format="glueparquet")
count = rows.count()
glue.purge_s3_path("s3://lake/in/deep/", {"retentionPeriod": 0})
job.commit()
again = glue.create_dynamic_frame.from_options("s3", source, format="json", transformation_ctx="in")
print(count, again.count())
try:
    glue.create_dynamic_frame.from_options("s3", {"paths": ["s3://nowhere/in/"]}, format="json")
except NotFound as error:
    print(error.message)
"""


@pytest.mark.jvm
@pytest.mark.spark
def test_a_glue_script_reads_and_writes_s3(tmp_path: Path) -> None:
    script = tmp_path / "batch.py"
    script.write_text(SCRIPT)
    with _object_store(tmp_path) as store:
        client = store.client()
        for key, number in (("in/a.json", 1), ("in/deep/b.json", 2), ("in/x.json", 3)):
            client.put_object(Bucket="lake", Key=key, Body=f'{{"n": {number}, "day": "d{number}"}}'.encode())
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PENSTOCK_LAKE"))}
        environment |= {"AWS_ENDPOINT_URL_S3": store.endpoint_url, "AWS_REGION": "us-east-1"}
        environment |= {"AWS_ACCESS_KEY_ID": KEYS[0], "AWS_SECRET_ACCESS_KEY": KEYS[1]}
        command = [sys.executable, "-m", "penstock", "glue", "run", "--home", str(tmp_path / "home"), "--master", "local[2]"]
        done = subprocess.run(
            [*command, str(script), "--job-bookmark-option", "job-bookmark-enable"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        counts, missing = done.stdout.splitlines()
        assert counts == "2 0"
        assert missing == "Bucket nowhere of s3://nowhere/in/ does not exist, or cannot be reached."
        results = [
            content["Key"]
            for content in client.list_objects_v2(Bucket="lake")["Contents"]
            if not content["Key"].endswith("/")
        ]
        client.close()
    assert [key for key in results if key.startswith("in/")] == ["in/a.json", "in/x.json"]
    assert sorted(key.split("/")[1] for key in results if key.startswith("out/")) == ["day=d1", "day=d2"]


def _run(pipeline: Path, server: RunningServer, store: ObjectStore, folder: Path) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PENSTOCK_LAKE"))}
    environment |= server.environment() | {"AWS_ENDPOINT_URL_S3": store.endpoint_url}
    # The endpoint has keys of its own here; on one platform they are the server's.
    keys = folder / "keys.conf"
    keys.write_text(f"spark.hadoop.fs.s3a.access.key={KEYS[0]}\nspark.hadoop.fs.s3a.secret.key={KEYS[1]}\n")
    keys.chmod(0o600)
    command = [sys.executable, "-m", "penstock", "run", str(pipeline), "--once", "--master", "local[2]"]
    return subprocess.run(
        [*command, "--home", str(folder / "home"), "--conf", f"@{keys}"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def _object_store(folder: Path) -> ObjectStore:
    return ObjectStore(
        lake=folder / "lake",
        folder=folder / "run",
        port=free_ports(1)[0],
        access_key_id=KEYS[0],
        secret_access_key=KEYS[1],
        bucket="lake",
    )
