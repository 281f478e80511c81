"""Run as a program: a Spark whose own catalog is the data catalog. Prints one JSON object with what it saw."""

import json
import os
import sys
from pathlib import Path

from penstock.client.connection import open_client
from penstock.local.artefacts import class_path
from penstock.metastore.folders import LakeFolders
from penstock.metastore.handler import MetastoreHandler
from penstock.metastore.server import serving
from penstock.spark.catalog_session import catalog_configuration
from penstock.spark.session import SessionSettings, open_session


def main(lake: Path, log: Path) -> None:
    """Make tables of each kind by name and read them, those of others too."""
    handler = MetastoreHandler(open_client("glue"), LakeFolders(lake))
    with serving(handler) as server:
        configuration = catalog_configuration(
            server.uri, warehouse="s3://lk/warehouse", environment=os.environ, folder_lake=True
        )
        settings = SessionSettings(
            master="local[1]",
            jars=[jar for group in ("spark", "iceberg", "iceberg-aws") for jar in class_path(group)],
            lake=lake,
            log=log,
            driver_memory="700m",
            extra={**configuration, "spark.sql.shuffle.partitions": "1"},
        )
        spark = open_session(settings, name="catalog", locations=["s3://lk/"])
        sql = spark.sql
        seen: dict[str, object] = {}
        sql("CREATE DATABASE IF NOT EXISTS shop LOCATION 's3://lk/shop.db'")
        sql("CREATE TABLE shop.orders (id INT, name STRING) USING parquet PARTITIONED BY (day STRING)")
        sql("INSERT INTO shop.orders VALUES (1, 'a', '2024-01-01'), (2, 'b', '2024-01-02')")
        seen["orders"] = [list(row) for row in sql("SELECT * FROM shop.orders WHERE day = '2024-01-02'").collect()]
        spark.range(5).withColumnRenamed("id", "n").write.saveAsTable("shop.saved")
        seen["saved"] = sql("SELECT sum(n) FROM shop.saved").collect()[0][0]
        sql("CREATE EXTERNAL TABLE shop.hive (a INT) PARTITIONED BY (p DATE) STORED AS PARQUET LOCATION 's3://lk/hive'")
        sql("SET hive.exec.dynamic.partition.mode = nonstrict")
        sql("INSERT INTO shop.hive VALUES (1, DATE '2024-01-01'), (2, DATE '2024-01-02')")
        sql("ALTER TABLE shop.hive DROP PARTITION (p = '2024-01-01')")
        seen["hive"] = [row.a for row in sql("SELECT a FROM shop.hive WHERE p > DATE '2023-12-31'").collect()]
        sql("MSCK REPAIR TABLE shop.hive")
        seen["repaired"] = sorted(row.a for row in sql("SELECT a FROM shop.hive").collect())
        sql("CREATE TABLE shop.ice (id BIGINT, x STRING) USING iceberg")
        sql("INSERT INTO shop.ice VALUES (1, 'one'), (2, 'two')")
        sql("DELETE FROM shop.ice WHERE id = 1")
        seen["iceberg"] = [
            list(row) for row in sql("SELECT i.x, o.name FROM shop.ice i JOIN shop.orders o ON o.id = i.id").collect()
        ]
        seen["given"] = sorted(row.value for row in sql("SELECT value FROM shop.given WHERE part = 'x'").collect())
        seen["tables"] = sorted(row.tableName for row in sql("SHOW TABLES IN shop").collect())
        spark.stop()
        print(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
