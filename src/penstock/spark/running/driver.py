"""The driver of a pipeline in a cluster: in the session that the cluster made, with the environment of its container."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.pipelines import read_pipeline
from penstock.spark.metrics import BatchMetrics
from penstock.spark.running.runner import RunOptions, run
from penstock.spark.running.submission import driver_environment

__all__ = ["main"]


def main(arguments: Sequence[str]) -> None:
    """Run a pipeline's file until it is done or SIGTERM comes; exits as ``penstock run`` does."""
    parser = argparse.ArgumentParser(prog="penstock_driver.py")
    parser.add_argument("pipeline", type=Path)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--resume-from-ledger", action="store_true")
    parsed = parser.parse_args(arguments)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    options = RunOptions(once=parsed.once, resume_from_ledger=parsed.resume_from_ledger, stop=stop, on_batch=_show)
    spark = SparkSession.builder.getOrCreate()
    os.environ |= driver_environment(dict(spark.sparkContext.getConf().getAll()))
    try:
        pipeline = read_pipeline(parsed.pipeline)
        report = run(pipeline, spark, options)
    except PenstockError as error:
        _say(f"penstock: {error}")
        sys.exit(error.exit_code)
    _say(f"Pipeline {pipeline.name}: {report.batches:,} batches, {report.rows:,} rows, {report.dead:,} dead letters.")


def _show(metrics: BatchMetrics) -> None:
    _say(f"Batch {metrics.batch} {metrics.outcome}: {metrics.rows:,} rows, {metrics.dead:,} dead")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
