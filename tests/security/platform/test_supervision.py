"""Supervision with the real services: one that hangs is replaced, and one that keeps crashing does not end others."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from penstock.local.broker import Broker
from penstock.local.processes.child import Service
from penstock.local.processes.ports import free_ports
from penstock.local.processes.supervisor import LivenessPolicy, RestartPolicy, Supervisor
from penstock.local.server import ServerProcess
from penstock.settings.home import PlatformConfig
from penstock.testing.clients import boto3_client
from penstock.testing.polling import eventually
from tests.security.targets import Keys

_KEYS = Keys(access_key_id="AKIASECURITYTESTS", secret_access_key="a-secret-of-the-tests")
_LIVENESS = LivenessPolicy(interval=0.2, deadline=0.5, patience=4)


@contextlib.contextmanager
def supervised(service: Service, folder: Path) -> Iterator[Supervisor]:
    supervisor = Supervisor([service], folder / "logs", policy=RestartPolicy(pause=0.01), liveness=_LIVENESS)
    supervisor.start()
    watcher = threading.Thread(target=supervisor.run)
    watcher.start()
    try:
        yield supervisor
    finally:
        supervisor.request_stop()
        watcher.join()
        supervisor.stop()


def stop_process(supervisor: Supervisor) -> int:
    """SIGSTOP the part itself: its port still takes connections, and nothing answers."""
    [state] = supervisor.states
    assert state.pid is not None
    [process] = psutil.Process(state.pid).children()
    process.send_signal(signal.SIGSTOP)
    return process.pid


def replaced(supervisor: Supervisor) -> bool:
    [state] = supervisor.states
    return state.restarts >= 1 and state.ready


def test_a_server_that_does_not_answer_is_replaced(tmp_path: Path) -> None:
    [port] = free_ports(1)
    server = ServerProcess(home=tmp_path, config=PlatformConfig(server_port=port, kafka_password="unused", **_KEYS))
    with supervised(server.service(), tmp_path) as supervisor:
        glue = boto3_client("glue", f"http://127.0.0.1:{port}", "us-east-1", **_KEYS)
        glue.create_registry(RegistryName="kept")
        stopped = stop_process(supervisor)
        eventually(lambda: replaced(supervisor), "the server was replaced")
        assert not psutil.pid_exists(stopped)
        assert glue.get_registry(RegistryId={"RegistryName": "kept"})["RegistryName"] == "kept"


@pytest.mark.jvm
def test_a_broker_that_does_not_answer_is_replaced(tmp_path: Path) -> None:
    port, controller = free_ports(2)
    broker = Broker(folder=tmp_path / "kafka", port=port, controller_port=controller, password="a-password")
    with supervised(broker.service(), tmp_path) as supervisor:
        stop_process(supervisor)
        eventually(lambda: replaced(supervisor), "the broker was replaced", 120)
        assert broker.healthy()


def test_a_worker_that_does_not_answer_is_replaced(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent("""
            import os, socket, sys, time
            from pathlib import Path
            from penstock.server import workers
            from penstock.settings.server import ServerSettings

            def serve_one(settings, listener, beat):
                (settings.lake / str(os.getpid())).touch()
                while True:
                    beat()
                    time.sleep(0.05)

            if __name__ == "__main__":
                folder = Path(sys.argv[1])
                workers._SILENT_SECONDS = 2.0
                settings = ServerSettings(
                    store_url="", lake=folder, account_lakes=folder, master_key_file=folder, workers=2
                )
                workers.run_workers(settings, socket.socket(), serve_one, grace=5)
        """)
    )
    folder = tmp_path / "workers"
    folder.mkdir()
    parent = subprocess.Popen([sys.executable, str(script), str(folder)])
    try:
        eventually(lambda: len(list(folder.iterdir())) == 2, "both workers run")
        stopped, other = (int(path.name) for path in folder.iterdir())
        os.kill(stopped, signal.SIGSTOP)
        eventually(lambda: len(list(folder.iterdir())) == 3, "a third one runs")
        eventually(lambda: not psutil.pid_exists(stopped), "the stopped one was ended")
        assert psutil.pid_exists(other)
    finally:
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(30) == 0
