"""The process of Spark SQL: ``python -P -m penstock.spark.sql.confined DESCRIPTOR``, a socket to its owner.

It confines itself before it imports Spark and Arrow, whose threads could not be confined any more, and then does what
:mod:`penstock.spark.sql.process` says.
"""

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from penstock.sandbox.confinement import Confinement, confine, is_possible
from penstock.sandbox.surroundings import needed

__all__ = ["main"]


def main(arguments: Sequence[str]) -> None:
    """Serve the owner."""
    os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel: Connection[Any, Any] = Connection(int(arguments[0]))
    os.set_inheritable(channel.fileno(), False)
    settings = json.loads(channel.recv_bytes())
    _confine(settings)
    from penstock.spark.sql import process  # noqa: PLC0415 - see above

    process.main(channel, settings)


def _confine(settings: Mapping[str, Any]) -> None:
    """Leave this process, its JVM and Python workers the account's lake to read, and their own folders to write."""
    if not is_possible():
        return
    jars = [Path(each) for each in (*settings["jars"], *settings["more_jars"], *filter(None, [settings["archive"]]))]
    cluster = urlsplit(settings["master"])
    confine(
        Confinement(
            read=needed(os.environ, Path(settings["lake"]), *jars),
            write=tuple(Path(each) for each in (settings["files"], os.environ["TMPDIR"], settings["log"])),
            connect=(cluster.port,) if cluster.scheme == "spark" and cluster.port else (),
            local_ports=True,
            all_files=True,
        )
    )


if __name__ == "__main__":
    main(sys.argv[1:])
