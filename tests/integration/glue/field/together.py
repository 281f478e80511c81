"""Run Glue scripts one after another in one process: ``penstock glue run together.py --plan FILE``.

The plan is a list of lists: a script and its arguments; or ``arrive``, to copy files from one folder to another.
Each script gets a SparkContext of its own, all of them one JVM.
"""

import json
import runpy
import shutil
import sys
import time
from pathlib import Path

from pyspark import SparkContext

plan = json.loads(Path(sys.argv[sys.argv.index("--plan") + 1]).read_text())
for script, *arguments in plan:
    if script == "arrive":
        shutil.copytree(arguments[0], arguments[1], dirs_exist_ok=True, copy_function=shutil.copy)
        continue
    started = time.monotonic()
    sys.argv[:] = [script, *arguments]
    runpy.run_path(script, run_name="__main__")
    SparkContext.getOrCreate().stop()
    print(f"ENDED {Path(script).stem} after {time.monotonic() - started:.1f} seconds", file=sys.stderr, flush=True)
