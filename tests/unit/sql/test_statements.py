"""What statements that are not plain queries are parsed to: Hive's DDL, Athena's utilities, Trino's writes.

The texts are those of Athena's user guide and of what awswrangler, dbt-athena and pyathena send.
"""

import pytest

from penstock.sql.errors import InvalidRequest
from penstock.sql.parse import parse, parse_prepared
from penstock.sql.statements import alter, model
from penstock.sql.statements.names import ColumnDefinition, PartitionCondition, TableName

T = TableName("t")


def one(column: str, value: str | None, operator: str = "=") -> PartitionCondition:
    return PartitionCondition(column, operator, value)


def test_create_table_keeps_every_clause() -> None:
    text = r"""
    CREATE EXTERNAL TABLE IF NOT EXISTS `Db`.`T` ( -- columns
      `Id` BIGINT COMMENT 'the \'key\'',
      tags ARRAY < STRUCT < Name : STRING, at : TIMESTAMP > >,
      m map<string,decimal(12, 2)>, c char(3), v varchar(10), d DECIMAL, i integer, f double precision
    )
    COMMENT 'a table'
    PARTITIONED BY (day string, `hour` int COMMENT 'UTC')
    CLUSTERED BY (id, c) SORTED BY (id DESC, c) INTO 8 BUCKETS
    ROW FORMAT DELIMITED
      FIELDS TERMINATED BY '\t' ESCAPED BY '\\'
      COLLECTION ITEMS TERMINATED BY '\002' MAP KEYS TERMINATED BY '\u0003'
      LINES TERMINATED BY '\n' NULL DEFINED AS ''
    STORED AS TEXTFILE
    LOCATION 's3://lake/t/'
    TBLPROPERTIES ("skip.header.line.count" = "1", 'a'='b');
    """
    assert parse(text) == model.CreateTable(
        table=TableName("t", "db"),
        external=True,
        if_not_exists=True,
        columns=[
            ColumnDefinition("id", "bigint", "the 'key'"),
            ColumnDefinition("tags", "array<struct<name:string,at:timestamp>>"),
            ColumnDefinition("m", "map<string,decimal(12,2)>"),
            ColumnDefinition("c", "char(3)"),
            ColumnDefinition("v", "varchar(10)"),
            ColumnDefinition("d", "decimal(10,0)"),
            ColumnDefinition("i", "int"),
            ColumnDefinition("f", "double"),
        ],
        comment="a table",
        partitioned_by=[ColumnDefinition("day", "string"), ColumnDefinition("hour", "int", "UTC")],
        clustered_by=["id", "c"],
        sorted_by=[("id", False), ("c", True)],
        buckets=8,
        row_format=model.RowFormat(
            properties={
                "field.delim": "\t",
                "serialization.format": "\t",
                "escape.delim": "\\",
                "collection.delim": "\x02",
                "mapkey.delim": "\x03",
                "line.delim": "\n",
                "serialization.null.format": "",
            }
        ),
        format="TEXTFILE",
        location="s3://lake/t/",
        properties={"skip.header.line.count": "1", "a": "b"},
    )


def test_create_table_with_classes_of_formats() -> None:
    text = r"""CREATE EXTERNAL TABLE logs (ip string)
    ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.RegexSerDe'
    WITH SERDEPROPERTIES ("input.regex" = "^(?!#)([^ ]+)\\s+\"(.*)\"$")
    STORED AS INPUTFORMAT 'in.Class' OUTPUTFORMAT 'out.Class' LOCATION 's3://l/logs'"""
    statement = parse(text)
    assert isinstance(statement, model.CreateTable)
    assert statement.row_format == model.RowFormat(
        serde="org.apache.hadoop.hive.serde2.RegexSerDe", properties={"input.regex": '^(?!#)([^ ]+)\\s+"(.*)"$'}
    )
    assert (statement.input_format, statement.output_format) == ("in.Class", "out.Class")


def test_create_table_of_iceberg_has_transforms() -> None:
    statement = parse(
        "CREATE TABLE t (id bigint, ts timestamp) PARTITIONED BY (category, bucket(16, id), truncate(4, c), day(ts)) "
        "LOCATION 's3://l/t/' TBLPROPERTIES ('table_type'='ICEBERG')"
    )
    assert isinstance(statement, model.CreateTable)
    assert statement.is_iceberg
    assert statement.transforms == [
        model.PartitionTransform("category"),
        model.PartitionTransform("id", "bucket", 16),
        model.PartitionTransform("c", "truncate", 4),
        model.PartitionTransform("ts", "day"),
    ]


def test_create_table_as_keeps_its_properties() -> None:
    statement = parse(
        """CREATE TABLE IF NOT EXISTS "awsdatacatalog"."db"."t"
        WITH (format = 'PARQUET', partitioned_by = ARRAY['a', 'b'], bucket_count = 3, is_external = false)
        AS SELECT x FROM y WHERE z = ? WITH NO DATA""",
        ["'q'"],
    )
    assert isinstance(statement, model.CreateTableAs)
    assert statement.table == TableName("t", "db", "awsdatacatalog")
    assert statement.properties == {
        "format": "PARQUET", "partitioned_by": ("a", "b"), "bucket_count": 3, "is_external": False,
    }  # fmt: skip
    assert (statement.if_not_exists, statement.with_data, statement.type) == (True, False, "DDL")
    assert statement.query.sql("trino") == "SELECT x FROM y WHERE z = 'q'"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CREATE SCHEMA x", model.CreateDatabase(name="x")),
        (
            "CREATE DATABASE IF NOT EXISTS `my-Db` COMMENT 'c' LOCATION 's3://l/x' WITH DBPROPERTIES ('a'='1', 'b'='2')",
            model.CreateDatabase(
                name="my-db", if_not_exists=True, comment="c", location="s3://l/x", properties={"a": "1", "b": "2"}
            ),
        ),
        ("DROP DATABASE IF EXISTS x CASCADE", model.DropDatabase(name="x", if_exists=True, cascade=True)),
        ("DROP SCHEMA x RESTRICT", model.DropDatabase(name="x")),
        ("ALTER DATABASE x SET DBPROPERTIES ('k'='v')", model.AlterDatabase(name="x", properties={"k": "v"})),
        ("drop table if exists `db`.`t`", model.DropTable(table=TableName("t", "db"), if_exists=True)),
        ("DROP TABLE `db.t`", model.DropTable(table=TableName("t", "db"))),
        ('DROP VIEW IF EXISTS "db"."v"', model.DropView(table=TableName("v", "db"), if_exists=True)),
        ("MSCK REPAIR TABLE db.t;", model.RepairTable(table=TableName("t", "db"))),
        ("VACUUM t", model.Vacuum(table=T)),
        ("OPTIMIZE t REWRITE DATA USING BIN_PACK", model.Optimize(table=T)),
        ("DEALLOCATE PREPARE p", model.Deallocate(name="p")),
        ("PREPARE p FROM SELECT ? -- why\n ;", model.Prepare(name="p", sql="SELECT ?")),
        ("EXECUTE p", model.Execute(name="p")),
        ("EXECUTE p USING 1, 'a,b', true", model.Execute(name="p", parameters=("1", "'a,b'", "TRUE"))),
        ("SHOW DATABASES LIKE '.*x'", model.Show(what="DATABASES", pattern=".*x")),
        ("SHOW SCHEMAS LIKE 'x%'", model.Show(what="DATABASES", like="x%")),
        ("SHOW TABLES IN `d` 'a*'", model.Show(what="TABLES", database="d", pattern="a*")),
        ("SHOW VIEWS FROM d LIKE 'a|b'", model.Show(what="VIEWS", database="d", pattern="a|b")),
        ("SHOW COLUMNS IN t IN d", model.Show(what="COLUMNS", table=T, database="d")),
        ('SHOW CREATE VIEW "d"."v"', model.Show(what="CREATE_VIEW", table=TableName("v", "d"))),
        ("SHOW TABLES FROM AwsDataCatalog.d", model.Show(what="TABLES", database="d")),
        ('SHOW SCHEMAS IN "awsdatacatalog"', model.Show(what="DATABASES")),
        ("SHOW TBLPROPERTIES t('k')", model.Show(what="TBLPROPERTIES", table=T, pattern="k")),
        ("SHOW FUNCTIONS LIKE 'a%'", model.Show(what="FUNCTIONS", like="a%")),
        ("DESC EXTENDED d.t", model.Describe(table=TableName("t", "d"), style="EXTENDED")),
        (
            "DESCRIBE FORMATTED t PARTITION (y='1', m=2) c.'$elem$'.x",
            model.Describe(
                table=T, style="FORMATTED", partition=[one("y", "1"), one("m", "2")], column=("c", "$elem$", "x")
            ),
        ),
        ("DESCRIBE extended", model.Describe(table=TableName("extended"))),
    ],
)
def test_statements_are_values(sql: str, expected: object) -> None:
    assert parse(sql) == expected


@pytest.mark.parametrize(
    ("sql", "action", "substatement"),
    [
        (
            "ADD IF NOT EXISTS PARTITION (y=2013, m='01') LOCATION 's3://l/1' PARTITION (y=-1, m=DATE '2013-01-01')",
            alter.AddPartitions(
                if_not_exists=True,
                partitions=[
                    ([one("y", "2013"), one("m", "01")], "s3://l/1"),
                    ([one("y", "-1"), one("m", "2013-01-01")], None),
                ],
            ),
            "ALTER_TABLE_ADD_PARTITION",
        ),
        (
            "DROP IF EXISTS PARTITION (y < '2013'), PARTITION (y=2014, m!='x')",
            alter.DropPartitions(
                if_exists=True, partitions=[[one("y", "2013", "<")], [one("y", "2014"), one("m", "x", "<>")]]
            ),
            "ALTER_TABLE_DROP_PARTITION",
        ),
        (
            "PARTITION (y=1) RENAME TO PARTITION (y=2)",
            alter.RenamePartition(old=[one("y", "1")], new=[one("y", "2")]),
            "ALTER_TABLE_RENAME_PARTITION",
        ),
        (
            "ADD PARTITION (y=-01.05)",
            alter.AddPartitions(partitions=[([one("y", "-01.05")], None)]),
            "ALTER_TABLE_ADD_PARTITION",
        ),
        ("SET LOCATION 's3://l/x'", alter.SetLocation(location="s3://l/x"), "ALTER_TABLE_SET_LOCATION"),
        (
            "PARTITION (y=1) SET LOCATION 's3://l/x'",
            alter.SetLocation(location="s3://l/x", partition=[one("y", "1")]),
            "ALTER_TABLE_SET_LOCATION",
        ),
        (
            "ADD COLUMNS (a int COMMENT 'x', b string)",
            alter.AddColumns(columns=[ColumnDefinition("a", "int", "x"), ColumnDefinition("b", "string")]),
            "ALTER_TABLE_ADD_COLUMNS",
        ),
        (
            "REPLACE COLUMNS (a int)",
            alter.ReplaceColumns(columns=[ColumnDefinition("a", "int")]),
            "ALTER_TABLE_REPLACE_COLUMNS",
        ),
        (
            "CHANGE COLUMN a b bigint COMMENT 'c' AFTER d",
            alter.ChangeColumn(old="a", new=ColumnDefinition("b", "bigint", "c"), place="AFTER", after="d"),
            "ALTER_TABLE_CHANGE_COLUMN",
        ),
        ("DROP COLUMN a", alter.DropColumn(column="a"), "ALTER_TABLE_DROP_COLUMN"),
        ("SET TBLPROPERTIES ('a'='b')", alter.SetProperties(properties={"a": "b"}), "ALTER_TABLE_SET_TBLPROPERTIES"),
        ("UNSET TBLPROPERTIES ('a')", alter.UnsetProperties(names=["a"]), "ALTER_TABLE_UNSET_TBLPROPERTIES"),
        ("RENAME TO u", alter.RenameTable(new=TableName("u")), "ALTER_TABLE_RENAME"),
    ],
)
def test_alter_table_has_one_action(sql: str, action: object, substatement: str) -> None:
    statement = parse(f"ALTER TABLE db.t {sql}")
    assert statement == model.AlterTable(table=TableName("t", "db"), action=action)  # type: ignore[arg-type]
    assert (statement.type, statement.substatement) == ("DDL", substatement)


@pytest.mark.parametrize(
    ("sql", "kind", "query"),
    [
        ("INSERT INTO t VALUES (1)", model.Insert, 'SELECT * FROM (VALUES (1)) AS "values"'),
        ("INSERT INTO t (SELECT 1)", model.Insert, "(SELECT 1)"),
        (
            "INSERT INTO d.t (a, b) WITH x AS (SELECT 1) SELECT * FROM x",
            model.Insert,
            "WITH x AS (SELECT 1) SELECT * FROM x",
        ),
        ("UNLOAD (SELECT ')' AS \"(\") TO 's3://x/' WITH (format='ORC')", model.Unload, "SELECT ')' AS \"(\""),
        ("CREATE OR REPLACE VIEW v AS SELECT 1 AS x;", model.CreateView, "SELECT 1 AS x"),
    ],
)
def test_writes_have_their_query(sql: str, kind: type, query: str) -> None:
    statement = parse(sql)
    assert isinstance(statement, kind)
    assert isinstance(statement, model.Insert | model.Unload | model.CreateView)
    assert statement.query.sql("trino") == query


def test_a_view_keeps_its_text() -> None:
    statement = parse("-- first\nCREATE VIEW v AS\n  SELECT  1 AS x -- one\n;")
    assert isinstance(statement, model.CreateView)
    assert statement.sql == "SELECT  1 AS x"


def test_row_changes_are_trees() -> None:
    merge = parse(
        "MERGE INTO d.t USING u ON t.a = u.a WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES (u.a)"
    )
    assert isinstance(merge, model.Merge)
    assert merge.table == TableName("t", "d")
    assert isinstance(parse("UPDATE t SET x = 1 WHERE y = ?", ["2"]), model.Update)
    assert isinstance(parse("DELETE FROM t WHERE y = 2"), model.Delete)
    optimize = parse("OPTIMIZE t REWRITE DATA USING BIN_PACK\nWHERE day = '1' AND x > 2")
    assert isinstance(optimize, model.Optimize)
    assert optimize.where is not None
    assert optimize.where.sql("trino") == "day = '1' AND x > 2"


def test_explain_has_options() -> None:
    statement = parse("EXPLAIN (FORMAT JSON, TYPE IO) SELECT 1")
    assert isinstance(statement, model.Explain)
    assert (statement.format, statement.plan, statement.analyze, statement.type, statement.substatement) == (
        *("JSON", "IO", False, "UTILITY", "EXPLAIN"),
    )
    analyzed = parse("explain analyze (format graphviz) select 1")
    assert isinstance(analyzed, model.Explain)
    assert (analyzed.format, analyzed.substatement) == ("GRAPHVIZ", "EXPLAIN_ANALYZE")


def test_prepared_statements_keep_their_question_marks() -> None:
    statement = parse_prepared("SELECT * FROM t WHERE x = ? AND y = ?")
    assert isinstance(statement, model.Select)
    assert statement.tree.sql("trino") == "SELECT * FROM t WHERE x = ? AND y = ?"
    assert parse("EXECUTE p", ["1"]) == model.Execute(name="p", parameters=("1",))


def test_table_is_a_query() -> None:
    statement = parse("TABLE d.t ORDER BY x LIMIT 1")
    assert isinstance(statement, model.Select)
    assert statement.tree.sql("trino") == "SELECT * FROM d.t ORDER BY x LIMIT 1"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("CREATE TABLE t (a foo)", "line 1:19: mismatched input 'foo', expecting a type of Athena's DDL."),
        ("CREATE TABLE t (a int, A string)", "line 1:16: Duplicate column name: a"),
        ("CREATE TABLE t (a decimal(39,1))", "line 1:27: decimal(39,1) is not a type: it has 1 to 38 digits."),
        ("CREATE TABLE t (a int) SKEWED BY (a)", "line 1:24: SKEWED BY is not supported."),
        ("CREATE TABLE t LIKE u", "line 1:16: LIKE U is not supported."),
        ("CREATE TABLE t (a int) LOCATION 'x' LOCATION 'y'", "line 1:46: LOCATION is repeated."),
        ("CREATE TABLE t (a int) NONSENSE", "line 1:24: mismatched input 'NONSENSE', expecting the end of the statement."),
        ("ALTER TABLE t\n ARCHIVE PARTITION (a=1)", "line 2:2: ALTER TABLE ... ARCHIVE is not supported."),
        ("ALTER TABLE t ADD COLUMNS (a int) CASCADE", "line 1:35: CASCADE is not supported."),
        ("ALTER TABLE t SET FILEFORMAT ORC", "line 1:19: ALTER TABLE ... SET FILEFORMAT is not supported."),
        ("DROP TABLE t; DROP TABLE u", "line 1:15: Only one sql statement is allowed."),
        ("DROP TABLE", "line 1:11: the statement ends, expecting a name."),
        ("CREATE VIEW v SECURITY DEFINER AS SELECT 1", "line 1:15: SECURITY DEFINER is not supported."),
        ("CREATE VIEW v AS DROP TABLE t", "line 1:18: mismatched input 'DROP'."),
        ("CREATE TABLE t WITH (format='ORC', FORMAT='X') AS SELECT 1", "line 1:36: Duplicate property: format"),
        ("INSERT INTO t (a, B, b) SELECT 1", "line 1:16: Insert column name is specified more than once: b"),
        ("CREATE TABLE t WITH (x = 1.) AS SELECT 1", "line 1:28: mismatched input ')', expecting a number."),
        ("SHOW STATS t", "line 1:6: SHOW STATS T is not supported."),
        ("EXPLAIN SHOW TABLES", "line 1:9: EXPLAIN of SHOW is not supported."),
        ('PREPARE "a b" FROM SELECT 1', "line 1:9: mismatched input '\"a b\"', expecting a prepared statement's name"),
        ("EXECUTE p USING x", "The execution parameter x is not a SQL constant."),
        ("DROP TABLE 'it", "line 1:12: a quote is not closed."),
        ("DROP TABLE t /* why", "line 1:14: a comment is not closed."),
        ("DROP TABLE t -- ?", ""),
    ],
)
def test_what_is_not_understood_is_refused_with_its_position(sql: str, message: str) -> None:
    if not message:
        assert parse(sql) == model.DropTable(table=T)
        return
    with pytest.raises(InvalidRequest) as refused:
        parse(sql)
    assert str(refused.value).startswith(message)


def test_values_for_statements_without_parameters_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="expected 0 but found 1"):
        parse("DROP TABLE t", ["1"])


WHOLE = (
    r"CREATE EXTERNAL TABLE IF NOT EXISTS `d`.`t` (a array<struct<x:int,y:decimal(3,1)>> COMMENT 'it\'s', b map<int,int>) "
    r"COMMENT 'c' PARTITIONED BY (p date) CLUSTERED BY (a) SORTED BY (a DESC) INTO 3 BUCKETS ROW FORMAT SERDE 'x' WITH "
    r"SERDEPROPERTIES ('a'='\001') STORED AS INPUTFORMAT 'i' OUTPUTFORMAT 'o' LOCATION 's3://x/' TBLPROPERTIES ('k'='v')",
    "CREATE TABLE t (a int) PARTITIONED BY (bucket(3, a), a) TBLPROPERTIES ('table_type'='iceberg')",
    "CREATE TABLE t WITH (x = ARRAY['a', 'b'], y = -1.5, z = true) AS SELECT 1 AS a WITH NO DATA",
    "CREATE DATABASE IF NOT EXISTS x COMMENT 'c' LOCATION 's3://l/x' WITH DBPROPERTIES ('a'='1')",
    "ALTER TABLE t ADD IF NOT EXISTS PARTITION (y=-1.5, m=DATE '2013-01-01') LOCATION 's3://l/1' PARTITION (y=NULL, m=true)",
    "ALTER TABLE t PARTITION (y=1) RENAME TO PARTITION (y=2)",
    "ALTER TABLE t CHANGE COLUMN a b double precision COMMENT 'x' AFTER c",
    "UNLOAD (SELECT ')' AS x) TO 's3://x/' WITH (format = 'ORC')",
    "INSERT INTO d.t (a, b) SELECT 1, 2",
    "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN UPDATE SET b = 1",
    "OPTIMIZE t REWRITE DATA USING BIN_PACK WHERE a > 1 /* so */",
    "EXPLAIN ANALYZE VERBOSE (FORMAT JSON) SELECT 1",
    "EXECUTE p USING DATE '2024-01-01', 'a,b', -1",
    "DESCRIBE FORMATTED d.t PARTITION (y='1') c.'$elem$'.x",
    "SHOW TBLPROPERTIES t('k')",
    "CREATE OR REPLACE VIEW v COMMENT 'c' SECURITY INVOKER AS SELECT 1 AS x -- end",
)


@pytest.mark.parametrize("sql", WHOLE)
def test_every_beginning_of_a_statement_is_a_statement_or_refused(sql: str) -> None:
    parse(sql)
    for end in range(len(sql)):
        for text in (sql[:end], sql[:end] + ")", sql[:end] + sql[end + 1 :]):
            try:
                parse(text)
            except InvalidRequest as error:
                assert len(str(error)) < 1_000  # noqa: PT017 a text that is accepted is as good
