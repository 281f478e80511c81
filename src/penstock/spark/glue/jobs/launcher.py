"""Run one Glue script that ``penstock glue run`` has set up: the arguments are the script and the script's arguments."""

import logging
import os
import runpy
import shutil
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from penstock.errors import PenstockError
from penstock.spark.glue.jobs.catalog_service import catalog_served
from penstock.spark.glue.jobs.overwrites import guard_overwrites
from penstock.spark.glue.jobs.stopping import handle_signals
from penstock.spark.glue.library_modules import install

__all__ = ["SCRATCH", "main"]

SCRATCH = "PENSTOCK_GLUE_SCRATCH"
"""Environment variable: the folder of this run, removed at its end."""


def main(arguments: Sequence[str]) -> int:
    """Run the script as Python would, with ``arguments`` as its sys.argv; return the exit status.

    Penstock's own errors are printed as one message, other exceptions with their tracebacks.
    """
    _log_to_stderr()
    sys.argv[:] = list(arguments)
    sys.path.insert(0, str(Path(arguments[0]).absolute().parent))
    handle_signals()
    guard_overwrites()
    install()
    try:
        with catalog_served():
            runpy.run_path(arguments[0], run_name="__main__")
    except PenstockError as error:
        if os.environ.get("PENSTOCK_DEBUG") == "1":
            raise
        print(f"penstock: {error}{_line(error, arguments[0])}", file=sys.stderr)
        return error.exit_code
    finally:
        scratch = os.environ.get(SCRATCH)
        if scratch:
            shutil.rmtree(scratch, ignore_errors=True)
    return 0


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


def _line(error: Exception, script: str) -> str:
    """Return where the script was when it got the error, such as `` (job.py, line 3)``."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == script]
    return f" ({Path(script).name}, line {lines[-1]})" if lines else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
