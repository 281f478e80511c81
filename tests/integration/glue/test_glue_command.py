"""``penstock glue run`` around a script that starts no Spark: arguments, environment, signals, errors."""

import json
import os
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from penstock.local.artefacts import cache_folder
from penstock.settings.home import Home, PlatformConfig
from tests.unit.runs.wheels import wheel

pytestmark = pytest.mark.jvm  # the command looks for Java

SECONDS = 240


@pytest.fixture
def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PENSTOCK_H", "PENSTOCK_L"))}


def command(folder: Path, script: str, *arguments: str) -> list[str]:
    (folder / "job.py").write_text(script)
    options = ("--home", str(folder / "home"))
    return [sys.executable, "-m", "penstock", "glue", "run", *options, str(folder / "job.py"), *arguments]


def ended(started: list[str], environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(started, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)


def test_the_script_gets_arguments_environment_and_its_signals(tmp_path: Path, environment: dict[str, str]) -> None:
    home = Home(tmp_path / "home")
    platform = PlatformConfig.generate(server_port=18750)
    home.save(platform)
    (home.lake / "shop").mkdir(parents=True)
    script = """
import json, os, sys
from pathlib import Path
from awsglue.utils import getResolvedOptions
from penstock.glue.jobs.stopping import stop_requested

args = getResolvedOptions(sys.argv, ["JOB_NAME", "day"])
properties = Path(os.environ["PENSTOCK_GLUE_SCRATCH"]) / "spark.properties"
names = ["AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "PYSPARK_SUBMIT_ARGS"]
found = {name: os.environ[name] for name in names}
print(json.dumps({**found, "args": args, "properties": properties.read_text()}), flush=True)
stop_requested.wait()
print("ended", flush=True)
"""
    started = command(tmp_path, script, "--day=1", "--more", "x")
    with subprocess.Popen(started, env=environment, stdout=subprocess.PIPE, text=True) as process:
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
        timer.cancel()
    assert process.returncode == 0
    assert rest == "ended\n"
    assert said["AWS_ENDPOINT_URL"] == platform.endpoint_url
    assert said["AWS_ACCESS_KEY_ID"] == platform.access_key_id
    assert (said["args"]["JOB_NAME"], said["args"]["day"]) == ("job", "1")
    lines = said["properties"].splitlines()
    assert "spark.sql.ansi.enabled=false" in lines
    assert any(line.startswith("spark.hadoop.fs.viewfs.mounttable.shop.linkFallback=") for line in lines)
    assert platform.secret_access_key not in said["properties"] + said["PYSPARK_SUBMIT_ARGS"]
    scratch = said["PYSPARK_SUBMIT_ARGS"].split()[1]
    assert not Path(scratch).parent.exists()


def test_errors_of_ours_are_one_message(tmp_path: Path, environment: dict[str, str]) -> None:
    # The check before the start does not know what str returns.
    script = "import sys\nfrom awsglue.utils import getResolvedOptions\ngetResolvedOptions(sys.argv, [str('day')])\n"
    mine = {**environment, "AWS_ACCESS_KEY_ID": "AKIAMINE"}
    done = ended(command(tmp_path, script), mine)
    assert done.returncode == 2
    assert done.stderr.startswith("penstock: The job's arguments are wrong: the following arguments are required: --day.")
    assert done.stderr.rstrip().endswith(" (job.py, line 3)")
    assert "Traceback" not in done.stderr
    # What the script itself raises is its own.
    traced = "from pyspark.logger import PySparkLogger as P\nP.getLogger('SQLQueryContextLogger').error('of the JVM')\n1 / 0"
    done = ended(command(tmp_path, traced), mine)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    # PySpark's JSON of the JVM's stack trace is not printed beside the exception.
    assert "of the JVM" not in done.stderr.splitlines()[0]


def test_settings_and_files_of_a_jobs_own_arguments_are_applied(tmp_path: Path, environment: dict[str, str]) -> None:
    bucket = tmp_path / "home" / "lake" / "shop"
    bucket.mkdir(parents=True)
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "beside.py").write_text("WORD = 'module'")
    (bucket / "drivers.jar").write_bytes(b"")
    with zipfile.ZipFile(bucket / "library.zip", "w") as archive:
        archive.writestr("library/__init__.py", "WORD = 'archive'")
    script = """
import os
from pathlib import Path
import beside, library

mechanism = "AWS_MSK_IAM"  # its login comes along
properties = Path(os.environ["PENSTOCK_GLUE_SCRATCH"], "spark.properties").read_text()
print(beside.WORD, library.WORD)
print(*(line for line in properties.splitlines() if "spark.a" in line or "lock-impl" in line or "drivers.jar" in line))
"""
    files = f"{tmp_path / 'far' / 'beside.py'},s3://shop/library.zip"
    given = ["--extra-py-files", files, "--lake", "x"]
    lock = "spark.sql.catalog.glue_catalog.lock-impl=org.apache.iceberg.aws.dynamodb.DynamoDbLockManager"
    given += ["--conf", f"spark.a=1 --conf {lock} --conf spark.ab=2", "--extra-jars=s3://shop/drivers.jar"]
    lake = environment | {"PENSTOCK_LAKE": str(bucket.parent)}
    done = ended(command(tmp_path, script, *given), lake)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "module archive"), done.stderr
    assert all(name in done.stdout for name in ("spark.a=", "spark.ab=", str(bucket / "drivers.jar"), "aws-msk-iam-auth")), (
        done.stdout
    )
    assert "lock-impl" not in done.stdout
    lacking = ended(command(tmp_path, script, *given[2:], "--extra-py-files", "beside.py,library.zip"), lake)
    assert "--extra-py-files names beside.py, which does not exist." in lacking.stderr


def test_further_modules_are_installed_for_the_script(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/jvm").symlink_to(cache_folder(os.environ))
    wheel(tmp_path / "lake/w", "shop", "1.0")
    own = {**environment, "PENSTOCK_CACHE": str(tmp_path / "cache"), "PENSTOCK_LAKE": str(tmp_path / "lake")}
    named = ("--additional-python-modules", "s3://w/shop-1.0-py3-none-any.whl")
    done = ended(command(tmp_path, "import shop\nprint(shop.VERSION, shop.__file__)\n", *named), own)
    (made,) = (tmp_path / "cache/python-modules/environments").glob("*/shop.py")
    assert done.stdout == f"1.0 {made}\n", done.stderr
    refused = ended(command(tmp_path, "", "--additional-python-modules=git+https://h/x"), own)
    assert (refused.returncode, "is not the location of a wheel" in refused.stderr) == (2, True), refused.stderr
