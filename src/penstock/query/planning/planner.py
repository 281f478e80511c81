"""From a parsed query to one that the engine can run: resolve names, prune partitions, list files, translate the dialect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from penstock.catalog.model import Table
from penstock.query.permitted_files import PermittedLake
from penstock.query.planning.pruning import conditions_on, has_outer_join, narrow
from penstock.query.ports import CATALOG_NAME, StatementCatalog
from penstock.query.sparksql.reads import VIEWS, RemoteQuery, check_versions, unread
from penstock.query.sparksql.translate import to_spark
from penstock.query.tables.lookup import find_source
from penstock.query.tables.port import (
    SCHEMA,
    Evaluator,
    LakeReader,
    Scan,
    ScanRequest,
    TableReference,
    TableSource,
    hidden_columns,
)
from penstock.sql.errors import StatementError
from penstock.sql.names.resolution import with_session
from penstock.sql.positions import position_of
from penstock.sql.scopes import Columns
from penstock.sql.statements.model import Select
from penstock.sql.statements.names import TableName
from penstock.sql.translate import to_engine
from penstock.sql.trino_types import Type

__all__ = ["POSITIONS", "Plan", "Planner"]

_MAX_VIEWS = 20
_NO_FILES = "anything but tables of files that you may read in full"

_NUMBER = "penstock_number"
"""A table's node has the number of its source in its ``meta``; so have its copies, which some functions make."""

POSITIONS = "penstock_positions"
"""A table's node with this in its ``meta`` gets the columns of :attr:`TableReference.positions`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A query in the engine's SQL over the views of ``scans``; ``tree`` finds positions for error messages."""

    sql: str
    scans: Sequence[Scan]
    names: Sequence[str]
    """``database.table`` of each scan."""
    tree: exp.Query
    remote: RemoteQuery | None = None
    """The query for Spark SQL, None if the engine of this process runs it."""
    types: Sequence[Type | None] = ()
    """Trino's types of the result's columns where they are known; empty if their number is not known."""


@dataclass(slots=True)
class _Source:
    """A reference to a table of the catalog: its node, its alias, its scope."""

    node: exp.Table
    alias: str
    scope: Scope
    source: TableSource


class Planner:
    """Plans queries against one catalog and one lake."""

    def __init__(
        self,
        catalog: StatementCatalog,
        lake: PermittedLake,
        engine: Evaluator,
        *,
        max_files: int,
        views: tuple[str, ...] = (),
        prefix: str = "s",
        spark: bool = False,
    ) -> None:
        """``views`` are those that the query is inside of; ``prefix`` begins the names of its scans' views.

        With ``spark``, plans of queries that read files are for Spark SQL.
        """
        self._spark = spark
        self._reader = LakeReader(catalog, lake, engine, self._plan_view, views)
        self._max_files = max_files
        self._views = views
        self._prefix = prefix

    def plan(self, select: Select, *, database: str | None, outside: ScanRequest | None = None) -> Plan:
        """Plan ``select``, whose tree becomes the plan's. Raises :class:`StatementError` if a name does not resolve.

        ``outside`` is what the query around a view needs of it.
        """
        tree = select.tree
        tables: dict[tuple[str, str, str], TableSource] = {}
        with_session(tree, CATALOG_NAME.lower(), database)
        try:
            twin = tree.copy() if self._spark else None
            sources = self._sources(tree, database, tables)
            types = to_engine(tree, _columns_of(sources))
            if outside is not None and not outside.outer:
                narrow(tree, outside.conditions)
            scans = self._scans(tree, sources)
            _hide(sources, scans)
            self._rewrite(tree)
            _check_rewritten(tree)
            _name_columns(tree)
            sql = tree.sql("duckdb", comments=False)
            remote = self._remote(twin, self._sources(twin, database, tables), scans) if twin is not None else None
        except RecursionError:
            raise StatementError("SYNTAX_ERROR", "The SQL nests too deeply.", remedy="Split it with WITH.") from None
        except SqlglotError as error:
            raise StatementError("SYNTAX_ERROR", str(error)[:500]) from error
        return Plan(
            sql=sql,
            scans=scans,
            names=[_full_name(source.source.table) for source in sources],
            tree=tree,
            types=types,
            remote=remote,
        )

    def _plan_view(self, name: str, query: Select, database: str | None, request: ScanRequest, /) -> Plan:
        views = (*self._views, name)
        if name in self._views or len(views) > _MAX_VIEWS:
            why = "it reads itself" if name in self._views else f"more than {_MAX_VIEWS} views are inside each other"
            raise StatementError("INVALID_VIEW", f"View '{CATALOG_NAME.lower()}.{name}' cannot be read: {why}.")
        reader = self._reader
        planner = Planner(
            reader.catalog,
            reader.lake,
            reader.engine,
            max_files=request.max_files,
            views=views,
            prefix=f"{request.view}_",
            spark=self._spark,
        )
        return planner.plan(query, database=database, outside=request)

    def _sources(
        self, tree: exp.Query, database: str | None, tables: dict[tuple[str, str, str], TableSource]
    ) -> list[_Source]:
        sources: list[_Source] = []
        visited: set[int] = set()
        for scope in traverse_scope(tree):
            for alias, source in scope.sources.items():
                if not isinstance(source, exp.Table) or id(source) in visited:
                    continue
                visited.add(id(source))
                name = TableName(source.name.lower(), source.db.lower() or database, source.catalog.lower() or None)
                version = source.args.get("version")
                positions = bool(source.meta.get(POSITIONS))
                reference = TableReference(name=name, version=version, position=position_of(source), positions=positions)
                at = version.sql("trino") if version is not None else ""
                key = (name.database or "", name.name, f"{at}{' positions' if positions else ''}")
                if key not in tables:
                    tables[key] = find_source(reference, self._reader)
                source.meta[_NUMBER] = len(sources)
                sources.append(_Source(source, alias, scope, tables[key]))
                _strip_schema(sources[-1])
        return sources

    def _scans(self, tree: exp.Query, sources: Sequence[_Source]) -> list[Scan]:
        scans: list[Scan] = []
        budget = self._max_files
        mentioned = _mentioned(tree)
        hidden = frozenset(node.name.lower() for node in tree.find_all(exp.Identifier) if node.name.startswith("$"))
        for number, source in enumerate(sources):
            peers = {other.alias: other.source.table for other in sources if other.scope is source.scope}
            request = ScanRequest(
                view=f"{self._prefix}{number}",
                conditions=partial(conditions_on, source.scope, source.alias, peers),
                outer=has_outer_join(source.scope),
                columns=mentioned,
                hidden=hidden,
                max_files=budget,
            )
            scan = source.source.scan(request)
            budget -= len(scan.files)
            scans.append(scan)
        return scans

    def _remote(self, tree: exp.Query, sources: Sequence[_Source], scans: Sequence[Scan]) -> RemoteQuery | None:
        """Return the query for Spark SQL over the same scans; None if none of them reads files.

        ``tree`` is as the query was before it was translated for the other engine, which all checks are made with.
        """
        if not any(hasattr(scan, "remote") or scan.files for scan in scans):
            return None
        reads = []
        for scan, source in zip(scans, sources, strict=True):
            remote = getattr(scan, "remote", None)
            if remote is None:
                raise unread(_full_name(source.source.table), _NO_FILES)
            reads.append(remote())
        check_versions(reads)
        if any(cte.alias.lower().startswith(VIEWS) for cte in tree.find_all(exp.CTE)):
            raise StatementError("NOT_SUPPORTED", f"Names of WITH that begin with {VIEWS} are the engine's own.")
        _name_columns(tree)
        columns = to_spark(tree, _columns_of(sources))
        self._rewrite(tree, schema=None)
        _check_rewritten(tree)
        return RemoteQuery(tree.sql("spark", comments=False, identify=True), reads, columns)

    def _rewrite(self, tree: exp.Query, schema: str | None = SCHEMA) -> None:
        """Replace each table by its view, under the alias that the query uses."""
        for node in tree.find_all(exp.Table):
            if _NUMBER not in node.meta:
                continue
            if not node.alias:
                node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
            else:
                node.args["alias"].this.set("quoted", True)
            view = f"{VIEWS if schema is None else ''}{self._prefix}{node.meta[_NUMBER]}"
            node.set("this", exp.to_identifier(view, quoted=True))
            node.set("db", exp.to_identifier(schema, quoted=True) if schema is not None else None)
            node.set("catalog", None)
            node.set("version", None)


def _columns_of(sources: Sequence[_Source]) -> Columns:
    """Return the function that tells the types of a table's columns, by its node in the query."""
    by_node = {id(source.node): source.source.table for source in sources}
    columns_by_table: dict[int, Mapping[str, Type | None]] = {}

    def columns(node: exp.Table) -> Mapping[str, Type | None] | None:
        table = by_node.get(id(node))
        if table is None:
            return None
        if id(table) not in columns_by_table:
            both = (*table.storage.columns, *table.partition_keys)
            columns_by_table[id(table)] = {column.name.lower(): Type.of_hive(column.type or "string") for column in both}
        return columns_by_table[id(table)]

    return columns


def _full_name(table: Table) -> str:
    return f"{table.database}.{table.name}"


def _mentioned(tree: exp.Query) -> frozenset[str] | None:
    """Return the names (lower case) in the query; None if it uses all columns of a source, or those that two share."""
    names = set()
    for node in tree.walk():
        if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Anonymous | exp.Count):
            return None
        if isinstance(node, exp.Join) and (node.method or node.args.get("using")):
            return None
        if isinstance(node, exp.Identifier):
            names.add(node.name.lower())
    return frozenset(names)


def _hide(sources: Sequence[_Source], scans: Sequence[Scan]) -> None:
    """Take hidden columns out of each star over a table that has them."""
    by_scope: dict[int, tuple[exp.Expr, set[str]]] = {}
    for source, scan in zip(sources, scans, strict=True):
        if hidden_columns(scan):
            by_scope.setdefault(id(source.scope), (source.scope.expression, set()))[1].update(hidden_columns(scan))
    for query, names in by_scope.values():
        for projection in query.expressions if isinstance(query, exp.Select) else ():
            star = projection.this if isinstance(projection, exp.Column) else projection
            if isinstance(star, exp.Star):
                star.set("except_", [exp.to_identifier(name, quoted=True) for name in sorted(names)])


def _strip_schema(source: _Source) -> None:
    """Change ``database.table.column`` to ``table.column``, as views are in a schema of their own."""
    for column in source.scope.columns:
        if column.db.lower() == source.source.table.database and column.table.lower() == source.node.name.lower():
            column.set("db", None)
            column.set("catalog", None)


def _check_rewritten(tree: exp.Query) -> None:
    """Check that every table is one of our views or the name of a WITH: no query reads the engine's own catalog."""
    names = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if _NUMBER not in table.meta and (table.db or table.catalog or table.name.lower() not in names):
            raise StatementError(
                "TABLE_NOT_FOUND", f"Table '{table.sql('trino')[:200]}' does not exist", position=position_of(table)
            )


def _name_columns(tree: exp.Query) -> None:
    """Give unnamed result columns Trino's names: ``_col0``, ``_col1``."""
    query: exp.Expr = tree
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        return
    for number, projection in enumerate(list(query.expressions)):
        if not isinstance(projection, exp.Alias | exp.Column | exp.Star | exp.Dot | exp.Aliases):
            projection.replace(exp.alias_(projection.copy(), f"_col{number}", quoted=True))
