"""The Spark runner: sources, decode, sinks, checkpoints, dead letters, metrics. The only package that imports pyspark."""

from .runner import run as run
from .running.options import RunOptions as RunOptions
from .running.options import RunReport as RunReport
from .sources.kinesis.source import KinesisDataSource as KinesisDataSource
