"""Run one Glue script that ``penstock glue run`` has set up: the arguments are the script and the script's arguments."""

import logging
import os
import re
import runpy
import shutil
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from pyspark.errors import StreamingQueryException

from penstock.errors import EnvironmentProblem, PenstockError
from penstock.glue.jobs.stopping import handle_signals
from penstock.glue.launch.catalog_service import catalog_served
from penstock.glue.launch.monitoring import EVENTS, EventLog
from penstock.glue.library_modules import install
from penstock.glue.patches.table import apply_patches
from penstock.spark.problems import error_of_ours
from penstock.spark.session import mute_error_logs

__all__ = ["SCRATCH", "main", "modules_beside"]

SCRATCH = "PENSTOCK_GLUE_SCRATCH"
"""Environment variable: the folder of this run, removed at its end."""

# Spark has the SerDes of Hive alone: AWS's guide, "Data Catalog support for Spark SQL jobs", adds the files of others, too.
_NO_SERDE = re.compile(r"ClassNotFoundException: (?:Class )?([\w.$]*(?i:serde)[\w.$]*)")


def main(arguments: Sequence[str]) -> int:
    """Run the script as Python would, with ``arguments`` as its sys.argv; return the exit status.

    Penstock's own errors are printed as one message, other exceptions with their tracebacks.
    """
    _log_to_stderr()
    sys.argv[:] = list(arguments)
    sys.path[:0] = modules_beside(Path(arguments[0]))
    handle_signals()
    apply_patches()
    install()
    try:
        with catalog_served():
            runpy.run_path(arguments[0], run_name="__main__")
    except Exception as error:
        problem = error if isinstance(error, PenstockError) else _problem(error)
        if problem is None or os.environ.get("PENSTOCK_DEBUG") == "1":
            raise
        print(f"penstock: {problem}{_line(error, arguments[0])}", file=sys.stderr)
        return problem.exit_code
    finally:
        scratch = os.environ.get(SCRATCH)
        if scratch and os.environ.get(EVENTS):
            EventLog(os.environ[EVENTS]).publish(Path(scratch, "events"))
        if scratch:
            shutil.rmtree(scratch, ignore_errors=True)
    return 0


def modules_beside(script: Path) -> Sequence[str]:
    """Return the folder whose modules ``script`` imports by their names; none for our own prompt and sessions.

    The modules beside those are this package's, and would hide the user's modules of the same names.
    """
    folder = script.absolute().parent
    return [] if folder == Path(__file__).parent else [str(folder)]


def _problem(error: Exception) -> PenstockError | None:
    """Return what an error of Spark means where its own text does not say what to do.

    One of ours comes as the text of a stream's exception if Spark called the source.
    """
    if isinstance(error, StreamingQueryException):
        return error_of_ours(str(error))
    serde = _NO_SERDE.search(str(error))
    if serde is None:
        return None
    return EnvironmentProblem(
        f"Spark has no SerDe {serde[1]}, which a table of the script's SQL is read with.",
        remedy="Read the table with create_dynamic_frame.from_catalog and query a temporary view of its toDF(), "
        "or give the SerDe's file: --extra-jars.",
    )


def _log_to_stderr() -> None:
    """Print the messages of Glue's logger and of Penstock; the root logger is left to the script's own basicConfig."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name, level in (("awsglue", logging.INFO), ("penstock", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.addHandler(handler)
        logger.propagate = False
    for noisy in ("py4j", "pyspark"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    mute_error_logs()


def _line(error: Exception, script: str) -> str:
    """Return where the script was when it got the error, such as `` (job.py, line 3)``."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == script]
    return f" ({Path(script).name}, line {lines[-1]})" if lines else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
