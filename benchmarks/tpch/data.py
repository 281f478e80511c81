"""TPC-H's tables as Parquet files by tpchgen-cli, and how Glue and DuckDB name them."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq

__all__ = ["TABLES", "columns", "generate", "views"]

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


def generate(folder: Path, scale: float) -> None:
    """Write each table to ``FOLDER/TABLE/TABLE.parquet``."""
    program = Path(sys.executable).with_name("tpchgen-cli")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([program, "parquet", "--scale-factor", str(scale), "--output-dir", folder, "--quiet"], check=True)
    for name in TABLES:
        (folder / name).mkdir()
        (folder / f"{name}.parquet").rename(folder / name / f"{name}.parquet")


def columns(file: Path) -> Mapping[str, str]:
    """Return Hive's types of a Parquet file's columns."""
    hive = {"int32": "int", "int64": "bigint", "double": "double", "date32[day]": "date"}
    result = {}
    for field in pq.read_schema(file):
        text = str(field.type)
        decimal = text.replace("decimal128", "decimal").replace(" ", "")
        result[field.name] = decimal if decimal.startswith("decimal") else hive.get(text, "string")
    return result


def views(folder: Path) -> Sequence[str]:
    """Return the statements that give DuckDB the tables of ``folder``."""
    return [f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{folder / name}/*.parquet')" for name in TABLES]
