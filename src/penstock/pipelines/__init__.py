"""Declared pipelines: what flows from where to where, as frozen values without Spark."""

from penstock.pipelines.model import (
    CatalogTarget,
    DeadLetters,
    Decode,
    Drift,
    KafkaSource,
    ParquetSink,
    Pipeline,
    Transform,
    Trigger,
)
from penstock.pipelines.parse import parse_pipeline, read_pipeline

__all__ = [
    "CatalogTarget",
    "DeadLetters",
    "Decode",
    "Drift",
    "KafkaSource",
    "ParquetSink",
    "Pipeline",
    "Transform",
    "Trigger",
    "parse_pipeline",
    "read_pipeline",
]
