"""The AWS CLI as a child process."""

import os
import subprocess
import sys
from pathlib import Path

from penstock.testing.server import RunningServer

__all__ = ["aws"]

_AWS = Path(sys.executable).with_name("aws")


def aws(server: RunningServer, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """The AWS CLI, pointed at the server by its environment alone."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    config = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_MAX_ATTEMPTS": "1"}
    return subprocess.run(
        [str(_AWS), *arguments, "--output", "json"],
        env=inherited | config | server.environment() | environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
