"""Fixtures that every suite shares. Real parts are started once a session, as child processes, on free ports."""

import functools
import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import botocore.session
import pytest

if TYPE_CHECKING:
    from penstock.testing.server import RunningServer

# A runner in the background ignores these, and every child would inherit that; tests that press Ctrl-C need them as a
# terminal leaves them. Children get the default action of a signal that is handled here.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(_number, signal.SIG_DFL)

# Spark's processes of tests live too briefly for the JDK's second compiler to pay off: without it they need half the
# processor time (spark-submit and its launcher read these).
for _options in ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS"):
    os.environ.setdefault(_options, "-XX:TieredStopAtLevel=1")

# Every session of boto3 reads AWS's models anew, 60 to 200 ms of processor time for a client: those of tests share them.
vars(botocore.session)["create_loader"] = functools.cache(botocore.session.create_loader)


@pytest.fixture(autouse=True)
def path_of_children() -> None:
    """Let a test's Python children import from their working directory, whatever ran in this process before.

    Penstock's commands, which tests call in this process, and the session's GlueContext prevent that for their own children.
    """
    os.environ.pop("PYTHONSAFEPATH", None)


@pytest.fixture(scope="session")
def penstock_server(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[RunningServer]":
    """One real server for the session: clients from ``penstock_server.client("glue")``, buckets in ``.lake``."""
    from penstock.testing.server import running_server

    with running_server(tmp_path_factory.mktemp("server") / "home") as server:
        yield server
