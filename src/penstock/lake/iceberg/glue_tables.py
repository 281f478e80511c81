"""Tables of the catalog that are Iceberg's: which ones they are, and what a commit writes to them.

A table that Iceberg's Java GlueCatalog or pyiceberg wrote through Glue's API is the same here: the parameters
``table_type``, ``metadata_location`` and ``previous_metadata_location``, and the columns with their field ids, are theirs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from penstock.catalog.model import Column, StorageDescriptor, Table, TableInput
from penstock.lake.iceberg.documents import Document
from penstock.lake.iceberg.errors import BadDocument
from penstock.lake.iceberg.schemas import hive_type
from penstock.lake.iceberg.table_metadata import current_schema
from penstock.types import hive, iceberg
from penstock.types.model import TypeMissing

__all__ = [
    "METADATA_LOCATION",
    "current_columns",
    "is_table",
    "is_view",
    "location_of",
    "schema_of",
    "table_input",
    "view_input",
]

METADATA_LOCATION = "metadata_location"
_PREVIOUS = "previous_metadata_location"
_KIND = "table_type"
_TABLE = "ICEBERG"
_VIEW = "ICEBERG-VIEW"
_VIRTUAL = "VIRTUAL_VIEW"
_EXTERNAL = "EXTERNAL_TABLE"
_MAX_COMMENT = 255
_MAX_DESCRIPTION = 2_048


def is_table(table: Table) -> bool:
    """Return whether this is an Iceberg table."""
    return table.parameters.get(_KIND, "").upper() == _TABLE and METADATA_LOCATION in table.parameters


def is_view(table: Table) -> bool:
    """Return whether this is an Iceberg view."""
    return table.parameters.get(_KIND, "").upper() == _VIEW and METADATA_LOCATION in table.parameters


def location_of(table: Table) -> str:
    """Return the location of the current metadata file of an Iceberg table or view."""
    return table.parameters[METADATA_LOCATION]


def table_input(name: str, document: Document, location: str, current: Table | None) -> TableInput:
    """Return the definition of the table whose metadata is at ``location``; ``current`` is the one that it replaces."""
    base = TableInput(name=name, table_type=_EXTERNAL) if current is None else TableInput.of(current)
    storage = base.storage if current is not None else StorageDescriptor()
    comment = document["properties"].get("comment")
    return replace(
        base,
        table_type=_EXTERNAL,
        description=base.description if comment is None else comment[:_MAX_DESCRIPTION],
        storage=replace(storage, location=document["location"], columns=_columns(document)),
        parameters=_parameters(_TABLE, location, current),
    )


def view_input(name: str, document: Document, location: str, current: Table | None) -> TableInput:
    """Return the definition of a view; its text is the first SQL representation of the current version."""
    base = TableInput(name=name, table_type=_VIRTUAL) if current is None else TableInput.of(current)
    version = next(item for item in document["versions"] if item["version-id"] == document["current-version-id"])
    schema = next(item for item in document["schemas"] if item["schema-id"] == version["schema-id"])
    text = next(
        (representation["sql"] for representation in version["representations"] if representation.get("type") == "sql"), None
    )
    comment = (document.get("properties") or {}).get("comment")
    columns = tuple(_column(field, current=True) for field in schema["fields"])
    return replace(
        base,
        table_type=_VIRTUAL,
        description=base.description if comment is None else comment[:_MAX_DESCRIPTION],
        storage=StorageDescriptor(location=document["location"], columns=columns),
        view_original_text=text,
        view_expanded_text=text,
        parameters=_parameters(_VIEW, location, current),
    )


def _parameters(table_type: str, location: str, current: Table | None) -> Mapping[str, str]:
    kept = {} if current is None else dict(current.parameters)
    kept.pop(_PREVIOUS, None)
    if current is not None and METADATA_LOCATION in current.parameters:
        kept[_PREVIOUS] = current.parameters[METADATA_LOCATION]
    return {**kept, _KIND: table_type, METADATA_LOCATION: location}


def _columns(document: Document) -> tuple[Column, ...]:
    """Return the current columns, then those of earlier schemas, marked as such, as Iceberg's GlueCatalog does."""
    schema = current_schema(document)
    columns = {field["name"].lower(): _column(field, current=True) for field in schema["fields"]}
    for other in document["schemas"]:
        for field in other["fields"]:
            columns.setdefault(field["name"].lower(), _column(field, current=False))
    return tuple(columns.values())


def _column(field: Document, *, current: bool) -> Column:
    comment = field.get("doc")
    return Column(
        name=field["name"],
        type=hive_type(field["type"]),
        comment=None if not isinstance(comment, str) else comment[:_MAX_COMMENT],
        parameters={
            "iceberg.field.id": str(field["id"]),
            "iceberg.field.optional": str(not field["required"]).lower(),
            "iceberg.field.current": str(current).lower(),
        },
    )


def current_columns(table: Table) -> Sequence[Column]:
    """Return a table's columns without those that it once had, which Iceberg's libraries keep in the catalog."""
    return [column for column in table.storage.columns if column.parameters.get("iceberg.field.current") != "false"]


def schema_of(columns: Sequence[Column]) -> Document:
    """Return the schema of a new table with the catalog's ``columns``, none of which is required.

    Raises :class:`BadDocument` for types that Iceberg lacks: as in Iceberg's Java library (``HiveSchemaConverter``), those
    are not replaced by wider ones.
    """
    ids = count(1)
    fields = []
    for column in columns:
        try:
            iceberg_type = iceberg.render(hive.parse(column.type or "string"), ids)
        except (hive.TypeUnreadable, TypeMissing) as error:
            raise BadDocument(f"Column {column.name}: {error.message}", remedy=error.remedy) from None
        field = {"id": next(ids), "name": column.name, "required": False, "type": iceberg_type}
        fields.append({**field, "doc": column.comment} if column.comment else field)
    return {"type": "struct", "schema-id": 0, "fields": fields}
