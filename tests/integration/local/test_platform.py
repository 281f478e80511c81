"""``penstock up``, ``status``, ``env`` and ``down`` with the real parts, from the outside as a user runs them."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import psutil
import pytest
from confluent_kafka import Producer

from penstock.local.broker import client_settings
from penstock.local.instance import Instance, PlatformState
from penstock.local.platform import Platform
from penstock.local.processes.ports import answers, free_ports
from penstock.local.processes.supervisor import RestartPolicy
from penstock.settings.home import Home, PlatformConfig
from penstock.testing.polling import alive, descendants, eventually

pytestmark = pytest.mark.jvm


@dataclass(frozen=True)
class Installation:
    """One home and its ports."""

    home: Path
    ports: tuple[int, ...]

    def penstock(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=200, check=False, **options)

    def command(self, name: str, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "penstock", name, "--home", str(self.home), *arguments]

    @property
    def up(self) -> list[str]:
        options = ("--server-port", "--s3-port", "--kafka-port", "--controller-port")
        return [text for option, port in zip(options, self.ports, strict=True) for text in (option, str(port))]

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self.penstock("status", "--json").stdout))

    def client(self, service: str) -> Any:
        variables = json.loads(self.penstock("env", "--format", "json").stdout)
        endpoint = variables["AWS_ENDPOINT_URL_S3"] if service == "s3" else variables["AWS_ENDPOINT_URL"]
        make_client: Any = boto3.client
        return make_client(
            service,
            endpoint_url=endpoint,
            aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
            region_name=variables["AWS_REGION"],
        )


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A home that is used by all tests here one after the other, as over a platform's life."""
    installation = Installation(tmp_path_factory.mktemp("platform") / "home", tuple(free_ports(4)))
    yield installation
    installation.penstock("down")


@pytest.fixture
def running(stopped: Installation) -> Installation:
    if not (stopped.home / "platform.json").exists() or stopped.status()["phase"] != "running":
        done = stopped.penstock("up", "--detach", *stopped.up)
        assert done.returncode == 0, done.stdout + done.stderr
    return stopped


def test_status_before_anything_was_started(stopped: Installation) -> None:
    if not stopped.home.exists():
        done = stopped.penstock("status")
        assert (done.returncode, done.stdout) == (2, "")
        assert f"There is no platform in {stopped.home}. Start one with 'penstock up'" in done.stderr


def test_up_prints_the_addresses_of_the_parts(running: Installation) -> None:
    done = running.penstock("down")
    assert (done.returncode, done.stdout) == (0, f"The platform in {running.home} has stopped.\n")
    done = running.penstock("up", "--detach")
    assert done.returncode == 0, done.stderr
    for text in (
        f"http://127.0.0.1:{running.ports[0]}",
        f"http://127.0.0.1:{running.ports[1]}",
        f"127.0.0.1:{running.ports[2]}",
        f'eval "$(penstock env --home {running.home})"',
    ):
        assert text in done.stdout


def test_status_is_healthy_with_exit_code_0(running: Installation) -> None:
    done = running.penstock("status", "--json")
    status = json.loads(done.stdout)
    assert (done.returncode, status["healthy"], status["phase"]) == (0, True, "running")
    assert {part["name"]: part["healthy"] for part in status["parts"]} == {"server": True, "s3": True, "kafka": True}
    assert "Kafka broker" in running.penstock("status").stdout


def test_a_shell_that_evaluates_env_reaches_the_platform(running: Installation) -> None:
    script = (
        'eval "$("$PYTHON" -m penstock env --home "$HOME_OF")"; '
        "\"$PYTHON\" -c \"import boto3; print(len(boto3.client('glue').get_databases()['DatabaseList']), "
        "boto3.client('s3').list_buckets()['Buckets'][0]['Name'])\""
    )
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHON": sys.executable,
        "HOME_OF": str(running.home),
        "HOME": str(running.home),
    }
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout.split() == ["0", "lake"], done.stderr


def test_the_brokers_credentials_are_in_secrets_manager_and_work(running: Installation) -> None:
    secret = json.loads(running.client("secretsmanager").get_secret_value(SecretId="AmazonMSK_penstock")["SecretString"])
    assert set(secret) == {"username", "password"}
    producer = Producer({**client_settings(f"127.0.0.1:{running.ports[2]}", **secret), "log_level": 0})
    failures: list[object] = []
    producer.produce("flights", b"one", on_delivery=lambda error, _: failures.append(error))
    assert producer.flush(60) == 0
    assert failures == [None]


def test_files_in_the_lake_get_their_etag_by_themselves(running: Installation) -> None:
    (running.home / "lake" / "lake" / "by-hand.txt").write_text("by hand")
    s3 = running.client("s3")
    eventually(lambda: "ETag" in s3.head_object(Bucket="lake", Key="by-hand.txt"), "the file has an ETag")


def test_a_second_up_is_refused(running: Installation) -> None:
    done = running.penstock("up", *running.up)
    assert done.returncode == 3
    assert f"penstock: A platform already runs in {running.home} (process {running.status()['pid']})." in done.stderr


def test_a_killed_broker_is_restarted(running: Installation) -> None:
    before = next(part for part in running.status()["parts"] if part["name"] == "kafka")
    [java] = psutil.Process(before["pid"]).children()
    os.kill(java.pid, signal.SIGKILL)

    def back() -> bool:
        status = running.status()
        kafka = next(part for part in status["parts"] if part["name"] == "kafka")
        return bool(kafka["restarts"] == before["restarts"] + 1 and status["healthy"])

    eventually(back, "the broker was restarted once and is healthy", 120)


def test_sigkill_of_up_leaves_nothing_and_the_next_up_has_all_data(running: Installation) -> None:
    running.client("s3").put_object(Bucket="lake", Key="kept", Body=b"data")
    running.client("secretsmanager").create_secret(Name="kept", SecretString="data")
    supervisor = running.status()["pid"]
    pids = descendants(supervisor)
    # Three leashes, the broker, the S3 endpoint, the server.
    assert len(pids) >= 6
    os.kill(supervisor, signal.SIGKILL)
    eventually(lambda: not any(alive(pid) for pid in pids), "all children end")
    assert not any(answers("127.0.0.1", port) for port in running.ports)
    status = running.penstock("status", "--json")
    assert (status.returncode, json.loads(status.stdout)["phase"]) == (1, "stopped")
    done = running.penstock("up", "--detach")
    assert done.returncode == 0, done.stderr
    assert running.client("s3").get_object(Bucket="lake", Key="kept")["Body"].read() == b"data"
    assert running.client("secretsmanager").get_secret_value(SecretId="kept")["SecretString"] == "data"


def test_ctrl_c_ends_everything_in_the_foreground(running: Installation) -> None:
    running.penstock("down")
    process = subprocess.Popen(running.command("up"), stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    with process.stdout as output:
        for line in output:
            if line.startswith("To stop it:"):
                break
        pids = descendants(process.pid)
        assert len(pids) >= 6
        process.send_signal(signal.SIGINT)
        assert output.read() == "Stopping.\nStopped.\n"
    assert process.wait(60) == 0
    assert not any(alive(pid) for pid in pids)


def test_a_taken_port_is_one_clear_line(stopped: Installation) -> None:
    stopped.penstock("down")
    with socket.create_server(("127.0.0.1", stopped.ports[2])):
        done = stopped.penstock("up", *stopped.up)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == (
        f"penstock: Port {stopped.ports[2]} on 127.0.0.1 is taken; the Kafka broker needs it. "
        "Choose another one with --kafka-port PORT, or stop the program that listens there."
    )
    assert stopped.status()["phase"] == "stopped"


def test_down_of_a_stopped_platform_is_no_error(stopped: Installation) -> None:
    stopped.penstock("down")
    done = stopped.penstock("down")
    assert (done.returncode, done.stdout) == (0, f"No platform runs in {stopped.home}.\n")


def state_of(home: Home) -> PlatformState:
    state = Instance(home.run).read()
    assert state is not None
    return state


def test_from_python_a_part_that_keeps_crashing_is_reported_as_failure_and_the_others_run_on(tmp_path: Path) -> None:
    server, s3, kafka, controller = free_ports(4)
    config = PlatformConfig.generate(server_port=server, s3_port=s3, kafka_port=kafka, controller_port=controller)
    home = Home(tmp_path / "home")
    reported: list[str] = []
    policy = RestartPolicy(limit=0, pause=12)
    with Platform(home, config, policy=policy, report=reported.append) as platform:
        assert platform.state.phase == "running"
        assert all(part.ready for part in platform.state.parts)
        assert home.load() == config
        before = {part.name: part.pid for part in platform.state.parts}
        [java] = psutil.Process(before["kafka"]).children()
        os.kill(java.pid, signal.SIGKILL)
        eventually(lambda: platform.failure is not None, "the failure is noticed")
        assert "The Kafka broker ended with status 137" in str(platform.failure)
        eventually(lambda: state_of(home).phase == "degraded", "the state is written")
        state = state_of(home)
        assert {part.name for part in state.parts if part.problem} == {"kafka"}
        done = subprocess.run(
            [sys.executable, "-m", "penstock", "status", "--home", str(home.root)],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 1
        assert f"The platform in {home.root} is degraded" in done.stdout
        assert "Kafka broker: The Kafka broker ended with status 137" in done.stdout
        eventually(lambda: platform.failure is None, "the broker is back", 120)
        after = {part.name: part.pid for part in platform.state.parts}
        assert (after["server"], after["s3"]) == (before["server"], before["s3"])
        assert platform.state.phase == "running"
    assert not Instance(home.run).is_held()
    assert not any(answers("127.0.0.1", port) for port in (server, s3, kafka, controller))
    assert "Kafka broker ready after" in " ".join(reported)
