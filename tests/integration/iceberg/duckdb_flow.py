"""DuckDB on the REST catalog: run by the Python of .tools/clients, not by the tests' own. Prints what it read as JSON.

Arguments: the catalog's address, the account, an access key's id and its secret.
"""

import json
import sys
from pathlib import Path
from typing import Any

import duckdb
import duckdb_ext  # type: ignore[import-not-found,unused-ignore]

EXTENSIONS = Path(next(iter(duckdb_ext.__path__))) / "extensions"


def connect(uri: str, account: str, key_id: str, secret: str) -> Any:
    """Return a connection with the catalog attached as ``lake``."""
    connection: Any = duckdb.connect()
    for name in ("httpfs", "avro", "iceberg"):
        [file] = EXTENSIONS.glob(f"v*/*/{name}.duckdb_extension")
        connection.execute(f"LOAD '{file}'")
    connection.execute(
        f"CREATE SECRET key (TYPE iceberg, CLIENT_ID '{key_id}', CLIENT_SECRET '{secret}', "
        f"OAUTH2_SERVER_URI '{uri}/v1/oauth/tokens')"
    )
    connection.execute(f"ATTACH '{account}' AS lake (TYPE iceberg, ENDPOINT '{uri}', SECRET key)")
    return connection


def main() -> None:
    """Run the flow."""
    connection = connect(*sys.argv[1:])

    def rows(statement: str) -> list[Any]:
        results: list[Any] = connection.execute(statement).fetchall()
        return results

    answers = {"of_others": rows("SELECT id, name FROM lake.shared.made ORDER BY id")}
    rows("CREATE SCHEMA lake.duck")
    rows("CREATE TABLE lake.duck.t (id BIGINT, s VARCHAR)")
    rows("INSERT INTO lake.duck.t SELECT i, 'x' FROM range(10) r(i)")
    rows("DELETE FROM lake.duck.t WHERE id > 6")
    rows("UPDATE lake.duck.t SET s = 'y' WHERE id = 1")
    rows("CREATE TABLE lake.duck.u AS SELECT 42 AS answer")
    rows("BEGIN")
    rows("INSERT INTO lake.duck.t VALUES (100, 'z')")
    rows("INSERT INTO lake.duck.u VALUES (43)")
    rows("COMMIT")
    answers["changed"] = rows("SELECT s, count(*) FROM lake.duck.t GROUP BY s ORDER BY s")
    answers["transaction"] = rows("SELECT answer FROM lake.duck.u ORDER BY answer")
    rows("INSERT INTO lake.shared.made VALUES (4, 'd')")
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    main()
