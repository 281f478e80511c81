"""What a server's start loads: every heavy module it leaves out is time to ready and memory saved."""

import subprocess
import sys

_HEAVY = ("alembic", "boto3", "duckdb", "numpy", "pyarrow", "sqlglot", "urllib3")


def test_the_server_starts_without_engines_and_clients() -> None:
    program = f"import sys, penstock.server.app; print([name for name in {_HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout.strip() == "[]"
