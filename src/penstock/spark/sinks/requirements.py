"""What Spark needs for a pipeline's sinks: groups of JVM artefacts and configuration, and only those of the kinds in use.

Iceberg's catalogs are configured by their writer, in the running session; Delta's catalog and extension have to be there
when Spark starts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.pipelines.sinks.delta import DeltaSink
from penstock.pipelines.sinks.iceberg import IcebergSink
from penstock.pipelines.sinks.settings import SinkSettings

__all__ = ["Requirements", "requirements"]

_EXTENSIONS = "spark.sql.extensions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """``groups`` are those of jvm.lock, in class path order; ``configuration`` is for ``SessionSettings.extra``."""

    groups: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)

    def configured(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return the configuration with a user's ``own`` over it; extensions of both are loaded."""
        both = [part[_EXTENSIONS] for part in (self.configuration, own) if part.get(_EXTENSIONS)]
        return {**self.configuration, **own, **({_EXTENSIONS: ",".join(both)} if both else {})}


_DELTA = {
    _EXTENSIONS: "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Tasks that compute a table's state from its log, for each batch; Delta's 50 are for logs of many thousand files.
    "spark.databricks.delta.snapshotPartitions": "4",
}


def requirements(sinks: Iterable[SinkSettings]) -> Requirements:
    """Return what the ``sinks`` of a pipeline need of Spark. Glue's client, for Iceberg, comes with AWS's SDK."""
    declared = list(sinks)
    iceberg = [sink for sink in declared if isinstance(sink, IcebergSink)]
    delta = any(isinstance(sink, DeltaSink) for sink in declared)
    groups = [
        *(["iceberg"] if iceberg else []),
        *(["iceberg-aws"] if any(sink.catalog.type == "glue" for sink in iceberg) else []),
        *(["delta"] if delta else []),
    ]
    return Requirements(groups=tuple(groups), configuration=_DELTA if delta else {})
