"""Declared pipelines: what flows from where to where, as frozen values without Spark."""

from .decode import ConfluentRegistry as ConfluentRegistry
from .decode import Decode as Decode
from .decode import Key as Key
from .evolution import Evolution as Evolution
from .model import Accounts as Accounts
from .model import DeadLetters as DeadLetters
from .model import Drift as Drift
from .model import Pipeline as Pipeline
from .model import Trigger as Trigger
from .parse import parse_pipeline as parse_pipeline
from .parse import read_pipeline as read_pipeline
from .sinks.jdbc import JdbcSink as JdbcSink
from .sinks.parquet import ParquetSink as ParquetSink
from .sinks.settings import ChangeCapture as ChangeCapture
from .sinks.settings import SinkSettings as SinkSettings
from .sources.files import FileSource as FileSource
from .sources.kafka import KafkaSource as KafkaSource
from .sources.kinesis import KinesisSource as KinesisSource
from .targets import CatalogTarget as CatalogTarget
from .transforms import DeduplicateStep as DeduplicateStep
from .transforms import Expectation as Expectation
from .transforms import Mask as Mask
from .transforms import PythonStep as PythonStep
from .transforms import SqlStep as SqlStep
from .transforms import Transform as Transform
from .transforms import WindowStep as WindowStep
