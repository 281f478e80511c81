"""What the scripts of the field read: records, the files of them, and the catalog's tables over those."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = [
    "BEATS",
    "CHANGES",
    "CLUBS",
    "CONTRACTS",
    "CUSTOMERS",
    "FILMS",
    "FIRST",
    "PLAYERS",
    "POLICIES",
    "READINGS",
    "SALES",
    "STAYS",
    "TRAIL",
    "add_tables",
]

Records = Sequence[Mapping[str, Any]]

CLUBS: Records = [
    {"id": f"c{n}", "name": name, "founders": [name[0]], "seats": 100 * n}
    for n, name in enumerate(["North", "South", "East"])
]
PLAYERS: Records = [
    {"id": n, "name": f"player {n}", "links": [{"note": f"n{n}-{i}", "url": f"u{i}"} for i in range(n % 3)]}
    for n in range(20)
]
CONTRACTS: Records = [{"player_id": n % 22, "organization_id": f"c{n % 4}", "years": n} for n in range(40)]
STAYS: Records = [
    {
        "what": f"t{n}",
        "clinic id": f"{n} & more" if n % 5 == 0 else f"{n}",
        "clinic name": f"clinic {n}",
        "clinic zip": 1000 + n,
        "price": f"${n}.25",
        "days spent": n * 2,
    }
    for n in range(30)
]
FILMS: Records = [{"title": f"film {n}", "score": None if n % 6 == 0 else 8.0 + n / 10, "year": 1990 + n} for n in range(24)]
CUSTOMERS: Records = [
    {"email": f"{n}@x", "birthday": "2000-01-01", **({"share": 1655296678763 + n} if n % 3 else {})} for n in range(12)
]
READINGS: Records = [{"user": f"{n % 9}@x", "x": n, "y": -n} for n in range(50)]
TRAIL: Records = [
    {"event": n, "size": str(n) if n % 2 else n, "who": {"name": f"w{n}", "roles": ["r"] * (n % 3)}} for n in range(10)
]
FIRST: Records = [{"id": n, "name": f"first {n}"} for n in range(6)]
CHANGES: Records = [
    {"id": 1, "name": "changed", "op": "update"},
    {"id": 2, "name": "", "op": "delete"},
    {"id": 9, "name": "new", "op": "insert"},
]
BEATS: Records = [{"id": n, "rate": n + 0.5, "at": f"2026-01-02 03:04:{n:02d}"} for n in range(8)]
POLICIES: Sequence[Sequence[str]] = [
    ["policy", "holder", "premium", "note"],
    *([f"p{n}", f"Holder, {n}", "" if n % 4 == 0 else f"{n}.5", 'says ""yes""'] for n in range(9)),
]
SALES: Sequence[Records] = [
    [{"id": n, "land": land} for n, land in enumerate(["DE", "FR", "IT", "DE"])],
    [{"id": n, "land": land} for n, land in enumerate(["FR", "IT", "FR"], 10)],
]

_TABLES: Mapping[str, tuple[Records, Mapping[str, str]]] = {
    "clubs": (CLUBS, {"id": "string", "name": "string", "founders": "array<string>", "seats": "int"}),
    "players": (PLAYERS, {"id": "int", "name": "string", "links": "array<struct<note:string,url:string>>"}),
    "contracts": (CONTRACTS, {"player_id": "int", "organization_id": "string", "years": "int"}),
    "films": (FILMS, {"title": "string", "score": "double", "year": "int"}),
    "readings": (READINGS, {"user": "string", "x": "int", "y": "int"}),
    "trail": (TRAIL, {"event": "int", "size": "string", "who": "struct<name:string,roles:array<string>>"}),
}
_STAYS = {"what": "string", "clinic id": "bigint", "clinic name": "string"}
_STAYS |= {"clinic zip": "bigint", "price": "string", "days spent": "bigint"}
_FILES = {"customers": CUSTOMERS, "first": FIRST, "changes": CHANGES}
_TEXT = {
    "InputFormat": "org.apache.hadoop.mapred.TextInputFormat",
    "OutputFormat": "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
}
_JSON = _TEXT | {"SerdeInfo": {"SerializationLibrary": "org.openx.data.jsonserde.JsonSerDe"}}
_CSV_TABLE = {"classification": "csv", "skip.header.line.count": "1"}
_CSV = _TEXT | {
    "SerdeInfo": {
        "SerializationLibrary": "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
        "Parameters": {"field.delim": ","},
    }
}


def add_tables(catalog: Any, bucket: Path) -> None:
    """Write all inputs under ``bucket``/in, with tables of database league, as a crawler makes them."""
    catalog.create_database(DatabaseInput={"Name": "league", "LocationUri": "s3://field/league/"})
    for name, (records, columns) in _TABLES.items():
        _write(bucket / "in" / name / "a.json", records)
        _table(catalog, name, f"s3://field/in/{name}/", columns)
    for name, records in _FILES.items():
        _write(bucket / "in" / name / "a.json", records)
    quoted = [",".join(f'"{value}"' for value in row) for row in POLICIES]
    (bucket / "in" / "policies").mkdir(parents=True)
    (bucket / "in" / "policies" / "policies.csv").write_text("\n".join(quoted) + "\n")
    lines = [",".join(_STAYS), *(",".join(str(stay[column]) for column in _STAYS) for stay in STAYS)]
    (bucket / "in" / "stays").mkdir(parents=True)
    (bucket / "in" / "stays" / "stays.csv").write_text("\n".join(lines) + "\n")
    _table(catalog, "stays", "s3://field/in/stays/", _STAYS, about=_CSV_TABLE, storage=_CSV)
    _table(catalog, "sales", "s3://field/in/sales/", {"id": "int"}, partitions={"land": "string"})
    _add_sales(catalog, bucket)
    _table(catalog, "good_films", "s3://field/good-films/", {"title": "string", "score": "decimal(10,2)", "year": "int"})


def _add_sales(catalog: Any, bucket: Path) -> None:
    """Write the sales that are there from the start, with their partitions, and those that arrive later, elsewhere."""
    for folder, sales in (("in/sales", SALES[0]), ("later", SALES[1])):
        for land in {record["land"] for record in sales}:
            records = [{"id": record["id"]} for record in sales if record["land"] == land]
            _write(bucket / folder / f"land={land}" / f"{records[0]['id']}.json", records)
    for land in {record["land"] for record in SALES[0]}:
        storage = {"Location": f"s3://field/in/sales/land={land}/", "Columns": [{"Name": "id", "Type": "int"}], **_JSON}
        catalog.create_partition(
            DatabaseName="league", TableName="sales", PartitionInput={"Values": [land], "StorageDescriptor": storage}
        )


def _write(path: Path, records: Records) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)) + "\n")


def _table(  # noqa: PLR0917 - the parts of a table
    catalog: Any,
    name: str,
    location: str,
    columns: Mapping[str, str],
    partitions: Mapping[str, str] | None = None,
    about: Mapping[str, str] | None = None,
    storage: Mapping[str, Any] = _JSON,
) -> None:
    def listed(of: Mapping[str, str]) -> list[dict[str, str]]:
        return [{"Name": column, "Type": kind} for column, kind in of.items()]

    catalog.create_table(
        DatabaseName="league",
        TableInput={
            "Name": name,
            "TableType": "EXTERNAL_TABLE",
            "Parameters": about or {"classification": "json"},
            "PartitionKeys": listed(partitions or {}),
            "StorageDescriptor": {"Location": location, "Columns": listed(columns), **storage},
        },
    )
