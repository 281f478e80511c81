"""A Spark session for one pipeline: locked jars, no UI, its log in a file, the lake's names, portable Parquet."""

import logging
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from penstock.durable import PRIVATE_UMASK
from penstock.errors import EnvironmentProblem, NotFound
from penstock.interpreter import SAFE_PATH
from penstock.lake.locations import parse_uri

__all__ = [
    "NO_VARIABLES",
    "SessionSettings",
    "cluster_configuration",
    "ignore_sigterm",
    "is_local",
    "is_secret",
    "lake_configuration",
    "mount_bucket",
    "mute_error_logs",
    "open_session",
    "s3a_configuration",
    "stop_jvm",
    "submit_arguments",
    "write_private",
]

_LOG4J = """\
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {path}
appender.file.filePattern = {path}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{ISO8601}} %-5p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 20MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
"""
# A cluster's scheduler reports every 15 s that it has no worker; once is enough on the program's standard error.
_LOG4J_OF_CLUSTERS = """\
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = Spark: %m%n
appender.stderr.filter.burst.type = BurstFilter
appender.stderr.filter.burst.level = ERROR
appender.stderr.filter.burst.rate = 0.01
appender.stderr.filter.burst.maxBurst = 5
logger.scheduler.name = org.apache.spark.scheduler.TaskSchedulerImpl
logger.scheduler.level = warn
logger.scheduler.appenderRef.stderr.ref = stderr
"""
_LIBRARY = "penstock_library"  # where executors find an archive of packages, in their working folder
# Spark's own default of spark.redaction.regex.
_SECRET = re.compile(r"secret|password|token|access[.]?key", re.IGNORECASE)
# What is there already stays there when a user names more.
_LISTS = {"spark.jars": ",", "spark.archives": ",", "spark.executorEnv.PYTHONPATH": os.pathsep}


NO_VARIABLES: Mapping[str, str] = {
    "spark.sql.variable.substitute": "false",
    "spark.hadoop.hive.variable.substitute": "false",
}
"""Settings with which ``${env:HOME}`` and ``${system:...}`` in a statement are text, and not the process's own values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """The start of Spark. ``jars``: the connectors' files, which the class archive covers; ``more_jars``: others, which one
    JVM loads behind them, so that the archive still fits; ``log``: the file of Spark's own log; ``lake``: see
    :func:`lake_configuration`. ``archive``: a class archive for the JVM, used if it exists; ``record`` writes one.
    ``truststore``: the authorities that the driver's JVM trusts, PKCS #12 without a password, instead of Java's own.
    ``library``: an archive of Python packages for the executors of a cluster. ``extra`` are Spark's configuration keys and
    override ours, except lists of files, which they extend.
    """

    master: str = "local[*]"
    jars: Sequence[Path] = ()
    more_jars: Sequence[Path] = ()
    log: Path
    lake: Path | None = None
    driver_memory: str = "1g"
    archive: Path | None = None
    record: Path | None = None
    truststore: Path | None = None
    library: Path | None = None
    extra: Mapping[str, str] = field(default_factory=dict)


def is_local(master: str) -> bool:
    """Whether Spark runs in the driver's JVM alone, without executors elsewhere."""
    return master.startswith("local") and not master.startswith("local-cluster")


def mute_error_logs() -> None:
    """Keep PySpark from printing the JVM's whole stack trace of an error, as JSON, beside the exception that it raises."""
    for noisy in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(noisy).setLevel(logging.CRITICAL)


def lake_configuration(lake: Path | None, locations: Iterable[str]) -> dict[str, str]:
    """Return Hadoop's configuration that resolves ``s3://BUCKET/key`` for the buckets of ``locations``.

    With ``lake``, the folder whose sub-folders are buckets, names resolve into it; without, to S3 through S3A. Hadoop does
    not write checksum files to local folders, where they would be listed as objects. Raises :class:`NotFound` if a bucket
    has no folder.
    """
    locations = list(locations)
    configuration = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
    if lake is None and any(name.startswith(("s3://", "s3a://")) for name in locations):
        # S3A stages blocks through Hadoop's own local file system with checksums, so that one is not changed.
        return {**configuration, "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem"}
    configuration |= {
        "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        "fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    }
    # Hadoop sets modes itself, with its own umask. In HDFS alone, the cluster's holds: its other engines read the files.
    if not locations or not all(name.startswith("hdfs://") for name in locations):
        configuration["fs.permissions.umask-mode"] = f"{PRIVATE_UMASK:03o}"
    if lake is None:
        return configuration
    # Scripts for other Hadoops name buckets by these schemes, too.
    for scheme in ("s3", "s3a", "s3n"):
        configuration[f"fs.{scheme}.impl"] = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
    # Hadoop's default for s3a is a class of its S3 connector, which a folder does not need.
    factory = "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitterFactory"
    configuration["mapreduce.outputcommitter.factory.scheme.s3a"] = factory
    for location in locations:
        if location.startswith("s3://"):
            bucket = parse_uri(location).bucket
            folder = lake.absolute() / bucket
            if not folder.is_dir():
                raise NotFound(
                    f"Bucket {bucket} of {location} is not in the lake {lake}.", remedy=f"Create the folder {folder}."
                )
            configuration[f"fs.viewfs.mounttable.{bucket}.linkFallback"] = f"{folder.as_uri()}/"
    return configuration


def s3a_configuration(environment: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's configuration of S3A from AWS's own variables: keys, token, region, and an endpoint other than AWS's.

    Without keys in ``environment``, S3A uses AWS's chain of credentials, such as an instance's role.
    """
    names = {
        "AWS_REGION": "fs.s3a.endpoint.region",
        "AWS_DEFAULT_REGION": "fs.s3a.endpoint.region",
        "AWS_ENDPOINT_URL": "fs.s3a.endpoint",
        "AWS_ENDPOINT_URL_S3": "fs.s3a.endpoint",
    }
    configuration = {f"spark.hadoop.{key}": environment[name] for name, key in names.items() if environment.get(name)}
    if "spark.hadoop.fs.s3a.endpoint" in configuration:
        # Only AWS resolves a bucket's name as a host.
        configuration["spark.hadoop.fs.s3a.path.style.access"] = "true"
    return configuration


def _spark_configuration(settings: SessionSettings, name: str, locations: Iterable[str], log4j: Path) -> dict[str, str]:
    here = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # It stays empty, and Spark would create it in the working directory.
        "spark.sql.warehouse.dir": (settings.log.absolute().parent / "spark-warehouse").as_uri(),
    }
    configuration = {
        **(here if settings.master.startswith("local") else {}),
        "spark.master": settings.master,
        "spark.app.name": f"penstock {name}",
        **_class_path(settings),
        **_executors_path(settings),
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": " ".join(_java_options(settings, log4j)),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "8",
        # Spark's default, INT96, is deprecated in Parquet, and few engines read it as a timestamp.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # Arrow batches of zlib payloads stay small, also after inflation.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
        # Hadoop's own default is below /tmp.
        **({"spark.hadoop.hadoop.tmp.dir": f"{os.environ['TMPDIR']}/hadoop"} if os.environ.get("TMPDIR") else {}),
        # Its Python workers are started with -m.
        **{f"spark.executorEnv.{key}": value for key, value in SAFE_PATH.items()},
        **{f"spark.hadoop.{key}": value for key, value in lake_configuration(settings.lake, locations).items()},
        # A folder and S3 have no locality, and Hadoop's listing of a bucket's root with it fails.
        "spark.sql.sources.ignoreDataLocality": "true",
    }
    for key, value in settings.extra.items():
        configuration[key] = f"{configuration[key]}{_LISTS[key]}{value}" if key in _LISTS and key in configuration else value
    return configuration


def _executors_path(settings: SessionSettings) -> dict[str, str]:
    """Return what makes the packages of ``library`` importable on executors."""
    if settings.library is None or is_local(settings.master):
        return {}
    return {
        "spark.archives": f"{settings.library}#{_LIBRARY}",
        "spark.executorEnv.PYTHONPATH": f"./{_LIBRARY}",
    }


def cluster_configuration(locations: Iterable[str]) -> dict[str, str]:
    """Return the settings of a session that a cluster makes, for a pipeline that writes to ``locations``."""
    return {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
        **{f"spark.hadoop.{key}": value for key, value in lake_configuration(None, locations).items()},
    }


def _class_path(settings: SessionSettings) -> dict[str, str]:
    """Return the connectors' settings: one JVM's own class path, which a class archive covers; else files for executors."""
    jars, more = [str(jar) for jar in settings.jars], [str(jar) for jar in settings.more_jars]
    if is_local(settings.master):
        settings_of_path = {"spark.driver.extraClassPath": os.pathsep.join(jars)} if jars else {}
        return {**settings_of_path, **({"spark.jars": ",".join(f"local:{jar}" for jar in more)} if more else {})}
    return {"spark.jars": ",".join(jars + more)}


def _java_options(settings: SessionSettings, log4j: Path) -> Iterator[str]:
    yield f"-Dlog4j2.configurationFile={log4j.as_uri()}"
    yield "-XX:+UseParallelGC"
    # After an OutOfMemoryError some of Spark's threads may be gone: the runner starts another JVM instead.
    yield "-XX:+ExitOnOutOfMemoryError"
    if os.environ.get("TMPDIR"):
        yield f'"-Djava.io.tmpdir={os.environ["TMPDIR"]}"'  # Java does not read it
    if settings.truststore is not None:
        yield f'"-Djavax.net.ssl.trustStore={settings.truststore}"'
        yield "-Djavax.net.ssl.trustStoreType=PKCS12"
    if settings.record is not None:
        yield f'"-XX:ArchiveClassesAtExit={settings.record}"'
    elif settings.archive is not None and settings.archive.is_file():
        # If the archive does not fit, the JVM starts without it. It would say so on standard output, which is the user's.
        yield "-Xlog:cds=off"
        yield "-Xlog:cds+dynamic=off"
        yield f'"-XX:SharedArchiveFile={settings.archive}"'
        yield "-Xshare:auto"


def open_session(settings: SessionSettings, *, name: str, locations: Iterable[str]) -> SparkSession:
    """Start a session for pipeline ``name`` that writes to ``locations``; stop it with ``spark.stop()``.

    The output of Spark and its launcher goes to ``settings.log``. Raises :class:`EnvironmentProblem` if the JVM does not
    start.
    """
    settings.log.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="penstock-spark-") as scratch, settings.log.open("ab") as output:
        log4j = Path(scratch) / "log4j2.properties"
        log4j.write_text(_LOG4J.format(path=settings.log))
        configuration = SparkConf()
        configuration.setAll(list({**NO_VARIABLES, **_spark_configuration(settings, name, locations, log4j)}.items()))
        try:
            gateway = _gateway(dict(configuration.getAll()), Path(scratch), output)
            context = SparkContext(conf=configuration, gateway=gateway)
        except Exception as error:
            cause = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
            raise EnvironmentProblem(f"Spark did not start: {cause}.", remedy=f"Its log is {settings.log}.") from error
        if settings.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            context.pythonExec = sys.executable  # Spark would use the python3 of the PATH
        ignore_sigterm(context)
        return SparkSession(context)


def submit_arguments(settings: SessionSettings, *, name: str, locations: Iterable[str], folder: Path) -> str:
    """Return PYSPARK_SUBMIT_ARGS with which a program's own ``SparkContext()`` is such a session.

    ``folder`` gets the files that they name, and must exist for as long as the program runs.
    """
    settings.log.parent.mkdir(parents=True, exist_ok=True)
    log4j, properties = folder / "log4j2.properties", folder / "spark.properties"
    log4j.write_text(_LOG4J.format(path=settings.log) + ("" if is_local(settings.master) else _LOG4J_OF_CLUSTERS))
    configuration = _spark_configuration(settings, name, locations, log4j)
    write_private(properties, configuration)
    return f"--properties-file {shlex.quote(str(properties))} pyspark-shell"


def is_secret(key: str) -> bool:
    """Whether the value of one of Spark's settings is a secret, by the name that Spark itself goes by in its logs."""
    # Java's options are for the JVM's start, and the libraries' files are, too.
    return _SECRET.search(key) is not None and not key.startswith(("spark.driver.extra", "spark.jars", "spark.files"))


def write_private(file: Path, configuration: Mapping[str, str]) -> None:
    """Write a file of Spark's settings that only its owner may read."""
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_text("".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in configuration.items()))


def _escaped(text: str) -> str:
    """Return a key or value in the escaping of Java's properties files."""
    return text.replace("\\", "\\\\").replace("=", "\\=").replace(":", "\\:").replace("\n", "\\n")


def stop_jvm(*, seconds: float) -> None:
    """End the JVM of the stopped session, which otherwise ends with this process, and wait for it."""
    gateway: Any = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(seconds)
    SparkContext._gateway = SparkContext._jvm = None


def ignore_sigterm(context: SparkContext) -> None:
    """Let the JVM ignore SIGTERM: a service manager sends it to all processes, and the current batch must end first.

    The JVM ends when its standard input is closed, a pipe whose other end is Python's.
    """
    jvm: Any = context._jvm
    jvm.sun.misc.Signal.handle(jvm.sun.misc.Signal("TERM"), jvm.sun.misc.SignalHandler.SIG_IGN)


def _gateway(configuration: Mapping[str, str], scratch: Path, output: Any) -> Any:
    """Start the JVM. Its command line has no setting, and its system properties no secret: those come with the context."""
    properties = scratch / "spark.properties"
    write_private(properties, {key: value for key, value in configuration.items() if not is_secret(key)})
    # An inherited PYSPARK_SUBMIT_ARGS would override ours, and an inherited SPARK_HOME would start another Spark.
    inherited = {
        name: os.environ.pop(name) for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_HOME", "SPARK_CONF_DIR") if name in os.environ
    }
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {shlex.quote(str(properties))} pyspark-shell"
    try:
        return launch_gateway(  # type: ignore[no-untyped-call]
            popen_kwargs={"stdout": output, "stderr": output, "umask": PRIVATE_UMASK}
        )
    finally:
        del os.environ["PYSPARK_SUBMIT_ARGS"]
        os.environ.update(inherited)


def mount_bucket(spark: SparkSession, location: str) -> None:
    """Make a bucket of the embedded lake known to the session, which was started for the pipeline's own buckets."""
    jvm: Any = spark
    configuration = jvm._jsc.hadoopConfiguration()
    bucket = location.partition("://")[2].partition("/")[0]
    if not location.startswith("s3://") or "viewfs" not in (configuration.get("fs.s3.impl") or ""):
        return
    name = f"fs.viewfs.mounttable.{bucket}.linkFallback"
    if configuration.get(name) is not None:
        return
    mounted = next((entry for entry in configuration.getPropsWithPrefix("fs.viewfs.mounttable.").items()), None)
    if mounted is not None:
        configuration.set(name, f"{str(mounted[1]).rstrip('/').rpartition('/')[0]}/{bucket}/")
