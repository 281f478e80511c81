"""TPC-H through Athena's API of a real server beside plain DuckDB on the same files: times and answers of the 22 questions.

PENSTOCK_BENCH_SCALE sets the scale (default 1: 8.7 million rows). Each question runs three times by turns, and the best of
each side counts. A question of ours lasts from the request to the answer that it is done; DuckDB's rows are fetched.
"""

from benchmarks.tpch.suite import run

__all__ = ["run"]
