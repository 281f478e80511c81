"""The Spark runner: sources, decode, sinks, checkpoints, dead letters, metrics. The only package that imports pyspark."""

from .runner import RunOptions as RunOptions
from .runner import RunReport as RunReport
from .runner import run as run
from .sources.kinesis.source import KinesisDataSource as KinesisDataSource
