"""EXPLAIN: how each table is read, and the engine's own plan, which is DuckDB's and not Trino's."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from penstock.query.engine.context import ExecutionContext
from penstock.query.errors import without_paths
from penstock.query.planning.planner import Plan
from penstock.query.ports import CATALOG_NAME
from penstock.query.tables.port import Scan
from penstock.query.task import Outcome
from penstock.query.writing.iceberg.statements import changed_rows
from penstock.sql.errors import StatementError
from penstock.sql.statements.model import CreateTableAs, Delete, Explain, Insert, Merge, Select, Unload, Update
from penstock.statements.model import ResultColumn

__all__ = ["explain"]

_PLAN = [ResultColumn(name="Query Plan", type="varchar", precision=2147483647)]
_VALID = [ResultColumn(name="Valid", type="boolean")]
_ENGINE = f"DuckDB {duckdb.__version__}"
_SPARK = "Spark SQL"


def explain(context: ExecutionContext, statement: Explain) -> Outcome:
    """Plan the statement and write its plan, or what TYPE asks for, as the result. EXPLAIN ANALYZE runs its query.

    Raises :class:`StatementError` for a statement that the query's engine does not run.
    """
    writes, query = _explained(context, statement)
    with context.planned(query, explain=not statement.analyze) as (session, plan, statistics):
        context.on_planned(statistics)
        lines: Sequence[str]
        if statement.plan == "VALIDATE":
            session.explained(plan)
            lines, columns = ["true"], _VALID
        elif statement.plan == "IO":
            session.explained(plan)
            lines, columns = json.dumps(_inputs(plan), indent=2).splitlines(), _PLAN
        else:
            form = statement.format.lower()
            own = session.explained(plan, analyze=statement.analyze, form=form)
            own = without_paths("\n".join(own), context.task.lake.root).splitlines()
            lines, columns = _FORMATS[statement.format](plan, own, writes), _PLAN
        return context.text_result(columns, [[line] for line in lines], statistics)


def _explained(context: ExecutionContext, statement: Explain) -> tuple[str, Select]:
    """Return what the statement writes by, empty for a query, and the query for its rows."""
    explained = statement.statement
    if isinstance(explained, Select):
        return "", explained
    if statement.analyze:
        raise StatementError(
            "NOT_SUPPORTED", "EXPLAIN ANALYZE of a statement that writes is not supported.", remedy="Explain its query."
        )
    if isinstance(explained, CreateTableAs | Insert | Unload):
        return explained.substatement, Select(tree=explained.query)
    if isinstance(explained, Delete | Update | Merge):
        return explained.substatement, Select(tree=changed_rows(context, explained))
    raise StatementError("NOT_SUPPORTED", f"EXPLAIN of {explained.substatement} is not supported.")


def _text(plan: Plan, own: Sequence[str], writes: str) -> Sequence[str]:
    head = [f"Engine: {_engine(plan)}"]
    if writes:
        head.append(f"{writes} of the rows of:")
    scans = zip(plan.names, plan.scans, strict=True)
    return [*head, *(f"{name}: {_route(plan, scan)}" for name, scan in scans), "", *own]


def _engine(plan: Plan) -> str:
    """Return the name of the engine that the plan is for."""
    return _ENGINE if plan.remote is None else _SPARK


def _route(plan: Plan, scan: Scan) -> str:
    return scan.route if plan.remote is None else scan.route.replace("DuckDB reads", "Spark SQL reads")


def _json(plan: Plan, own: Sequence[str], writes: str) -> Sequence[str]:
    document: dict[str, Any] = {"engine": _engine(plan), **({"statement": writes} if writes else {})}
    tables = [{"table": name, "route": scan.route} for name, scan in zip(plan.names, plan.scans, strict=True)]
    return json.dumps({**document, "tables": tables, "plan": json.loads("\n".join(own))}, indent=2).splitlines()


def _graphviz(plan: Plan, own: Sequence[str], writes: str) -> Sequence[str]:
    return [*(f"// {line}" for line in _text(plan, (), writes) if line), *(line for line in own if line.strip())]


def _inputs(plan: Plan) -> Mapping[str, Any]:
    """Return the tables that are read, under the names of Trino's document for TYPE IO."""
    infos = []
    for name, scan in zip(plan.names, plan.scans, strict=True):
        schema, _, table = name.partition(".")
        infos.append(
            {
                "table": {"catalog": CATALOG_NAME.lower(), "schemaTable": {"schema": schema, "table": table}},
                "route": _route(plan, scan),
                "files": len(scan.files),
                "outputSizeInBytes": sum(file.size for file in scan.files),
                "partitions": {"read": scan.partitions_read, "considered": scan.partitions_total},
            }
        )
    return {"inputTableColumnInfos": infos}


_FORMATS = {"TEXT": _text, "JSON": _json, "GRAPHVIZ": _graphviz}
