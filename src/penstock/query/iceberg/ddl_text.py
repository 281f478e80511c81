"""SHOW CREATE TABLE of Iceberg tables, as Athena writes it: the statement that makes the table."""

import re

from penstock.catalog.model import Table
from penstock.lake.iceberg.schemas import hive_type
from penstock.lake.iceberg.table_metadata import by_id, current_schema
from penstock.lake.locations import LakeFolder
from penstock.query.dialect.types import quote_text
from penstock.query.iceberg.changes.properties import athena_properties
from penstock.query.iceberg.state import load

__all__ = ["create_statement"]

_NUMBERED = re.compile(r"(\w+)\[(\d+)\]", re.ASCII)


def create_statement(table: Table, lake: LakeFolder) -> list[str]:
    """Return the lines of the statement. Raises :class:`penstock.query.errors.StatementError`."""
    state = load(table, lake)
    schema = current_schema(state.document)
    columns = []
    for each in schema["fields"]:
        comment = f" COMMENT {quote_text(each['doc'])}" if each.get("doc") else ""
        columns.append(f"  {each['name'].lower()} {hive_type(each['type'])}{comment}")
    lines = [f"CREATE TABLE {state.name} (", *(f"{each}," for each in columns[:-1]), f"{columns[-1]})"]
    names = {each["id"]: each["name"].lower() for each in schema["fields"]}
    spec = by_id(state.document["partition-specs"], "spec-id", state.document["default-spec-id"])
    parts = [
        _partition(each["transform"], names.get(each["source-id"], each["name"]))
        for each in spec["fields"]
        if each["transform"] != "void"
    ]
    if parts:
        lines.append(f"PARTITIONED BY ({', '.join(parts)})")
    lines += [f"LOCATION {quote_text(state.metadata.location)}", "TBLPROPERTIES ("]
    properties = [
        f"  {quote_text(key)}={quote_text(value)}" for key, value in athena_properties(state.metadata.properties).items()
    ]
    return [*lines, *(f"{each}," for each in properties[:-1]), properties[-1], ")"]


def _partition(transform: str, column: str) -> str:
    numbered = _NUMBERED.fullmatch(transform)
    if numbered:
        return f"{numbered[1]}({numbered[2]}, `{column}`)"
    return f"`{column}`" if transform == "identity" else f"{transform}(`{column}`)"
