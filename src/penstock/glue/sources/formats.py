"""The formats of files: Spark's readers under Glue's options.

Source: "Data format options for inputs and outputs in AWS Glue for Spark",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-format.html
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, StructField, StructType

from penstock.crawl.classifiers.grok import Grok
from penstock.errors import InvalidInput
from penstock.glue.options import Options
from penstock.glue.payload import OWN_NUMBERS, TEXT_COLUMN
from penstock.spark.quoting import quoted

__all__ = ["FORMATS", "FilesDisagree", "Reader", "Scan", "check_format", "csv_options", "read_csv", "read_json"]

_DISAGREE = re.compile(r'Failed to merge incompatible data types "[^"]*" and "[^"]*"')
_RAW, _STEP = "__penstock_raw", re.compile(r"\.([A-Za-z_][\w-]*)|\['([^'\]]+)'\]|\[(\d+)\]|\[\*\]")
_WHOLE, _NUMBER = re.compile(r"[+-]?\d{1,18}"), re.compile(r"[+-]?\d{1,300}(\.\d{1,300})?")
_ESCAPES = {"\\t": "\t", "\\r": "\r", "\\b": "\b", "\\f": "\f", "\\\\": "\\", "\\u0000": "\0"}
_ABSENT = {
    "ion": "Convert the files to JSON.",
    "hudi": "Hudi's connector does not resolve here; use an Iceberg or a Delta table.",
}


class FilesDisagree(InvalidInput):
    """Files have a column of types that no type holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The files of one read. ``base`` is where folders ``key=value`` begin to be columns, None if they are not.

    ``attached`` are columns of Spark's ``_metadata`` under the names that the script gives them. ``schema`` has the columns
    to read of Parquet and ORC, None for those of the files.
    """

    spark: SparkSession
    files: Sequence[str]
    base: str | None = None
    attached: Mapping[str, str] = field(default_factory=dict)
    schema: StructType | None = None

    def load(self, form: str, schema: str | StructType | None = None, **options: str) -> DataFrame:
        """Return what Spark reads of ``form``, with the attached columns behind."""
        reader = self.spark.read.format(form).options(**options)
        if schema is not None:
            reader = reader.schema(schema)
        if self.base is not None:
            reader = reader.option("basePath", self.base)
        else:
            reader = reader.option("recursiveFileLookup", "true")
        frame = reader.load(list(self.files))
        more = [F.col(f"_metadata.{source}").alias(name) for name, source in self.attached.items()]
        return frame.select(*(quoted(name) for name in frame.columns), *more) if more else frame

    def extra(self) -> list[Column]:
        """The attached columns of a frame that :meth:`load` has returned."""
        return [F.col(quoted(name)) for name in self.attached]


Reader = Callable[[Scan], DataFrame]


def _merged(scan: Scan, form: str) -> DataFrame:
    """Return the rows with the columns of all files, or those of ``scan.schema``."""
    if scan.schema is not None:
        return scan.load(form, scan.schema)
    try:
        return scan.load(form, mergeSchema="true")
    except (Py4JJavaError, PySparkException) as error:
        disagreement = _DISAGREE.search(str(error))
        if disagreement is None:
            raise
        raise FilesDisagree(
            f"The files below {scan.files[0].rpartition('/')[0]} cannot be read together: {disagreement[0]}.",
            remedy="Read them in parts, or as a table of the catalog with useCatalogSchema.",
        ) from None


def _parquet(_: Options) -> Reader:
    return lambda scan: _merged(scan, "parquet")


def _orc(_: Options) -> Reader:
    return lambda scan: _merged(scan, "orc")


def _avro(_: Options) -> Reader:
    return lambda scan: scan.load("avro", ignoreExtension="true")


def _json(options: Options) -> Reader:
    path = options.text("jsonPath")
    whole = options.flag("multiLine", default=options.flag("multiline"))
    json_path = None if path is None else _json_path(path)
    return lambda scan: read_json(scan, path=json_path, whole=whole)


def read_json(scan: Scan, *, path: str | None = None, whole: bool = False) -> DataFrame:
    """Return the records as text, which DynamicFrame.fromDF makes columns; a top-level array is its elements there.

    A record is what is at ``path`` in a line, or with ``whole`` in a file.
    """
    lines = scan.load("text", wholetext=str(whole).lower())
    text = F.col("value") if path is None else F.get_json_object("value", path)
    named = text.alias(TEXT_COLUMN, metadata=dict(OWN_NUMBERS))
    return lines.where(F.length(F.trim(text)) > 0).select(named, *scan.extra())


def parsed_json(frame: DataFrame, schema: StructType) -> DataFrame:
    """Return what :func:`read_json` returned with the columns of ``schema``, by the keys that differ at most in case.

    A value that does not fit its column is null, and so is a record that does not parse. Raises :class:`InvalidInput` if
    keys differ from each other in case alone, of which Spark reads one.
    """
    text = F.col(quoted(TEXT_COLUMN))
    keys = [row[0] for row in frame.select(F.explode(F.json_object_keys(text))).distinct().collect()]
    spelled = {key.lower(): key for key in keys}
    for name in schema.names:
        if sum(key.lower() == name.lower() for key in keys) > 1:
            raise InvalidInput(f"The files have key {name} in more than one spelling.", remedy="Leave useCatalogSchema out.")
    columns = StructType(
        [
            StructField(spelled.get(struct_field.name.lower(), struct_field.name), struct_field.dataType)
            for struct_field in schema
        ]
    )
    others = [quoted(name) for name in frame.columns if name != TEXT_COLUMN]
    return frame.select(F.inline_outer(F.from_json(text, ArrayType(columns))), *others)


def _json_path(path: str) -> str:
    """Return a path that Spark evaluates as JsonPath does. Raises :class:`InvalidInput` for filters, slices and so on."""
    rest = path.strip()
    if not rest.startswith("$") or _STEP.sub("", rest[1:]):
        raise InvalidInput(
            f"jsonPath {path!r} cannot be read.", remedy="Use names, [n] and [*], such as $.records[*] or $['a b'].id."
        )
    return rest


def _grok(options: Options) -> Reader:
    """Return a reader of lines by a pattern: a record as JSON of each, or an error record of a line that does not match."""
    pattern, custom = options.text("logFormat"), options.text("customPatterns") or ""
    if not pattern:
        raise InvalidInput("Format grokLog needs the option logFormat.", remedy='For example "%{COMMONAPACHELOG}".')
    Grok.compiled("grok", pattern, custom)  # an error of the pattern is the script's, not a task's
    take = partial(_taken_apart, pattern, custom, options.text("MISSING", "-") or "")

    def read(scan: Scan) -> DataFrame:
        lines = scan.load("text")
        records = lines.where(F.length(F.trim("value")) > 0).mapInArrow(take, lines.schema)
        return records.select(F.col("value").alias(TEXT_COLUMN, metadata=dict(OWN_NUMBERS)), *scan.extra())

    return read


def _taken_apart(
    pattern: str, custom: str, missing: str, batches: Iterator["pyarrow.RecordBatch"]
) -> Iterator["pyarrow.RecordBatch"]:
    """Yield batches with the lines of ``value`` as JSON; runs where Spark's tasks do."""
    grok = Grok.compiled("grok", pattern, custom)
    types = {column.name: column.type or "string" for column in grok.columns}
    for batch in batches:
        index = batch.schema.get_field_index("value")
        lines = batch.column(index).to_pylist()
        texts = [
            f"No line of the grok pattern: {line}"
            if fields is None
            else json.dumps(
                {name: None if text in {"", missing} else _typed(text, types[name]) for name, text in fields.items()}
            )
            for line, fields in zip(lines, grok.fields(lines), strict=True)
        ]
        yield batch.set_column(index, batch.schema.field(index), pyarrow.array(texts, pyarrow.string()))


def _typed(text: str, type_name: str) -> str | int | float | bool:
    """Return a field's value in the type that the pattern names, or its text if it is not of that type."""
    if type_name == "boolean":
        return {"true": True, "false": False}.get(text.lower(), text)
    if type_name in {"tinyint", "smallint", "int", "bigint"}:
        return int(text) if _WHOLE.fullmatch(text) else text
    if type_name in {"float", "double"}:
        return float(text) if _NUMBER.fullmatch(text) else text
    return text


def _xml(options: Options) -> Reader:
    tag = options.text("rowTag")
    if not tag:
        raise InvalidInput("Format xml needs the option rowTag.", remedy='For example format_options={"rowTag": "record"}.')
    xml = {
        "rowTag": tag,
        "encoding": options.text("encoding") or "UTF-8",
        "excludeAttribute": str(options.flag("excludeAttribute")).lower(),
        "attributePrefix": options.text("attributePrefix") or "_",
        "valueTag": options.text("valueTag") or "_VALUE",
        "ignoreSurroundingSpaces": str(options.flag("ignoreSurroundingSpaces")).lower(),
        "nullValue": "" if options.flag("treatEmptyValuesAsNulls") else "\u0000",
    }
    return lambda scan: scan.load("xml", **xml)


def csv_options(options: Options) -> tuple[dict[str, str], bool, bool]:
    """Return Spark's options of CSV, and whether the first line is a header or is skipped.

    Without ``escaper``, a doubled quote in quotes is a quote. Raises :class:`InvalidInput`.
    """
    quote, escaper = options.text("quoteChar", '"'), options.text("escaper", "none")
    assert quote is not None
    assert escaper is not None
    for name, character, none in (("quoteChar", quote, "-1"), ("escaper", escaper, "none")):
        if len(_spelled(character)) > 1 and character.lower() != none:
            raise InvalidInput(f"Option {name} is {character[:100]!r}.", remedy="Use one character.")
    off = quote in {"-1", ""}
    csv = {
        "sep": options.text("separator") or ",",
        "quote": "" if off else quote,
        "escape": escaper if escaper.lower() not in {"none", ""} else ("" if off else quote),
        "multiLine": str(options.flag("multiLine", default=options.flag("multiline"))).lower(),
        "encoding": options.text("encoding") or "UTF-8",
    }
    header, skip = options.flag("withHeader"), options.flag("skipFirst")
    if header and skip:
        raise InvalidInput("Options withHeader and skipFirst together are not supported.", remedy="Leave skipFirst out.")
    return csv, header, skip


def _csv(options: Options) -> Reader:
    csv, header, skip = csv_options(options)

    def read(scan: Scan) -> DataFrame:
        first = scan.load("csv", header=str(header).lower(), **csv)
        names = [name for name in first.columns if name not in scan.attached]
        if not header:
            names = [f"col{number}" for number in range(len(names))]
        return read_csv(scan, csv, names, header=header, skip=skip)

    return read


def read_csv(scan: Scan, csv: Mapping[str, str], names: Sequence[str], *, header: bool, skip: bool) -> DataFrame:
    """Return every value of CSV files as text, in columns ``names``.

    With ``header``, the first line of each file has to be these names; with ``skip`` it is passed over. A field that a
    line lacks is null, an empty one an empty text. Lines with more fields than names are an error.
    """
    schema = ", ".join(f"{quoted(name)} STRING" for name in [*names, _RAW])
    lines = scan.load(
        "csv",
        schema,
        header=str(header or skip).lower(),
        enforceSchema=str(not header).lower(),
        columnNameOfCorruptRecord=_RAW,
        **csv,
    )
    raw = F.col(_RAW)
    whole = raw.isNull()
    values = [F.when(whole & F.col(quoted(name)).isNull(), "").otherwise(F.col(quoted(name))).alias(name) for name in names]
    message = F.concat(F.lit(f"This line of CSV has more than {len(names)} fields: "), F.substring(raw, 1, 200))
    # A line of another length has its own text. It is longer if the last column has a value, or else a separator behind it.
    longer = F.col(quoted(names[-1])).isNotNull() | raw.rlike(_fields_before_another(len(names), csv))
    right = F.when(raw.isNotNull() & longer, F.raise_error(message).cast("boolean"))
    return lines.where(F.coalesce(right, F.lit(True))).select(*values, *scan.extra())


def _fields_before_another(count: int, csv: Mapping[str, str]) -> str:
    """Return Java's regular expression of the beginning of a line with more than ``count`` fields; it does not backtrack."""
    separator, quote, escape = (_spelled(csv[name]) for name in ("sep", "quote", "escape"))
    sep = "".join(map(_character, separator))
    plain = f"[^{sep}]*+" if len(separator) == 1 else f"(?:(?!{sep}).)*+"
    if not quote:
        return f"(?s)^(?:{plain}{sep}){{{count}}}"
    mark, skip = _character(quote), _character(escape or quote)
    text = f"{mark}[^{mark}{skip}]*+(?:{skip}.[^{mark}{skip}]*+)*+{mark}"
    if skip == mark:
        text = f"{mark}[^{mark}]*+(?:{mark}{mark}[^{mark}]*+)*+{mark}"
    return f"(?s)^(?:(?:{text}|(?!{mark})){plain}{sep}){{{count}}}"


def _spelled(text: str) -> str:
    """Return what Spark takes an option of characters for: some are written with a backslash."""
    return _ESCAPES.get(text, text)


def _character(text: str) -> str:
    return f"\\x{{{ord(text):x}}}"


FORMATS: Mapping[str, Callable[[Options], Reader]] = {
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
    "glueparquet": _parquet,
    "orc": _orc,
    "avro": _avro,
    "xml": _xml,
    "groklog": _grok,
}
"""By Glue's name: format_options to a reader. Each raises :class:`InvalidInput` for wrong ones."""


def check_format(form: str | None) -> str:
    """Return a format's name in lower case. Raises :class:`InvalidInput` for one that cannot be read."""
    name = (form or "").strip().lower()
    if name in FORMATS:
        return name
    if name in _ABSENT:
        raise InvalidInput(f"Format {form} is not supported for reading.", remedy=_ABSENT[name])
    if not name:
        raise InvalidInput("A read of files needs a format.", remedy=f'Give format="...", one of {", ".join(FORMATS)}.')
    raise InvalidInput(f"Format {form!r} is not supported for reading.", remedy=f"Use one of {', '.join(FORMATS)}.")
