"""``--datalake-formats``: what Spark needs so that a script reads and writes Iceberg's and Delta's tables.

Source: "Using data lake frameworks with AWS Glue ETL jobs",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-datalake-native-frameworks.html. On AWS a script names
a catalog's class, warehouse and files itself; here ``glue_catalog`` is there without that, and a catalog that a script
names gets the endpoints that lead here.
"""

import re
from collections.abc import Mapping, Sequence

from penstock.errors import InvalidInput

__all__ = ["CATALOG", "catalog_settings", "datalake_configuration", "datalake_formats", "datalake_groups", "is_lock"]

CATALOG = "glue_catalog"
"""The catalog of AWS's examples: Iceberg's tables of Glue's catalog."""

_ARGUMENT = "--datalake-formats"
_GROUPS: Mapping[str, tuple[str, ...]] = {"iceberg": ("iceberg", "iceberg-aws"), "delta": ("delta",)}
_EXTENSIONS: Mapping[str, str] = {
    "iceberg": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
}
_NAMED = re.compile(r"spark\.sql\.catalog\.(\w+)")
# The name is put in as the script runs: f"spark.sql.catalog.{CATALOG}", "spark.sql.catalog." + name, and the like.
_COMPUTED = re.compile(r"""spark\.sql\.catalog\.(?:\{|%|["'])""")
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_OWN_CLASS = re.compile(r"\.catalog-impl\b")
_WORD = re.compile(r"""["'](\w{1,64})["']""")
_LOCK = re.compile(r"spark\.sql\.catalog\.\w+\.lock-impl")
_LOCKS = ("org.apache.iceberg.aws.glue.", "org.apache.iceberg.aws.dynamodb.")
_HADOOP_IO = "org.apache.iceberg.hadoop.HadoopFileIO"


def datalake_formats(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the formats that a job's arguments name. Raises :class:`InvalidInput` for one that is not served."""
    value_given = ""
    for number, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == _ARGUMENT:
            value_given = value if equals else "".join(arguments[number + 1 : number + 2])
    formats = tuple(dict.fromkeys(text for part in value_given.split(",") if (text := part.strip().lower())))
    unknown = [format_ for format_ in formats if format_ not in _GROUPS]
    if unknown:
        raise InvalidInput(
            f"{_ARGUMENT} names {unknown[0][:100]}, which is not served.",
            remedy=f"Use {', '.join(_GROUPS)}; tables of Hudi can be made tables of Iceberg or Delta.",
        )
    return formats


def datalake_groups(formats: Sequence[str]) -> tuple[str, ...]:
    """Return the groups of JVM artefacts of ``formats``, in class path order."""
    return tuple(group for format_ in formats for group in _GROUPS[format_])


def datalake_configuration(
    formats: Sequence[str],
    script: str,
    *,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str],
    bucket: str | None,
    folder_lake: bool,
) -> dict[str, str]:
    """Return Spark's configuration for ``formats``; ``script`` is the text that may configure catalogs itself.

    ``arguments`` are the job's, of which the script may take a catalog's name. ``bucket`` has the folder of new databases
    without a location; ``folder_lake`` says that ``s3://`` is the embedded lake's folder.
    """
    if not formats:
        return {}
    configuration = {"spark.sql.extensions": ",".join(_EXTENSIONS[format_] for format_ in formats)}
    if "delta" in formats:
        configuration["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    if "iceberg" not in formats:
        return configuration
    # What a script has as a comment is often in the job's --conf on AWS.
    script = _COMMENT.sub("", script)
    named = _catalogs(script, arguments)
    for name in named:
        configuration |= _prefixed(name, _endpoints(environment))
    # Iceberg refuses a catalog with both a type and a class; another setting of the script takes the place of ours.
    if CATALOG not in named or not _OWN_CLASS.search(script):
        configuration |= catalog_settings(environment, bucket=bucket, folder_lake=folder_lake)
    return configuration


def _catalogs(script: str, arguments: Sequence[str]) -> list[str]:
    """Return the names of the catalogs that the script configures; where it computes one, all that may be it.

    Those are the words among the job's arguments, and the texts of one word on lines about catalogs. An endpoint for a name
    that is not a catalog's has no effect.
    """
    named = {*_NAMED.findall(script)}
    if _COMPUTED.search(script):
        named.update(argument.rpartition("=")[2] for argument in arguments)
        named.update(word for line in script.splitlines() if "catalog" in line.lower() for word in _WORD.findall(line))
    return sorted(name for name in named - {"spark_catalog"} if re.fullmatch(r"\w{1,64}", name))


def catalog_settings(environment: Mapping[str, str], *, bucket: str | None, folder_lake: bool) -> dict[str, str]:
    """Return the whole configuration of :data:`CATALOG`, for a script that does not configure it."""
    settings = {"type": "glue", "cache-enabled": "false", "warehouse": f"s3://{bucket or 'lake'}/warehouse/"}
    settings |= _endpoints(environment)
    if folder_lake:
        settings["io-impl"] = _HADOOP_IO
    return {f"spark.sql.catalog.{CATALOG}": "org.apache.iceberg.spark.SparkCatalog", **_prefixed(CATALOG, settings)}


def _endpoints(environment: Mapping[str, str]) -> dict[str, str]:
    """Return where Glue's API and S3 are, by AWS's own variables; keys are found by AWS's chain."""
    settings: dict[str, str] = {}
    every = environment.get("AWS_ENDPOINT_URL")
    if glue := environment.get("AWS_ENDPOINT_URL_GLUE") or every:
        settings["glue.endpoint"] = glue
    if region := environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION"):
        settings["client.region"] = region
    if s3 := environment.get("AWS_ENDPOINT_URL_S3") or every:
        settings |= {"s3.endpoint": s3, "s3.path-style-access": "true"}
    return settings


def _prefixed(name: str, settings: Mapping[str, str]) -> dict[str, str]:
    return {f"spark.sql.catalog.{name}.{key}": value for key, value in settings.items()}


def is_lock(name: str, value: object) -> bool:
    """Return whether a setting gives a catalog a lock of Iceberg's in DynamoDB, which it does not need."""
    return _LOCK.fullmatch(name) is not None and str(value).startswith(_LOCKS)
