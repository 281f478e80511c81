"""Every change of pyspark's own objects, with its reason: Spark has no setting, subclass or listener for these.

``spark.read``, ``frame.write``, ``SparkConf()`` and the streams' queries are made by pyspark from its own classes, which no
setting replaces, and Python's listeners hear of streams alone. Scripts for AWS Glue use them as they are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock.glue.frames import studio
from penstock.glue.patches.iceberg_locks import leave_out_locks
from penstock.glue.patches.overwrites import guard_overwrites
from penstock.glue.patches.own_readers import name_drivers, read_text_with_checksums
from penstock.glue.patches.waits import guard_waits

__all__ = ["PATCHES", "Patch", "apply_patches"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """``names`` are the methods that ``apply`` replaces or adds: ``Class.method``, or ``Class.prefix_*``.

    ``at_start`` is whether the process of every script has it; ``apply`` a second time changes nothing.
    """

    names: Sequence[str]
    reason: str
    apply: Callable[[], None]
    at_start: bool = True


_WRITES = ("mode", "save", "parquet", "json", "csv", "orc", "text")

PATCHES: Sequence[Patch] = (
    Patch(
        names=[f"DataFrameWriter.{name}" for name in _WRITES],
        reason="Spark deletes what an overwrite replaces before it reads it, also where the same query reads it. Its commit "
        "protocols delete at once, and partitionOverwriteMode is for partitions alone.",
        apply=guard_overwrites,
    ),
    Patch(
        names=["StreamingQuery.awaitTermination", "StreamingQueryManager.awaitAnyTermination"],
        reason="Spark waits in the JVM: a stop request and --once must end the streams that the script waits for. "
        "A listener is called when a stream has ended, and not when a script waits for it.",
        apply=guard_waits,
    ),
    Patch(
        names=[
            *(f"DataFrameReader.{name}" for name in ("format", "option", "options", "load", "jdbc")),
            *(f"DataFrameWriter.{name}" for name in ("format", "option", "options", "save", "jdbc")),
        ],
        reason="Java's DriverManager finds no driver of spark.jars by its URL, and spark.driver.extraClassPath has to be "
        "that of the class archive.",
        apply=name_drivers,
    ),
    Patch(
        names=["SparkContext.textFile"],
        reason="Hadoop's older interface reads local files with checksums alone; fs.file.impl is the lake's, without them.",
        apply=read_text_with_checksums,
    ),
    Patch(
        names=["SparkConf.set", "RuntimeConfig.set", "Builder.config"],
        reason="Scripts for Glue 3.0 set lock managers that Iceberg no longer has; no setting overrides a catalog's.",
        apply=leave_out_locks,
    ),
    Patch(
        names=["DataFrame.gs_*"],
        reason="Glue Studio's scripts call its transforms as methods of Spark's DataFrame, as AWS's modules gs_* add them.",
        apply=studio.attach,
        at_start=False,
    ),
)


def apply_patches() -> None:
    """Apply what every script has; the transforms of Glue Studio come with the import of their modules."""
    for patch in PATCHES:
        if patch.at_start:
            patch.apply()
