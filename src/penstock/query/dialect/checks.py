"""The functions that a query may call: they compute on values, and do not reach outside the lake or into the engine.

The engine itself can open only the lake's files. So this is the first of two checks, and the one whose message names the
function.
"""

from sqlglot import exp

from penstock.query.dialect.positions import position_of
from penstock.query.errors import InvalidRequest

__all__ = ["check_functions", "is_repeatable"]

_REFUSED = frozenset(
    """
    current_setting current_connection_id current_query current_query_id current_schemas current_transaction_id currval
    duckdb_functions enum_code get_block_size getenv getvariable glob in_search_path json_deserialize_sql
    json_execute_serialized_sql json_serialize_plan json_serialize_sql nextval parse_duckdb_log_message parquet_scan
    pg_sleep query query_table read_blob read_csv read_csv_auto read_json read_json_auto read_ndjson read_parquet
    read_text seq_scan setseed setval sleep_ms sniff_csv stats txid_current vector_type version which_secret write_log
    """.split()  # noqa: SIM905
)
# Functions whose result depends on the time of the call, or is random.
_CHANGING = (
    *(exp.CurrentDate, exp.CurrentDatetime, exp.CurrentTime, exp.CurrentTimestamp, exp.CurrentTimestampLTZ),
    *(exp.CurrentTimezone, exp.Localtime, exp.Localtimestamp, exp.UtcTime, exp.UtcTimestamp, exp.UtcDate),
    *(exp.Rand, exp.Randn, exp.Uuid, exp.TableSample),
)
_CHANGING_NAMES = frozenset({"random", "rand", "shuffle", "uuid", "gen_random_uuid", "now", "today", "get_current_time"})
_REFUSED_PREFIXES = (
    "pg_",
    "has_",
    "inet_",
    "duckdb_",
    "pragma_",
    "read_",
    "parquet_",
    "icu_collate_",
    "iceberg_",
    "delta_",
    "sql_auto",
)


def is_repeatable(tree: exp.Expr) -> bool:
    """Return whether the query, as written, returns the same rows over the same data at any time."""
    if tree.find(*_CHANGING) is not None:
        return False
    return not any(each.name.lower() in _CHANGING_NAMES for each in tree.find_all(exp.Anonymous))


def check_functions(tree: exp.Expr) -> None:
    """Raise :class:`InvalidRequest` for the first function that is refused, and for a table that is not a name.

    FROM may have names of tables, subqueries, UNNEST and VALUES, but not table functions and file names.
    """
    for table in tree.find_all(exp.Table):
        parts = [table.args.get(part) for part in ("this", "db", "catalog")]
        if parts[0] is None or not all(isinstance(part, exp.Identifier | None) for part in parts):
            raise _refused(table, f"The table function {table.this.sql('trino')[:100]} is not supported.")
    for node in tree.walk():
        if isinstance(node, exp.Parameter | exp.SessionParameter):
            raise _refused(node, f"The variable {node.sql('trino')[:100]} is not supported.")
        if not isinstance(node, exp.Func):
            continue
        names = {node.name.lower()} if isinstance(node, exp.Anonymous) else {each.lower() for each in node.sql_names()}
        for name in names:
            if name in _REFUSED or name.startswith(_REFUSED_PREFIXES):
                raise _refused(node, f"Function '{name}' is not supported.")


def _refused(node: exp.Expr, message: str) -> InvalidRequest:
    position = position_of(node)
    where = f"{position}: " if position is not None else ""
    return InvalidRequest(
        f"{where}{message}", remedy="Queries compute only on the catalog's tables.", athena_code="MALFORMED_QUERY"
    )
