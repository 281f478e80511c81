"""How the process of Spark SQL is started that runs the statements of work groups which select it."""

from dataclasses import dataclass

__all__ = ["SparkSqlSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSqlSettings:
    """The master, what the JVM needs, and limits. The class archive covers ``jars``, and not ``more_jars``."""

    master: str
    java_home: str
    jars: tuple[str, ...]
    more_jars: tuple[str, ...]
    log: str
    """Begins the names of the logs, one for each account."""
    archive: str | None = None
    driver_memory: str = "1g"
    idle_seconds: float = 300.0
    """A process without a statement for this long ends."""
    at_once: int = 4
    """How many statements it computes at a time; others wait."""
    configuration: tuple[tuple[str, str], ...] = ()
    """Further settings of Spark, such as those of a cluster's executors."""
