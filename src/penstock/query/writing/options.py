"""How files are written: the format, its compression and level, and delimiters, from a statement's properties.

Source: Athena user guide, "CREATE TABLE AS", "UNLOAD" and "Compression support".
"""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.catalog.model import Table
from penstock.catalog.storage_classes import STORAGE_CLASSES
from penstock.sql.errors import StatementError
from penstock.sql.statements.model import PropertyValue

__all__ = ["WriteOptions", "options_of_table", "read_options"]

_COMPRESSIONS: Mapping[str, Mapping[str, str]] = {
    "PARQUET": {"GZIP": "gz", "SNAPPY": "snappy", "ZSTD": "zstd", "LZ4": "lz4", "NONE": "", "UNCOMPRESSED": ""},
    "ORC": {"ZLIB": "zlib", "SNAPPY": "snappy", "ZSTD": "zstd", "LZ4": "lz4", "NONE": "", "UNCOMPRESSED": ""},
    "AVRO": {
        "DEFLATE": "deflate",
        "GZIP": "deflate",
        "SNAPPY": "snappy",
        "ZSTD": "zstd",
        "BZIP2": "bzip2",
        "NONE": "",
        "UNCOMPRESSED": "",
    },
    "JSON": {"GZIP": "gz", "BZIP2": "bz2", "ZSTD": "zst", "NONE": "", "UNCOMPRESSED": ""},
    "TEXTFILE": {"GZIP": "gz", "BZIP2": "bz2", "ZSTD": "zst", "NONE": "", "UNCOMPRESSED": ""},
}
"""For each format the compressions that are written, with the part of a file's name that tells them."""
_DEFAULTS = {"PARQUET": "GZIP", "ORC": "ZLIB", "AVRO": "DEFLATE", "JSON": "GZIP", "TEXTFILE": "GZIP"}
_ENDINGS = {"PARQUET": "parquet", "ORC": "orc", "AVRO": "avro", "JSON": "json", "TEXTFILE": "txt"}
JSON_SERDE = "org.apache.hive.hcatalog.data.JsonSerDe"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """What a writer needs to know. ``delimiter`` is between the fields of text, ``null`` its text for NULL."""

    format: str
    compression: str
    level: int | None = None
    delimiter: str = "\x01"
    null: str = "\\N"

    @property
    def suffix(self) -> str:
        """The end of files' names: ``.snappy.parquet``, ``.json.gz``."""
        tag, ending = _COMPRESSIONS[self.format][self.compression], _ENDINGS[self.format]
        if self.format in {"JSON", "TEXTFILE"}:
            return f".{ending}.{tag}" if tag else f".{ending}"
        return f".{tag}.{ending}" if tag else f".{ending}"

    @property
    def storage(self) -> Mapping[str, object]:
        """The members of the catalog's StorageDescriptor that tell the format."""
        classes = STORAGE_CLASSES["TEXTFILE" if self.format == "JSON" else self.format]
        serde = JSON_SERDE if self.format == "JSON" else classes.serde
        parameters = {"serialization.format": "1"}
        if self.format == "TEXTFILE":
            parameters = {"serialization.format": self.delimiter, "field.delim": self.delimiter}
        return {
            "InputFormat": classes.input_format,
            "OutputFormat": classes.output_format,
            "Compressed": False,
            "SerdeInfo": {"SerializationLibrary": serde, "Parameters": parameters},
        }


def read_options(properties: Mapping[str, PropertyValue], *, compression: str) -> WriteOptions:
    """Return the options of a statement. ``compression`` is the name of that property: UNLOAD and CTAS differ.

    Raises :class:`StatementError`.
    """
    name = str(properties.get("format", "PARQUET")).upper()
    if name not in _COMPRESSIONS:
        raise _invalid(f"format '{name[:50]}' is not written.", f"Formats: {', '.join(_COMPRESSIONS)}.")
    own = f"{name.lower()}_compression"  # parquet_compression and orc_compression
    keys = [key for key in dict.fromkeys((compression, own)) if key in properties]
    if len(keys) > 1:
        raise _invalid(f"{' and '.join(keys)} are given.", "Give one.")
    packed = str(properties[keys[0]]).upper() if keys else _DEFAULTS[name]
    level = properties.get("compression_level")
    if level is not None and ((name, packed) != ("PARQUET", "ZSTD") or not isinstance(level, int) or not 1 <= level <= 22):
        raise _invalid("compression_level is for Parquet with ZSTD, and a number from 1 to 22.", "Leave it out.")
    delimiter = properties.get("field_delimiter")
    if delimiter is not None and (name != "TEXTFILE" or len(str(delimiter)) != 1 or not str(delimiter).isascii()):
        raise _invalid("field_delimiter is for TEXTFILE, and one ASCII character.", "Leave it out.")
    return _checked(name, packed, level, str(delimiter) if delimiter is not None else "\x01")


def _checked(name: str, compression: str, level: PropertyValue | None, delimiter: str, null: str = "\\N") -> WriteOptions:
    if compression not in _COMPRESSIONS[name]:
        raise _invalid(
            f"compression '{compression[:50]}' is not written for {name}.", f"One of {', '.join(_COMPRESSIONS[name])}."
        )
    return WriteOptions(
        format=name,
        compression=compression,
        level=level if isinstance(level, int) else None,
        delimiter=delimiter,
        null=null,
    )


_SERDES = {
    "parquethiveserde": "PARQUET",
    "orcserde": "ORC",
    "avroserde": "AVRO",
    "jsonserde": "JSON",
    "lazysimpleserde": "TEXTFILE",
}
_PROPERTIES = {"PARQUET": ("parquet.compression",), "ORC": ("orc.compress",)}


def options_of_table(table: Table) -> WriteOptions:
    """Return how files of an existing table are written. Raises :class:`StatementError` if they are not."""
    info = table.storage.serde_info
    library = (info.serialization_library if info else None) or ""
    name = _SERDES.get(library.rpartition(".")[2].lower())
    input_format = table.storage.input_format or ""
    if name is None or input_format.endswith(("SymlinkTextInputFormat", "SequenceFileInputFormat")):
        raise StatementError(
            "NOT_SUPPORTED",
            f"Rows cannot be written to '{table.database}.{table.name}', whose SerDe is {library or 'not set'}.",
            remedy="Write to a table of Parquet, ORC, Avro, JSON or LazySimpleSerDe's text.",
        )
    serde = dict(info.parameters) if info else {}
    properties = {**serde, **table.parameters}
    keys = ("write.compression", "compression", *_PROPERTIES.get(name, ()))
    packed = next((properties[key].upper() for key in keys if properties.get(key)), _DEFAULTS[name])
    refused = ["escape.delim", "collection.delim", "mapkey.delim", "skip.header.line.count", "skip.footer.line.count"]
    refused += ["avro.schema.literal", "avro.schema.url", "serialization.encoding", "line.delim"]
    for key in refused:
        plain = {"line.delim": "\n", "serialization.encoding": "utf-8"}.get(key, "0")
        if properties.get(key, plain).lower() not in {plain, ""}:
            raise StatementError(
                "NOT_SUPPORTED",
                f"Rows cannot be written to '{table.database}.{table.name}', which has {key}.",
                remedy="Write to a table without it.",
            )
    delimiter = serde.get("field.delim", serde.get("serialization.format", "\x01"))
    delimiter = "\x01" if delimiter == "1" else delimiter
    if name == "TEXTFILE" and (len(delimiter) != 1 or not delimiter.isascii() or delimiter.isdigit()):
        raise _invalid(f"field.delim {delimiter[:20]!r} is not one ASCII character.", "Change the table's SerDe.")
    return _checked(name, packed, None, delimiter, serde.get("serialization.null.format", "\\N"))


def _invalid(message: str, remedy: str) -> StatementError:
    return StatementError("INVALID_TABLE_PROPERTY", message[:1].upper() + message[1:], remedy=remedy)
