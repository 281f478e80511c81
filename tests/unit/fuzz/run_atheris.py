"""Fuzz one target, guided by the coverage of its Python code.

``python -m tests.unit.fuzz.run_atheris TARGET [SECONDS] [FOLDER]``. Needs atheris (``pip install atheris``; 3.0 has a
wheel for CPython 3.11 on Linux), which the locked environment does not have.
A finding is written to the folder and ends the run; what was found and mended goes to ``corpus``.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["penstock"], enable_loader_override=False):
    from tests.unit.fuzz.fuzz_targets import TARGETS

_MAX_LENGTH = 4096
_TIMEOUT = 60  # seconds by the clock for one input: it is instrumented, and the machine may be shared


def main() -> None:
    """Run until the time is over or something is found."""
    name = sys.argv[1]
    seconds = sys.argv[2] if len(sys.argv) > 2 else "60"
    folder = Path(sys.argv[3] if len(sys.argv) > 3 else Path(tempfile.gettempdir()) / "penstock-fuzz" / name)
    folder.mkdir(parents=True, exist_ok=True)
    seeds = Path(__file__).with_name("corpus") / name
    options = [f"-max_total_time={seconds}", f"-max_len={_MAX_LENGTH}", f"-timeout={_TIMEOUT}", "-rss_limit_mb=2048"]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={folder}/found-", str(folder), str(seeds)], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
