"""From a parsed query to one that the engine can run: resolve names, prune partitions, list files, translate the dialect."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from penstock.catalog.model import Partition, Table
from penstock.errors import NotFound
from penstock.lake.locations import LakeFolder
from penstock.query.dialect.compat import to_engine
from penstock.query.dialect.parse import Select, TableName
from penstock.query.dialect.positions import position_of
from penstock.query.errors import Position, StatementError
from penstock.query.planning.projection import is_projected, project
from penstock.query.planning.pruning import has_outer_join, partition_conditions
from penstock.query.planning.scans import DataFile, Scan, check_readable, committed_batches, data_files
from penstock.query.ports import CATALOG_NAME, CatalogReader

__all__ = ["Conditions", "Plan", "Planner", "PruneWith", "find_table"]

SCHEMA = "lake"  # the engine's schema of the scans' views

Conditions = Sequence[str]
"""Conditions on partition keys, in the engine's dialect."""

PruneWith = Callable[[Table, Sequence[Partition], Conditions, bool], Sequence[int]]
"""The function that returns the partitions (by index) that meet all conditions, or all if they cannot be evaluated.

The last argument says whether an outer join may put rows of NULLs in the table's place.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A query in the engine's SQL over the views of ``scans``; ``tree`` finds positions for error messages."""

    sql: str
    scans: Sequence[Scan]
    tree: exp.Query
    explain: bool = False


@dataclass(slots=True)
class _Source:
    """A reference to a table of the catalog: its node, its alias, its scope."""

    node: exp.Table
    alias: str
    scope: Scope
    table: Table


class Planner:
    """Plans queries against one catalog and one lake."""

    def __init__(self, catalog: CatalogReader, lake: LakeFolder, *, max_files: int) -> None:
        self._catalog = catalog
        self._lake = lake
        self._max_files = max_files

    def plan(self, select: Select, *, database: str | None, prune: PruneWith) -> Plan:
        """Plan ``select``, whose tree becomes the plan's. Raises :class:`StatementError` if a name does not resolve."""
        tree = select.tree
        try:
            to_engine(tree)
            sources = self._sources(tree, database)
            scans = self._scans(tree, sources, prune)
            _rewrite(sources)
            _check_rewritten(tree, sources)
            _name_columns(tree)
            sql = tree.sql("duckdb", comments=False)
        except RecursionError:
            raise StatementError("SYNTAX_ERROR", "The SQL nests too deeply.", remedy="Split it with WITH.") from None
        except SqlglotError as error:
            raise StatementError("SYNTAX_ERROR", str(error)[:500]) from error
        return Plan(sql=sql, scans=scans, tree=tree, explain=select.explain)

    def _sources(self, tree: exp.Query, database: str | None) -> list[_Source]:
        known: dict[tuple[str, str], Table] = {}
        found: list[_Source] = []
        seen: set[int] = set()
        for scope in traverse_scope(tree):
            for alias, source in scope.sources.items():
                if not isinstance(source, exp.Table) or id(source) in seen:
                    continue
                seen.add(id(source))
                name = TableName(source.name.lower(), source.db.lower() or None, source.catalog.lower() or None)
                at = position_of(source)
                key = (name.database or database or "", name.name)
                if key not in known:
                    known[key] = find_table(self._catalog, name, database=database, position=at)
                    check_readable(known[key])
                found.append(_Source(source, alias, scope, known[key]))
        return found

    def _scans(self, tree: exp.Query, sources: Sequence[_Source], prune: PruneWith) -> list[Scan]:
        scans = []
        budget = self._max_files
        for number, source in enumerate(sources):
            peers = {each.alias: each.table for each in sources if each.scope is source.scope}
            scan = Scan(view=f"s{number}", table=source.table, with_keys=_mentions_keys(tree, source.table))
            if source.table.partition_keys:
                conditions = partition_conditions(source.scope, source.alias, peers)
                scan = self._pruned(scan, conditions, prune, outer=has_outer_join(source.scope))
            else:
                location = source.table.storage.location or ""
                found = data_files(self._lake, location, committed=committed_batches(self._lake, location))
                scan = replace(scan, files=self._listed(scan, found, budget))
            budget -= len(scan.files)
            scans.append(scan)
        return scans

    def _pruned(self, scan: Scan, conditions: Sequence[exp.Expr], prune: PruneWith, *, outer: bool) -> Scan:
        texts = [each.sql("duckdb") for each in conditions]
        # Before partitions and files are listed: those of batches in it are complete.
        committed = committed_batches(self._lake, scan.table.storage.location or "")

        def needed(table: Table, partitions: Sequence[Partition]) -> Sequence[int]:
            return prune(table, partitions, texts, outer) if partitions and texts else range(len(partitions))

        if is_projected(scan.table):
            projected = project(scan.table, conditions, needed)
            everything, total = projected.partitions, projected.total
        else:
            everything = self._registered(scan)
            total = len(everything)
        chosen = needed(scan.table, everything)
        partitions = [everything[index] for index in chosen]
        files = (
            file
            for index, each in enumerate(partitions)
            if each.storage.location
            for file in data_files(self._lake, each.storage.location, index, committed=committed)
        )
        listed = self._listed(scan, files, self._max_files)
        return replace(scan, partitions=partitions, partitions_total=total, files=listed)

    def _registered(self, scan: Scan) -> Sequence[Partition]:
        everything = self._catalog.partitions(scan.table.database, scan.table.name)
        for each in everything:
            if len(each.values) != len(scan.table.partition_keys):
                raise StatementError(
                    "HIVE_INVALID_METADATA",
                    f"Partition {list(each.values)} of '{scan.name}' has {len(each.values)} values for "
                    f"{len(scan.table.partition_keys)} partition keys.",
                    remedy="Delete the partition, or run the crawler.",
                )
        return everything

    def _listed(self, scan: Scan, files: Iterator[DataFile], budget: int) -> Sequence[DataFile]:
        listed: list[DataFile] = []
        for file in files:
            listed.append(file)
            if len(listed) > budget:
                raise StatementError(
                    "EXCEEDED_RESULT_LIMIT",
                    f"The query reads more than {self._max_files} files of '{scan.name}'.",
                    remedy="Restrict it to fewer partitions, or compact the table.",
                )
        return listed


def find_table(catalog: CatalogReader, name: TableName, *, database: str | None, position: Position | None = None) -> Table:
    """Return the catalog's table. Raises :class:`StatementError` if a part of the name does not exist."""
    if name.catalog is not None and name.catalog.lower() != CATALOG_NAME.lower():
        raise StatementError("CATALOG_NOT_FOUND", f"Catalog '{name.catalog}' does not exist", position=position)
    schema = name.database or database
    if schema is None:
        raise StatementError(
            "MISSING_SCHEMA_NAME",
            f"Schema must be specified for '{name.name}'",
            position=position,
            remedy="Write database.table, or set QueryExecutionContext.Database.",
        )
    schema = schema.lower()
    try:
        catalog.database(schema)
    except NotFound:
        raise StatementError("SCHEMA_NOT_FOUND", f"Schema '{schema}' does not exist", position=position) from None
    try:
        return catalog.table(schema, name.name)
    except NotFound:
        what = f"{CATALOG_NAME.lower()}.{schema}.{name.name}"
        raise StatementError("TABLE_NOT_FOUND", f"Table '{what}' does not exist", position=position) from None


def _mentions_keys(tree: exp.Query, table: Table) -> bool:
    """Return whether the query uses a partition key of ``table``, or all columns of a source."""
    keys = {column.name.lower() for column in table.partition_keys}
    for node in tree.walk():
        if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
            return True
        if isinstance(node, exp.Identifier) and node.name.lower() in keys:
            return True
        if isinstance(node, exp.Join) and (node.method or node.args.get("using")):
            return True
    return False


def _rewrite(sources: Sequence[_Source]) -> None:
    """Replace each table by its view, under the alias that the query uses."""
    for number, source in enumerate(sources):
        _strip_schema(source)
        node = source.node
        if not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(source.node.name, quoted=True)))
        else:
            node.args["alias"].this.set("quoted", True)
        node.set("this", exp.to_identifier(f"s{number}", quoted=True))
        node.set("db", exp.to_identifier(SCHEMA, quoted=True))
        node.set("catalog", None)


def _strip_schema(source: _Source) -> None:
    """Change ``database.table.column`` to ``table.column``, as views are in a schema of their own."""
    for column in source.scope.columns:
        if column.db.lower() == source.table.database and column.table.lower() == source.node.name.lower():
            column.set("db", None)
            column.set("catalog", None)


def _check_rewritten(tree: exp.Query, sources: Sequence[_Source]) -> None:
    """Check that every table is one of our views or the name of a WITH: no query reads the engine's own catalog."""
    ours = {id(source.node) for source in sources}
    names = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if id(table) not in ours and (table.db or table.catalog or table.name.lower() not in names):
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
