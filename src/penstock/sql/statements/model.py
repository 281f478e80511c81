"""Parsed statements, a class for each kind. Names are in lower case; texts are without quotes and escapes.

Each has Athena's ``type`` and ``substatement`` (API reference, "QueryExecution": StatementType, SubstatementType).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from sqlglot import exp

from penstock.sql.statements.alter import AlterAction
from penstock.sql.statements.names import ColumnDefinition, PartitionCondition, TableName
from penstock.statements.model import StatementType

__all__ = [
    "AlterDatabase",
    "AlterTable",
    "CreateDatabase",
    "CreateTable",
    "CreateTableAs",
    "CreateView",
    "Deallocate",
    "Delete",
    "Describe",
    "DescribePrepared",
    "DropDatabase",
    "DropTable",
    "DropView",
    "Execute",
    "ExecuteImmediate",
    "Explain",
    "Insert",
    "Merge",
    "Optimize",
    "Parsed",
    "PartitionTransform",
    "Prepare",
    "PropertyValue",
    "RepairTable",
    "RowFormat",
    "Select",
    "Show",
    "ShowStats",
    "Unload",
    "Update",
    "Vacuum",
]

PropertyValue = str | int | float | bool | tuple[str, ...]
"""The value of a property in WITH (...): a text, number or boolean, or the texts of an ARRAY."""


class Parsed:
    """Any statement."""

    __slots__ = ()
    type: ClassVar[StatementType]

    @property
    def substatement(self) -> str:
        """Athena's name of what the statement does."""
        raise NotImplementedError


class _Ddl(Parsed):
    __slots__ = ()
    type = StatementType.DDL


class _Dml(Parsed):
    __slots__ = ()
    type = StatementType.DML


class _Utility(Parsed):
    __slots__ = ()
    type = StatementType.UTILITY


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(_Dml):
    """A query. Planning changes ``tree``."""

    substatement: ClassVar[str] = "SELECT"
    tree: exp.Query


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableAs(_Ddl):
    """``CREATE TABLE name WITH (properties) AS query``."""

    substatement: ClassVar[str] = "CREATE_TABLE_AS_SELECT"
    table: TableName
    query: exp.Query
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)
    """By name in lower case."""
    comment: str | None = None
    if_not_exists: bool = False
    with_data: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert(_Dml):
    """``INSERT INTO table (columns) query``; no columns are all of the table's."""

    substatement: ClassVar[str] = "INSERT"
    table: TableName
    columns: Sequence[str] = ()
    query: exp.Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Unload(_Dml):
    """``UNLOAD (query) TO 's3://...' WITH (properties)``."""

    substatement: ClassVar[str] = "UNLOAD"
    query: exp.Query
    location: str
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)
    """By name in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(_Dml):
    """``MERGE INTO``, as sqlglot parses it."""

    substatement: ClassVar[str] = "MERGE"
    table: TableName
    tree: exp.Merge


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(_Dml):
    """``UPDATE``, as sqlglot parses it."""

    substatement: ClassVar[str] = "UPDATE"
    table: TableName
    tree: exp.Update


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(_Dml):
    """``DELETE FROM``, as sqlglot parses it."""

    substatement: ClassVar[str] = "DELETE"
    table: TableName
    tree: exp.Delete


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimize(_Dml):
    """``OPTIMIZE table REWRITE DATA USING BIN_PACK``, with the condition of its WHERE."""

    substatement: ClassVar[str] = "OPTIMIZE"
    table: TableName
    where: exp.Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacuum(_Dml):
    """``VACUUM table``."""

    substatement: ClassVar[str] = "VACUUM"
    table: TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFormat:
    """ROW FORMAT: a SerDe's class and its properties, under the keys of Hive's delimiters if DELIMITED names them."""

    serde: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartitionTransform:
    """A field of an Iceberg table's partitioning: ``bucket(16, id)``; ``transform`` is ``identity`` for a bare column."""

    column: str
    transform: str = "identity"
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable(_Ddl):
    """``CREATE [EXTERNAL] TABLE``, Hive's grammar.

    ``partitioned_by`` has columns with types, ``transforms`` the fields of an Iceberg table. STORED AS gives ``format``
    (``PARQUET``), or ``input_format`` and ``output_format``.
    """

    substatement: ClassVar[str] = "CREATE_TABLE"
    table: TableName
    columns: Sequence[ColumnDefinition] = ()
    external: bool = False
    if_not_exists: bool = False
    comment: str | None = None
    partitioned_by: Sequence[ColumnDefinition] = ()
    transforms: Sequence[PartitionTransform] = ()
    clustered_by: Sequence[str] = ()
    sorted_by: Sequence[tuple[str, bool]] = ()
    """Columns, and whether each is ascending."""
    buckets: int | None = None
    row_format: RowFormat | None = None
    format: str | None = None
    input_format: str | None = None
    output_format: str | None = None
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_iceberg(self) -> bool:
        """Whether its properties say that it is an Iceberg table."""
        return any(key.lower() == "table_type" and value.lower() == "iceberg" for key, value in self.properties.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTable(_Ddl):
    """``DROP TABLE``."""

    substatement: ClassVar[str] = "DROP_TABLE"
    table: TableName
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTable(_Ddl):
    """``ALTER TABLE table`` with one action."""

    table: TableName
    action: AlterAction

    @property
    def substatement(self) -> str:
        """The action's own."""
        return self.action.substatement


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairTable(_Ddl):
    """``MSCK REPAIR TABLE``."""

    substatement: ClassVar[str] = "MSCK_REPAIR"
    table: TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDatabase(_Ddl):
    """``CREATE DATABASE`` or ``CREATE SCHEMA``."""

    substatement: ClassVar[str] = "CREATE_DATABASE"
    name: str
    if_not_exists: bool = False
    comment: str | None = None
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropDatabase(_Ddl):
    """``DROP DATABASE`` or ``DROP SCHEMA``; ``cascade`` drops its tables, too."""

    substatement: ClassVar[str] = "DROP_DATABASE"
    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterDatabase(_Ddl):
    """``ALTER DATABASE name SET DBPROPERTIES (...)``."""

    substatement: ClassVar[str] = "ALTER_DATABASE"
    name: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView(_Ddl):
    """``CREATE [OR REPLACE] VIEW``; ``sql`` is the query's text as written, ``query`` its tree."""

    substatement: ClassVar[str] = "CREATE_VIEW"
    table: TableName
    sql: str
    query: exp.Query
    comment: str | None = None
    replace: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropView(_Ddl):
    """``DROP VIEW``."""

    substatement: ClassVar[str] = "DROP_VIEW"
    table: TableName
    if_exists: bool = False


ShowKind = Literal[
    "CATALOGS",
    "DATABASES",
    "TABLES",
    "VIEWS",
    "COLUMNS",
    "PARTITIONS",
    "CREATE_TABLE",
    "CREATE_VIEW",
    "TBLPROPERTIES",
    "FUNCTIONS",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Show(_Utility):
    """A SHOW statement: it reads the catalog."""

    what: ShowKind
    table: TableName | None = None
    catalog: str | None = None
    database: str | None = None
    pattern: str | None = None
    """Names in Hive's pattern (``a*|b``), or one property's name."""
    like: str | None = None
    """Names in SQL's pattern (``a%``)."""

    @property
    def substatement(self) -> str:
        """SHOW_ and what it shows."""
        return f"SHOW_{self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowStats(_Utility):
    """``SHOW STATS FOR table`` or ``SHOW STATS FOR (query)``; ``query`` is ``SELECT * FROM table`` for the former."""

    substatement: ClassVar[str] = "SHOW_STATS"
    query: exp.Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe(_Utility):
    """``DESCRIBE [EXTENDED | FORMATTED] table [PARTITION (...)] [column]``."""

    substatement: ClassVar[str] = "DESCRIBE_TABLE"
    table: TableName
    style: Literal["", "EXTENDED", "FORMATTED"] = ""
    partition: Sequence[PartitionCondition] = ()
    column: Sequence[str] = ()
    """A column, and the parts inside it: a field's name, ``$elem$``, ``$key$`` or ``$value$``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribePrepared(_Utility):
    """``DESCRIBE INPUT name`` or ``DESCRIBE OUTPUT name``: the parameters or the columns of a prepared statement."""

    name: str
    what: Literal["INPUT", "OUTPUT"]

    @property
    def substatement(self) -> str:
        """DESCRIBE_INPUT or DESCRIBE_OUTPUT."""
        return f"DESCRIBE_{self.what}"


ExplainFormat = Literal["TEXT", "JSON", "GRAPHVIZ"]
ExplainPlan = Literal["LOGICAL", "DISTRIBUTED", "VALIDATE", "IO"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain(_Utility):
    """``EXPLAIN`` or, if ``analyze``, ``EXPLAIN ANALYZE`` of a statement."""

    statement: Parsed
    format: ExplainFormat = "TEXT"
    plan: ExplainPlan = "DISTRIBUTED"
    analyze: bool = False
    verbose: bool = False

    @property
    def substatement(self) -> str:
        """EXPLAIN or EXPLAIN_ANALYZE."""
        return "EXPLAIN_ANALYZE" if self.analyze else "EXPLAIN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepare(_Ddl):
    """``PREPARE name FROM statement``; ``sql`` is the statement's text as written."""

    substatement: ClassVar[str] = "PREPARE"
    name: str
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Execute(_Dml):
    """``EXECUTE name USING parameters``, which are SQL constants."""

    substatement: ClassVar[str] = "EXECUTE"
    name: str
    parameters: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteImmediate(_Dml):
    """``EXECUTE IMMEDIATE 'statement' USING parameters``, which are SQL constants."""

    substatement: ClassVar[str] = "EXECUTE"
    sql: str
    parameters: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deallocate(_Ddl):
    """``DEALLOCATE PREPARE name``."""

    substatement: ClassVar[str] = "DEALLOCATE"
    name: str
