"""Athena's properties of Iceberg tables, and the properties of Iceberg that they are stored as.

Source: Athena user guide, "Create Iceberg tables", "Table properties"; Iceberg documentation, "Configuration".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.sql.errors import StatementError

__all__ = ["ICEBERG_OF_ATHENA", "athena_properties", "iceberg_name", "iceberg_properties"]

_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
_COMPRESSIONS = {"zstd": "zstd", "gzip": "gzip", "snappy": "snappy", "lz4": "lz4", "none": "uncompressed"}


@dataclass(frozen=True, slots=True)
class _Property:
    """Iceberg's name of a property, and how many of Iceberg's units one of Athena's is."""

    name: str
    factor: int = 1


ICEBERG_OF_ATHENA: Mapping[str, str] = {
    "format": "write.format.default",
    "write_compression": "write.parquet.compression-codec",
}
"""Properties with texts, by Athena's name."""
_NUMBERS: Mapping[str, _Property] = {
    "write_target_data_file_size_bytes": _Property("write.target-file-size-bytes"),
    "vacuum_max_snapshot_age_seconds": _Property("history.expire.max-snapshot-age-ms", 1_000),
    "vacuum_min_snapshots_to_keep": _Property("history.expire.min-snapshots-to-keep"),
    "vacuum_max_metadata_files_to_keep": _Property("write.metadata.previous-versions-max"),
    "optimize_rewrite_data_file_threshold": _Property("optimize_rewrite_data_file_threshold"),
    "optimize_rewrite_delete_file_threshold": _Property("optimize_rewrite_delete_file_threshold"),
    "optimize_rewrite_min_data_file_size_bytes": _Property("optimize_rewrite_min_data_file_size_bytes"),
    "optimize_rewrite_max_data_file_size_bytes": _Property("optimize_rewrite_max_data_file_size_bytes"),
}
_IGNORED = frozenset({"table_type"})


def iceberg_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return what Athena's properties are in Iceberg. Raises :class:`StatementError` for other names."""
    result: dict[str, str] = {}
    for name, value in properties.items():
        lowered = name.lower()
        if lowered in _IGNORED:
            continue
        if lowered in _NUMBERS:
            if not _NUMBER.fullmatch(value):
                raise _refused(f"The table property {lowered} is '{value[:50]}', not a whole number.")
            number = _NUMBERS[lowered]
            result[number.name] = str(int(value) * number.factor)
        elif lowered == "format":
            if value.lower() != "parquet":
                raise StatementError("NOT_SUPPORTED", f"Iceberg tables of format {value[:50]} are not written; parquet is.")
            result[ICEBERG_OF_ATHENA[lowered]] = "parquet"
        elif lowered == "write_compression":
            codec = _COMPRESSIONS.get(value.lower())
            if codec is None:
                known_codecs = ", ".join(_COMPRESSIONS)
                raise _refused(f"Unsupported write_compression: {value[:50]}. Known are {known_codecs}.")
            result[ICEBERG_OF_ATHENA[lowered]] = codec
        else:
            raise _refused(f"Unsupported table property key: {name[:100]}")
    return result


def iceberg_name(name: str) -> str:
    """Return Iceberg's name of one of Athena's properties. Raises :class:`StatementError`."""
    lowered = name.lower()
    if lowered in _NUMBERS:
        return _NUMBERS[lowered].name
    if lowered in ICEBERG_OF_ATHENA:
        return ICEBERG_OF_ATHENA[lowered]
    raise _refused(f"Unsupported table property key: {name[:100]}")


def athena_properties(stored: Mapping[str, str]) -> dict[str, str]:
    """Return Athena's properties among Iceberg's, for SHOW CREATE TABLE."""
    properties = {"table_type": "iceberg"}
    for name, other in ICEBERG_OF_ATHENA.items():
        if other in stored:
            properties[name] = stored[other].lower()
    for name, number in _NUMBERS.items():
        if number.name in stored and _NUMBER.fullmatch(stored[number.name]):
            properties[name] = str(int(stored[number.name]) // number.factor)
    return properties


def _refused(message: str) -> StatementError:
    allowed = ", ".join(sorted({*ICEBERG_OF_ATHENA, *_NUMBERS}))
    return StatementError("INVALID_TABLE_PROPERTY", message, remedy=f"Athena's properties of Iceberg tables are {allowed}.")
