"""What scripts' own calls of Spark need in a job's session: the drivers of JDBC by their URLs, and RDDs of lines.

Spark asks Java's DriverManager for the driver of a URL. That finds no driver of ``spark.jars``, and once a driver was named,
as Glue's readers do, it finds Spark's wrapper, which Spark cannot make again. So the driver is named here.

``SparkContext.textFile`` needs Hadoop's local files with checksums, of which the folder of the lake has none.
"""

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameReader, DataFrameWriter

from penstock.glue.connections.databases import KINDS
from penstock.glue.connections.drivers import class_on_path

__all__ = ["driver_class", "name_drivers", "read_text_with_checksums"]

_FORM, _DRIVER, _CHECKED = "_penstock_form", "_penstock_driver", "_penstock_checked"
_VENDORS = {**KINDS, "mariadb": ("org.mariadb.jdbc.Driver", "com.mysql.cj.jdbc.Driver")}
_ROOT = re.compile(r"s3[an]?://[^/*?{]+/?")
_LOCAL, _LOCAL_KEY = "org.apache.hadoop.fs.LocalFileSystem", "fs.file.impl"


def name_drivers() -> None:
    """Let the readers and writers of this process name the driver of a JDBC URL; a second call changes nothing."""
    if hasattr(DataFrameReader, _FORM):
        return
    for patched, end in ((DataFrameReader, "load"), (DataFrameWriter, "save")):
        changed: Any = patched
        setattr(changed, _FORM, None)
        setattr(changed, _DRIVER, None)
        changed.format = _remembering_form(changed.format)
        changed.option = _remembering(changed.option, lambda key, value: {key: value})
        changed.options = _remembering(changed.options, dict)
        setattr(changed, end, _naming_driver(getattr(changed, end)))
        changed.jdbc = _naming_in_properties(changed.jdbc)


def read_text_with_checksums() -> None:
    """Let ``SparkContext.textFile`` read the lake's folder; a second call changes nothing."""
    context: Any = SparkContext
    if not hasattr(context, _CHECKED):
        setattr(context, _CHECKED, True)
        context.textFile = _beside_raw_files(context.textFile)


def driver_class(spark: SparkSession, url: str) -> str | None:
    """Return the class of the driver of ``url`` that is on the class path, None without one."""
    vendor = url.lower().removeprefix("jdbc:").partition(":")[0]
    return class_on_path(spark, _VENDORS.get(vendor, ()))


def _remembering_form(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def form(self: Any, source: str) -> Any:
        setattr(self, _FORM, str(source).lower())
        return original(self, source)

    return form


def _remember(self: Any, options: Mapping[str, Any]) -> None:
    settings = {name.lower(): value for name, value in options.items() if name.lower() in {"url", "driver"}}
    setattr(self, _DRIVER, {**(getattr(self, _DRIVER) or {}), **settings})


def _remembering(original: Callable[..., Any], options: Callable[..., Mapping[str, Any]]) -> Callable[..., Any]:
    """Wrap a method that sets ``options`` of its arguments."""

    @wraps(original)
    def method(self: Any, *args: Any, **named: Any) -> Any:
        _remember(self, options(*args, **named))
        return original(self, *args, **named)

    return method


def _naming_driver(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def end(self: Any, path: Any = None, format: Any = None, *args: Any, **options: Any) -> Any:
        _remember(self, options)
        settings = getattr(self, _DRIVER)
        if str(format or getattr(self, _FORM) or "").lower() == "jdbc" and "driver" not in settings and "url" in settings:
            name = driver_class(self._spark, str(settings["url"]))
            if name is not None:
                options["driver"] = name
        return original(self, path, format, *args, **options)

    return end


def _naming_in_properties(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def jdbc(self: Any, url: str, *args: Any, **named: Any) -> DataFrame:
        properties = dict(named.get("properties") or {})
        name = None if "driver" in properties else driver_class(self._spark, url)
        if name is not None and all(not isinstance(arg, dict) for arg in args):
            named["properties"] = {**properties, "driver": name}
        result: DataFrame = original(self, url, *args, **named)
        return result

    return jdbc


def _beside_raw_files(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``textFile``, for whose call alone the local files are those with checksums; the lake's stay as they are."""

    @wraps(original)
    def text_file(self: Any, name: str, *args: Any, **named: Any) -> Any:
        configuration = self._jsc.hadoopConfiguration()
        if (configuration.get(_LOCAL_KEY) or _LOCAL) == _LOCAL:
            return original(self, name, *args, **named)
        # Hadoop's older listing of a bucket's root fails, and that of a pattern does not.
        names = ",".join(f"{part.rstrip('/')}/*" if _ROOT.fullmatch(part) else part for part in name.split(","))
        hadoop = self._jvm.org.apache.hadoop
        local = hadoop.conf.Configuration(configuration)
        local.set(_LOCAL_KEY, _LOCAL)
        root = self._jvm.java.net.URI.create("file:///")
        # Hadoop keeps one instance of a file system; one that is closed is made again.
        hadoop.fs.FileSystem.get(root, configuration).close()
        checked = hadoop.fs.FileSystem.getLocal(local)
        try:
            return original(self, names, *args, **named)
        finally:
            checked.close()

    return text_file
