"""``write_dynamic_frame.from_options`` for files: Spark's own writer under Glue's names."""

from pyspark.sql import DataFrame

from penstock.errors import InvalidInput
from penstock.spark.glue.options import Options
from penstock.spark.glue.sinks.port import Write

__all__ = ["FORMATS", "write"]

FORMATS = {"parquet": "parquet", "glueparquet": "parquet", "json": "json", "csv": "csv", "orc": "orc", "avro": "avro"}
_CSV = {"separator": "sep", "quoteChar": "quote", "escaper": "escape", "writeHeader": "header"}


def write(write: Write, frame: DataFrame) -> None:
    """Append ``frame`` to the files under ``path``. Raises :class:`InvalidInput` for options that Spark's writer lacks."""
    form, given, format_options = write.format, write.options, write.format_options
    if write.kind in FORMATS and form is None:
        form = write.kind
    if form is None or form.lower() not in FORMATS:
        raise InvalidInput(f"Format {form!r} is not supported for writing.", remedy=f"Known are {', '.join(FORMATS)}.")
    keys = given.get("partitionKeys") or []
    options = Options("the s3 sink", {name: value for name, value in given.items() if name != "partitionKeys"})
    path, compression = options.text("path"), options.text("compression")
    options.finish()
    if not path:
        raise InvalidInput(
            "The s3 sink does not name a path.", remedy='Give connection_options={"path": "s3://BUCKET/folder/"}.'
        )
    writer = frame.write.format(FORMATS[form.lower()]).mode("append")
    if compression:
        writer = writer.option("compression", compression)
    if form.lower() == "csv":
        # Glue's CSV has a header by default.
        writer = writer.option("header", "true")
    details = Options("the format", format_options)
    for name, spark_name in _CSV.items() if form.lower() == "csv" else ():
        found = details.text(name)
        if found is not None:
            writer = writer.option(spark_name, found)
    if form.lower() in {"parquet", "glueparquet"}:
        details.flag("useGlueParquetWriter")  # no difference here
        found = details.text("compression")
        writer = writer.option("compression", found) if found else writer
    details.finish()
    (writer.partitionBy(*keys) if keys else writer).save(path)
