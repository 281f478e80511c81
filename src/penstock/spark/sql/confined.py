"""The process of Spark SQL: ``python -P -m penstock.spark.sql.confined DESCRIPTOR``, a socket to its owner.

It confines itself before it imports Spark and Arrow, whose threads could not be confined any more, and then does what
:mod:`penstock.spark.sql.process` says.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from penstock.children.frames import Channel
from penstock.children.messages import MessageReader
from penstock.children.serving import confine_to, ignore_interrupts
from penstock.spark.sql.messages import REQUESTS, Open

__all__ = ["main"]


def main(arguments: Sequence[str]) -> None:
    """Serve the owner."""
    os.umask(0o077)
    ignore_interrupts()
    channel = Channel.inherited(int(arguments[0]), REQUESTS)
    message = MessageReader[Open](Open, most=None).read(channel.receive()[0])
    _confine(message)
    from penstock.spark.sql import process  # noqa: PLC0415 - see above

    process.main(channel, message)


def _confine(message: Open) -> None:
    """Leave this process, its JVM and Python workers the account's lake to read, and their own folders to write."""
    settings = message.settings
    jars = map(Path, (*settings.jars, *settings.more_jars, *filter(None, [settings.archive])))
    cluster = urlsplit(settings.master)
    confine_to(
        os.environ,
        read=[message.lake, *jars],
        write=[message.files, Path(os.environ["TMPDIR"]), message.log],
        connect=(cluster.port,) if cluster.scheme == "spark" and cluster.port else (),
        local_ports=True,
        all_files=True,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
