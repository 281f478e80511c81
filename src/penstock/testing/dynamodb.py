"""DynamoDB Local for tests: Amazon's own, in memory, in a child process on a free port.

Its SQLite is a native library that the Maven repository has for Linux on x86-64 and for macOS. The artefact's licence allows
it for development and testing.
"""

import contextlib
import os
import platform
import sys
from collections.abc import Iterator

from penstock.errors import EnvironmentProblem
from penstock.local.artefacts import class_path
from penstock.local.java import find_java
from penstock.local.processes.child import Service
from penstock.local.processes.ports import answers, free_ports
from penstock.testing.standin import StandIn, running_service

__all__ = ["DynamoDBLocal", "running_dynamodb"]

_LIBRARIES = {
    ("linux", "x86_64"): "libsqlite4java-linux-amd64",
    ("darwin", "x86_64"): "libsqlite4java-osx-1",
    ("darwin", "arm64"): "libsqlite4java-osx-aarch64",
}
_MAIN = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"


class DynamoDBLocal(StandIn):
    """A DynamoDB that answers at ``endpoint_url``, with the same tables for all credentials and regions."""

    service = "dynamodb"


@contextlib.contextmanager
def running_dynamodb() -> Iterator[DynamoDBLocal]:
    """Run an empty DynamoDB during the block.

    Raises :class:`EnvironmentProblem` if there is no Java or no library for this machine, or the fetch fails.
    """
    jars = class_path("dynamodb")
    name = _LIBRARIES.get((sys.platform, platform.machine()))
    native = [path.parent for path in jars if name is not None and path.name.startswith(name)]
    if not native:
        raise EnvironmentProblem(
            f"DynamoDB Local has no SQLite for {sys.platform} on {platform.machine()}.",
            remedy="Run these tests on Linux on x86-64, or on macOS.",
        )
    java = find_java(os.environ)
    (port,) = free_ports(1)
    command = [
        str(java.executable),
        "-Xmx256m",
        "-XX:TieredStopAtLevel=1",
        f"-Djava.library.path={native[0]}",
        "-cp",
        os.pathsep.join(str(path) for path in jars if path.suffix == ".jar"),
        _MAIN,
        *("-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)),
    ]
    service = Service(
        name="dynamodb", title="DynamoDB Local", command=lambda: command, is_ready=lambda: answers("127.0.0.1", port)
    )
    with running_service(service):
        yield DynamoDBLocal(endpoint_url=f"http://127.0.0.1:{port}")
