"""A job tries what it must not reach: the store, the keys, the lake's folder, other runs, other processes, closed ports."""

import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.jobs.conftest import Jobs, jobs_beside_s3

# Each attempt prints its name and what it got; a refusal is the name of the error.
ATTEMPTS = """
import ctypes, json, os, pathlib, socket, subprocess, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
home, server, port = pathlib.Path(given["--home"]), int(given["--server"]), int(given["--port"])
libc = ctypes.CDLL(None, use_errno=True)
found = {}

def attempt(name, what):
    try:
        found[name] = repr(what())
    except OSError as error:
        found[name] = type(error).__name__ if error.errno != 18 else "PermissionError"  # EXDEV is Landlock's, for links

def raw(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")

def linked(make, source, name):
    make(source, name)
    return open(name, "rb").read()

private = {
    "key": home / "master.key", "store": home / "store/penstock.db", "object": home / "lake/lake/secret.txt",
    "log of another run": pathlib.Path(given["--other"]), "shadow": pathlib.Path("/etc/shadow"),
    "own plan": pathlib.Path("../run.json"), "audit": pathlib.Path(given["--audit"]),
}
for name, path in private.items():
    attempt(f"read {name}", lambda: path.open("rb").read(4))
    attempt(f"change {name}", lambda: path.open("r+b").close())
    attempt(f"truncate {name}", lambda: os.truncate(path, 0))
    attempt(f"symlink to {name}", lambda: linked(os.symlink, path.absolute(), f"symlink {name}"))
    attempt(f"hard link to {name}", lambda: linked(os.link, path.absolute(), f"link {name}"))
    attempt(f"rename {name}", lambda: os.rename(path, "renamed"))
    attempt(f"remove {name}", lambda: os.remove(path))
for folder in ("", "lake/lake", "jobs", "audit"):
    attempt(f"list {folder or 'home'}", lambda: os.listdir(home / folder))
    attempt(f"write into {folder or 'home'}", lambda: (home / folder / "x").write_text("x"))
for each in ("environ", "mem", "maps", "root/etc/hostname", "cwd/x", "fd/0", "auxv", "io"):
    attempt(f"/proc/server/{each}", lambda: open(f"/proc/{server}/{each}", "rb").read(1))
attempt("signal", lambda: os.kill(server, 0))
attempt("ptrace", lambda: raw(101 if os.uname().machine == "x86_64" else 117, 16, server, 0, 0))
attempt("read memory", lambda: raw(310 if os.uname().machine == "x86_64" else 270, server, None, 0, None, 0, 0))
attempt("limits of the server", lambda: __import__("resource").prlimit(server, 7, (16, 16)))
attempt("priority of the server", lambda: os.setpriority(os.PRIO_PROCESS, server, 19))
attempt("unix socket", lambda: socket.socket(socket.AF_UNIX).connect(given["--socket"]))
attempt("other port", lambda: socket.create_connection(("127.0.0.1", port), 2).close())
attempt("fast open", lambda: socket.socket().sendto(b"x", 0x20000000, ("127.0.0.1", port)))
attempt("multipath", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect(("127.0.0.1", port)))
attempt("listen on the server's port", lambda: socket.create_server(("127.0.0.2", int(given["--own"]))))
attempt("namespaces", lambda: raw(272 if os.uname().machine == "x86_64" else 97, 0x10000000))
attempt("other folder", lambda: pathlib.Path("/tmp/penstock-attempt").write_text("x"))
attempt("multiprocessing", lambda: __import__("multiprocessing").Lock())
attempt("kernel", lambda: open("/proc/sys/kernel/core_pattern", "w").close())
attempt("shared memory", lambda: open("/dev/shm/x", "w").close())
os.chmod(home / "master.key", 0o644)
os.utime(home / "master.key", (0, 0))
print(json.dumps(found))
import boto3, tempfile
with tempfile.NamedTemporaryFile() as file:
    file.write(b"mine")
    pathlib.Path("here").write_text(file.name)
own = boto3.client("s3").get_object(Bucket="lake", Key="scripts/attempts.py")
print(own["Body"].read(1), subprocess.run(["true"]).returncode, pathlib.Path.home() == pathlib.Path(file.name).parent)
"""


@pytest.fixture(scope="module")
def confined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    read = {"Effect": "Allow", "Action": "s3:*", "Resource": ["arn:aws:s3:::lake", "arn:aws:s3:::lake/scripts/*"]}
    with jobs_beside_s3(tmp_path_factory.mktemp("confined"), read) as jobs:
        (jobs.server.lake / "lake/secret.txt").write_text("secret")
        yield jobs


@pytest.mark.skipif(sys.platform != "linux", reason="Linux confines processes")
def test_a_job_reaches_its_own_folder_and_the_endpoints_and_nothing_else(confined: Jobs, tmp_path: Path) -> None:
    home = confined.server.home
    confined.create("other", "print('the log of another run')")
    other = confined.wait("other", confined.start("other"))["Id"]
    log = next((home / "jobs" / confined.server.account / other / "output").glob("*.jsonl"))
    before = {path: (path.read_bytes(), path.stat().st_mode) for path in (home / "master.key", log)}
    confined.create("attempts", ATTEMPTS)
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket(socket.AF_UNIX) as local:
        os.chdir(tmp_path)
        local.bind("s")
        local.listen()
        arguments = {
            "--home": str(home),
            "--server": str(confined.server.process.pid),
            "--port": str(listening.getsockname()[1]),
            "--own": confined.server.endpoint_url.rpartition(":")[2],
            "--socket": str(tmp_path / "s"),
            "--other": str(log),
            "--audit": str(next((home / "audit").iterdir())),
        }
        run = confined.wait("attempts", confined.start("attempts", Arguments=arguments))
    assert run["JobRunState"] == "SUCCEEDED", (run, confined.output(run["Id"], "error"))
    first, second = confined.output(run["Id"])
    document: dict[str, Any] = json.loads(first)
    reached = {name: what for name, what in document.items() if what != "PermissionError"}
    assert not reached
    assert len(document) > 60
    assert second == "b'\\n' 0 True"
    assert {path: (path.read_bytes(), path.stat().st_mode) for path in before} == before
    assert (home / "master.key").stat().st_mtime > 1e9


def test_a_script_on_the_server_s_machine_is_not_read(confined: Jobs) -> None:
    key = str(confined.server.home / "master.key")
    confined.glue.create_job(Name="key", Role="etl", Command={"Name": "pythonshell", "ScriptLocation": key})
    run = confined.wait("key", confined.start("key"))
    assert run["JobRunState"] == "FAILED"
    assert "runs of jobs may not read" in run["ErrorMessage"]


SPARK = """
import sys
from awsglue.context import GlueContext
from awsglue.utils import getResolvedOptions
from pyspark.context import SparkContext
from pyspark.sql.functions import udf

home = getResolvedOptions(sys.argv, ["home"])["home"]
glue = GlueContext(SparkContext())
spark = glue.spark_session

@udf("string")
def read(path):
    try:
        return str(len(open(path, "rb").read()))
    except OSError as error:
        return type(error).__name__

paths = [(home + "/master.key",), (home + "/lake/lake/secret.txt",), ("/etc/hosts",)]
print([row[0] for row in spark.createDataFrame(paths, ["path"]).select(read("path")).collect()][:2])
for path in ("file://" + home + "/lake/lake/secret.txt", "s3://lake/secret.txt"):
    try:
        print(spark.read.text(path).collect())
    except Exception as error:
        print("refused" if "ermission" in str(error) or "Forbidden" in str(error) or "403" in str(error) else error)
jvm = spark.sparkContext._jvm
try:
    no_more = spark.sparkContext._gateway.new_array(jvm.java.lang.String, 0)
    print(jvm.java.nio.file.Files.readAllBytes(jvm.java.nio.file.Paths.get(home + "/master.key", no_more)))
except Exception as error:
    print("AccessDenied" in str(error))
spark.range(3).write.mode("overwrite").parquet("s3://lake/scripts/made/")
own = jvm.java.lang.System.getProperty("java.io.tmpdir").startswith(home)
print(spark.read.parquet("s3://lake/scripts/made/").count(), own)
"""


def test_spark_lives_within_the_same_bounds(confined: Jobs) -> None:
    confined.create("spark", SPARK, kind="glueetl", NumberOfWorkers=2, WorkerType="G.1X")
    run = confined.wait("spark", confined.start("spark", Arguments={"--home": str(confined.server.home)}), seconds=180)
    assert run["JobRunState"] == "SUCCEEDED", (run, confined.output(run["Id"], "error"))
    assert confined.output(run["Id"]) == ["['PermissionError', 'PermissionError']", "refused", "refused", "True", "3 True"]
