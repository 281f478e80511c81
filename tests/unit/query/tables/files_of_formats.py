"""Tables of other formats than Parquet in the tests' lake."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from penstock.catalog.model import SerDeInfo, Table
from tests.unit.query.lake_of_flights import Lake

TEXT = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
CSV = "org.apache.hadoop.hive.serde2.OpenCSVSerde"
REGEX = "org.apache.hadoop.hive.serde2.RegexSerDe"
OPENX = "org.openx.data.jsonserde.JsonSerDe"
HCATALOG = "org.apache.hive.hcatalog.data.JsonSerDe"
AVRO = "org.apache.hadoop.hive.serde2.avro.AvroSerDe"
ORC = "org.apache.hadoop.hive.ql.io.orc.OrcSerde"
LINES = "org.apache.hadoop.mapred.TextInputFormat"


def formatted(
    lake: Lake,
    name: str,
    columns: dict[str, str],
    library: str,
    *,
    serde: Mapping[str, str] | None = None,
    keys: dict[str, str] | None = None,
    input_format: str = LINES,
    parameters: Mapping[str, str] | None = None,
) -> Table:
    """Register a table of another SerDe at ``s3://lake/NAME/``."""
    table = lake.table(name, columns, keys, parameters=dict(parameters or {}))
    info = SerDeInfo(serialization_library=library, parameters=dict(serde or {}))
    changed = replace(table, storage=replace(table.storage, serde_info=info, input_format=input_format))
    lake.catalog.stored[table.database, name] = changed
    return changed


def write(lake: Lake, key: str, data: bytes | str) -> Path:
    """Write an object of bucket ``lake``."""
    path = lake.folder.root / "lake" / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path
