"""The Spark runner: sources, decode, sinks, checkpoints, dead letters, metrics. The only package that imports pyspark."""

from .running.options import RunOptions as RunOptions
from .running.options import RunReport as RunReport
from .running.runner import run as run
from .sources.kinesis.source import KinesisDataSource as KinesisDataSource
