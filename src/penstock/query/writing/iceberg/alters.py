"""ALTER TABLE of Iceberg tables: columns by their ids, so that no file is written anew; properties; names.

Source: Athena user guide, "Evolve Iceberg table schema"; Iceberg table specification, "Schema Evolution".
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

from penstock.catalog.model import Table
from penstock.errors import AlreadyExists
from penstock.lake.iceberg.table_metadata import by_id, current_schema
from penstock.query.ddl.requests import table_request
from penstock.query.engine.context import ExecutionContext
from penstock.query.tables.iceberg.state import IcebergState
from penstock.query.tables.lookup import find_database
from penstock.query.task import Outcome
from penstock.query.writing.iceberg.commits import TableChanges, Updates
from penstock.query.writing.iceberg.definitions import iceberg_type, outcome
from penstock.query.writing.iceberg.properties import iceberg_name, iceberg_properties
from penstock.sql.errors import StatementError
from penstock.sql.statements import alter
from penstock.sql.statements.model import AlterTable
from penstock.types import iceberg
from penstock.types.widening import ICEBERG, fits

__all__ = ["alter_table"]

Fields = list[Mapping[str, Any]]


def alter_table(context: ExecutionContext, statement: AlterTable, table: Table) -> Outcome:
    """Carry out the statement's action. Raises :class:`StatementError`."""
    action = statement.action
    if isinstance(action, alter.RenameTable):
        _rename(context, table, action)
        return outcome(context)
    make = _ACTIONS.get(type(action))
    if make is None:
        raise StatementError(
            "NOT_SUPPORTED",
            f"{action.substatement.replace('_', ' ')} is not for Iceberg tables.",
            remedy="Of an Iceberg table, columns can be added, changed and dropped, and properties set and unset.",
        )
    changes = TableChanges(context, table)
    changes.commit_again(lambda state: make(state, action))
    return outcome(context)


def _add_columns(state: IcebergState, action: alter.AddColumns) -> Updates:
    fields: Fields = list(current_schema(state.document)["fields"])
    ids = count(state.document["last-column-id"] + 1)
    for column in action.columns:
        _check_new(fields, column.name, state)
        own = next(ids)
        type_ = iceberg_type(column.type, ids)
        fields.append({"id": own, "name": column.name, "type": type_, "required": False, **_doc(column.comment)})
    return _with_fields(state, fields, next(ids) - 1)


def _drop_column(state: IcebergState, action: alter.DropColumn) -> Updates:
    fields: Fields = list(current_schema(state.document)["fields"])
    gone = _find(fields, action.column, state)
    if len(fields) == 1:
        raise StatementError("INVALID_TABLE_PROPERTY", "The last column of a table cannot be dropped.")
    spec = by_id(state.document["partition-specs"], "spec-id", state.document["default-spec-id"])
    if any(field["source-id"] == gone["id"] and field["transform"] != "void" for field in spec["fields"]):
        raise StatementError(
            "NOT_SUPPORTED",
            f"Cannot drop partition field: {action.column}",
            remedy="Make a table that is not partitioned by it.",
        )
    return _with_fields(state, [field for field in fields if field is not gone], state.document["last-column-id"])


def _change_column(state: IcebergState, action: alter.ChangeColumn) -> Updates:
    fields: Fields = list(current_schema(state.document)["fields"])
    old = _find(fields, action.old, state)
    others = [field for field in fields if field is not old]
    if action.new.name != action.old:
        _check_new(others, action.new.name, state)
    type_ = iceberg_type(action.new.type, count(1))
    changed = {**old, "name": action.new.name if action.new.name != action.old else old["name"], **_doc(action.new.comment)}
    if isinstance(old["type"], str):
        changed["type"] = _promoted(action.old, old["type"], type_)
    elif _shape(type_) != _shape(old["type"]):
        raise StatementError("NOT_SUPPORTED", f"The type of the nested column '{action.old}' cannot be changed.")
    at = fields.index(old)
    if action.place == "FIRST":
        at = 0
    elif action.after is not None:
        at = others.index(_find(others, action.after, state)) + 1
    return _with_fields(state, [*others[:at], changed, *others[at:]], state.document["last-column-id"])


def _set_properties(_state: IcebergState, action: alter.SetProperties) -> Updates:
    if any(name.lower() == "table_type" for name in action.properties):
        raise StatementError("INVALID_TABLE_PROPERTY", "The property table_type of a table cannot be set.")
    return [{"action": "set-properties", "updates": iceberg_properties(action.properties)}]


def _unset_properties(state: IcebergState, action: alter.UnsetProperties) -> Updates:
    names = [iceberg_name(item) for item in action.names]
    for written, name in zip(action.names, names, strict=True):
        if name not in state.metadata.properties and not action.if_exists:
            raise StatementError("INVALID_TABLE_PROPERTY", f"Property {written} does not exist", remedy="Add IF EXISTS.")
    return [{"action": "remove-properties", "removals": names}]


def _rename(context: ExecutionContext, table: Table, action: alter.RenameTable) -> None:
    """Give the table a new entry in the catalog, and remove the old one: its files stay where they are."""
    # The new entry has no grants: who gives the table another name decides anew who may do what with it.
    context.host.check_writing(table.database, table.name, ("ALL",))
    database = find_database(context.host, action.new, table.database)
    shape = {**table_request(table), "Name": action.new.name}
    try:
        context.host.change("CreateTable", {"DatabaseName": database, "TableInput": shape})
    except AlreadyExists:
        raise StatementError(
            "TABLE_ALREADY_EXISTS", f"Target table 'awsdatacatalog.{database}.{action.new.name}' already exists"
        ) from None
    context.host.change("DeleteTable", {"DatabaseName": table.database, "Name": table.name})


def _with_fields(state: IcebergState, fields: Sequence[Mapping[str, Any]], last: int) -> Updates:
    schema = {**current_schema(state.document), "fields": list(fields)}
    schema.pop("schema-id", None)
    return [
        {"action": "add-schema", "schema": {**schema, "schema-id": 0}, "last-column-id": last},
        {"action": "set-current-schema", "schema-id": -1},
    ]


def _find(fields: Fields, name: str, state: IcebergState) -> Mapping[str, Any]:
    field = next((entry for entry in fields if entry["name"].lower() == name), None)
    if field is None:
        raise StatementError("COLUMN_NOT_FOUND", f"Column '{name}' does not exist in {state.name}")
    return field


def _check_new(fields: Fields, name: str, state: IcebergState) -> None:
    if any(field["name"].lower() == name for field in fields):
        raise StatementError("COLUMN_ALREADY_EXISTS", f"Column '{name}' already exists in {state.name}")


def _doc(comment: str | None) -> Mapping[str, str]:
    return {"doc": comment} if comment else {}


def _promoted(name: str, old: str, new: Any) -> Any:
    """Return the new type of a column if old files can be read as it. Raises :class:`StatementError`."""
    # A fixed column's files have another physical type than those of a binary one.
    if old == new or (
        isinstance(new, str) and not old.startswith("fixed[") and fits(iceberg.parse(old), iceberg.parse(new), ICEBERG)
    ):
        return new
    raise StatementError(
        "NOT_SUPPORTED",
        f"Cannot change column type: {name}: {old} -> {new if isinstance(new, str) else new['type']}",
        remedy="int becomes bigint, float becomes double, and a decimal gets more digits; nothing else.",
    )


def _shape(type_: Any) -> Any:
    """Return a nested type without ids."""
    if isinstance(type_, str):
        return type_.replace(" ", "")
    if type_["type"] == "struct":
        return [(field["name"].lower(), _shape(field["type"])) for field in type_["fields"]]
    return [(name, _shape(type_[name])) for name in ("element", "key", "value") if name in type_]


_ACTIONS: Mapping[type, Callable[[IcebergState, Any], Updates]] = {
    alter.AddColumns: _add_columns,
    alter.DropColumn: _drop_column,
    alter.ChangeColumn: _change_column,
    alter.SetProperties: _set_properties,
    alter.UnsetProperties: _unset_properties,
}
