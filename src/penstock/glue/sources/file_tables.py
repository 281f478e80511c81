"""Tables of the catalog whose rows are in files: the partitions that a read needs, and the format by the SerDe.

Source: "Managing partitions for ETL output in AWS Glue",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-partitions.html
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructType

from penstock.errors import InvalidInput
from penstock.glue.options import Options
from penstock.glue.payload import TEXT_COLUMN
from penstock.glue.schemas.choices import text_choice
from penstock.glue.sources.files import attached_columns, chosen_files, file_options
from penstock.glue.sources.formats import FORMATS, FilesDisagree, Reader, Scan, csv_options, parsed_json, read_csv
from penstock.glue.sources.listing import SourceFile, list_files
from penstock.glue.sources.port import Read, Table
from penstock.lake.partitions import HIVE_DEFAULT_PARTITION
from penstock.spark.quoting import quoted
from penstock.spark.types import spark_columns, spark_type

__all__ = ["format_of", "is_files", "partitions_of", "rows", "table_schema"]

_SERDES = {
    "OpenCSVSerde": "csv",
    "LazySimpleSerDe": "csv",
    "JsonSerDe": "json",
    "ParquetHiveSerDe": "parquet",
    "OrcSerde": "orc",
    "AvroSerDe": "avro",
    "GrokSerDe": "groklog",
}
_FILE = "__penstock_file"
_NO_FILES = ("ICEBERG", "DELTA", "HUDI")


def is_files(table: Table) -> bool:
    """Return whether the rows of a table are those of the files at its location, and it has a format that is known."""
    table_type = str(table.get("Parameters", {}).get("table_type", "")).upper()
    return (
        table_type not in _NO_FILES
        and bool(table.get("StorageDescriptor", {}).get("Location"))
        and format_of(table) is not None
    )


def format_of(table: Table) -> str | None:
    """Return Glue's name of the format, from the classification or else the SerDe; None if it is not known."""
    storage = table.get("StorageDescriptor", {})
    named = str(_parameters(table).get("classification", "")).strip().lower()
    if named in FORMATS:
        return named
    serde = str(storage.get("SerdeInfo", {}).get("SerializationLibrary", "")).rpartition(".")[2]
    return _SERDES.get(serde)


def table_schema(table: Table) -> StructType:
    """Return the columns of a table with its partition keys behind, as Spark's types."""
    return spark_columns({column["Name"]: column.get("Type", "string") for column in _columns(table)})


def rows(read: Read, table: Table) -> DataFrame:
    """Return the rows of the partitions that the predicates select, with the partition keys behind the columns.

    Raises :class:`InvalidInput` for options that are unknown, and for predicates over anything but partition keys.
    """
    options = Options(f"the read of a table of {format_of(table)}", read.options)
    condition = options.text("catalogPartitionPredicate")
    own_schema = options.flag("useCatalogSchema")
    pushed = [read.push_down_predicate, options.text("push_down_predicate") or options.text("pushDownPredicate") or ""]
    selection = file_options(options, excluded=_parameters(table).get("exclusions"))
    attached = attached_columns(options)
    reader = _reader(table, options)
    predicate = " AND ".join(f"({name})" for name in (*pushed, selection.predicate) if name)
    values = partitions_of(read, table, expression=condition, predicate=predicate)
    files = chosen_files(read, list_files(read.session.spark, list(values), recurse=selection.recurse), selection)
    if not files:
        return read.session.spark.createDataFrame([], table_schema(table))
    keys = [key["Name"] for key in table.get("PartitionKeys", ())]
    scan = Scan(
        spark=read.session.spark,
        files=[file.path for file in files],
        attached={**attached, **({_FILE: "file_path"} if keys else {})},
    )
    if own_schema:
        frame = reader(replace(scan, schema=_declared(table)))
        if TEXT_COLUMN in frame.columns:
            frame = parsed_json(frame, _declared(table))
        frame = _as_declared(frame, table)
    else:
        frame = _as_the_files_say(reader, scan, table)
    return _with_keys(read, frame, table, {file: values[file.root] for file in files}) if keys else frame


def _parameters(table: Table) -> dict[str, Any]:
    storage = table.get("StorageDescriptor", {})
    return {**storage.get("Parameters", {}), **table.get("Parameters", {})}


def _columns(table: Table) -> list[Mapping[str, str]]:
    return [*table.get("StorageDescriptor", {}).get("Columns", ()), *table.get("PartitionKeys", ())]


def partitions_of(read: Read, table: Table, *, expression: str | None, predicate: str) -> dict[str, Sequence[str]]:
    """Return the locations of a table's partitions, or of the table itself, and the values of their keys.

    ``expression`` is one of Glue's, ``predicate`` Spark's over the keys. Raises :class:`InvalidInput` for a predicate over
    anything else.
    """
    location = table["StorageDescriptor"]["Location"]
    keys = {key["Name"]: key.get("Type", "string") for key in table.get("PartitionKeys", ())}
    if not keys:
        if expression or predicate:
            raise InvalidInput(
                f"Table {table['DatabaseName']}.{table['Name']} has no partition keys for the predicate.",
                remedy="Leave it out, and filter the frame.",
            )
        return {location: ()}
    client = read.session.catalog(read.catalog_id)
    partitions = list(client.partitions(table["DatabaseName"], table["Name"], expression=expression))
    chosen = range(len(partitions))
    if predicate and partitions:
        spark = read.session.spark
        texts = [[None if value == HIVE_DEFAULT_PARTITION else value for value in part["Values"]] for part in partitions]
        names = ", ".join(f"{quoted(name)} STRING" for name in keys)
        frame = spark.createDataFrame([(number, *text) for number, text in enumerate(texts)], f"{_FILE} INT, {names}")
        typed = frame.select(
            _FILE, *(F.col(quoted(name)).try_cast(spark_type(type_name)).alias(name) for name, type_name in keys.items())
        )
        try:
            chosen = [row[0] for row in typed.where(predicate).select(_FILE).collect()]  # type: ignore[assignment]
        except AnalysisException as error:
            raise InvalidInput(
                f"The predicate {predicate} cannot be resolved against the partition keys {', '.join(keys)}: "
                f"{str(error).splitlines()[0]}",
                remedy="Use only partition keys in it, and filter the frame by other columns.",
            ) from None
    return {
        partitions[number].get("StorageDescriptor", {}).get("Location", ""): partitions[number]["Values"]
        for number in chosen
    }


def _with_keys(read: Read, frame: DataFrame, table: Table, files: Mapping[SourceFile, Sequence[str]]) -> DataFrame:
    """Add each row's partition keys, by its file."""
    keys = {key["Name"]: spark_type(key.get("Type", "string")) for key in table["PartitionKeys"]}
    texts = [
        (file.name, *(None if value == HIVE_DEFAULT_PARTITION else value for value in values))
        for file, values in files.items()
    ]
    own = [f"__penstock_key_{number}" for number in range(len(keys))]
    by_file = read.session.spark.createDataFrame(texts, f"{_FILE} STRING, {', '.join(f'{name} STRING' for name in own)}")
    # A file may have a column with a key's name, which the partition overrides.
    others = [quoted(name) for name in frame.columns if name not in keys and name != _FILE]
    typed = [F.col(name).try_cast(key_type).alias(key) for name, (key, key_type) in zip(own, keys.items(), strict=True)]
    return frame.join(F.broadcast(by_file), _FILE).select(*others, *typed)


def _reader(table: Table, details: Options) -> Reader:
    form = format_of(table)
    assert form is not None
    if form == "csv":
        return _csv(table, details)
    if form == "xml" and (tag := _parameters(table).get("rowTag")):
        details = details.with_defaults({"rowTag": tag})
    if form == "groklog":
        serde = table.get("StorageDescriptor", {}).get("SerdeInfo", {}).get("Parameters", {})
        patterns = {"logFormat": serde.get("input.format"), "customPatterns": serde.get("input.grokCustomPatterns")}
        details = details.with_defaults(patterns)
    return FORMATS[form](details)


def _csv(table: Table, details: Options) -> Reader:
    """Return a reader of CSV whose columns are the table's, of its types; those with other values, too, are choices."""
    serde = table.get("StorageDescriptor", {}).get("SerdeInfo", {})
    parameters = {**_parameters(table), **serde.get("Parameters", {})}
    separator = parameters.get("separatorChar") or parameters.get("field.delim") or parameters.get("delimiter")
    plain = parameters.get("serialization.format", "")
    if separator is None and plain and not plain.isdigit():
        separator = plain
    skipped = str(parameters.get("skip.header.line.count", "0")).strip() or "0"
    if skipped not in {"0", "1"}:
        raise InvalidInput(
            f"Table {table['DatabaseName']}.{table['Name']} skips {skipped} lines of each file.",
            remedy="skip.header.line.count can be 0 or 1.",
        )
    defaults = {
        "separator": separator or ",",
        "quoteChar": parameters.get("quoteChar"),
        "escaper": parameters.get("escapeChar") or parameters.get("escape.delim"),
    }
    options, header, skip = csv_options(details.with_defaults(defaults))
    columns = {column["Name"]: column.get("Type", "string") for column in table["StorageDescriptor"].get("Columns", ())}
    types = spark_columns(columns)
    nested = next((field.name for field in types if isinstance(field.dataType, StructType)), None)
    if nested is not None:
        raise InvalidInput(
            f"Column {nested} of table {table['DatabaseName']}.{table['Name']} is a struct, which CSV cannot have."
        )

    def read(scan: Scan) -> DataFrame:
        lines = read_csv(scan, options, list(columns), header=False, skip=skip or header or skipped == "1")
        return _typed(lines, types)

    return read


def _typed(frame: DataFrame, types: StructType) -> DataFrame:
    """Cast each column to its declared type; an empty text is null there. One with other values, too, is a choice."""
    declared = {field.name: field.dataType for field in types if not isinstance(field.dataType, StringType)}
    if not declared:
        return frame
    values = {name: F.nullif(F.trim(F.col(quoted(name))), F.lit("")) for name in declared}
    misfits = [
        F.bool_or(values[name].isNotNull() & values[name].try_cast(declared_type).isNull()).alias(name)
        for name, declared_type in declared.items()
    ]
    failed = frame.agg(*misfits).collect()[0].asDict()
    columns = [
        F.col(quoted(name))
        if name not in declared
        else text_choice(F.col(quoted(name)), declared[name]).alias(name)
        if failed[name]
        else values[name].cast(declared[name]).alias(name)
        for name in frame.columns
    ]
    return frame.select(*columns)


def _as_the_files_say(reader: Reader, scan: Scan, table: Table) -> DataFrame:
    """Return the columns of the files, or where their types disagree, those that the catalog declares."""
    try:
        return reader(scan)
    except FilesDisagree:
        return reader(replace(scan, schema=_declared(table)))


def _declared(table: Table) -> StructType:
    columns = table["StorageDescriptor"].get("Columns", ())
    return spark_columns({column["Name"]: column.get("Type", "string") for column in columns})


def _as_declared(frame: DataFrame, table: Table) -> DataFrame:
    """Return the columns that the catalog declares, of its types; a column that the files lack is null."""
    there = {name.lower(): name for name in frame.columns}
    columns = [
        (F.col(quoted(there[field.name.lower()])) if field.name.lower() in there else F.lit(None))
        .try_cast(field.dataType)
        .alias(field.name)
        for field in _declared(table)
    ]
    others = [_FILE] if _FILE in frame.columns else []
    return frame.select(*columns, *others)
