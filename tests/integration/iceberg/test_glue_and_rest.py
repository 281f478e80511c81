"""One table through both doors: Glue's API (pyiceberg's GlueCatalog, boto3) and Iceberg's REST API; conflicts included."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.types import LongType

from tests.integration.iceberg.world import KEY, SECRET, World

ROWS = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})


@pytest.fixture(scope="module")
def glue_catalog(world: World) -> GlueCatalog:
    return GlueCatalog(
        "glue",
        **{
            "glue.endpoint": world.server.endpoint_url,
            "glue.region": world.server.region,
            "glue.access-key-id": KEY,
            "glue.secret-access-key": SECRET,
            "s3.endpoint": world.store.endpoint_url,
            "s3.access-key-id": KEY,
            "s3.secret-access-key": SECRET,
            "s3.region": world.server.region,
        },
    )


@pytest.fixture(scope="module")
def glue(world: World) -> Any:
    return world.server.client("glue")


def test_a_table_of_one_door_is_the_same_at_the_other(
    catalog: RestCatalog, glue_catalog: GlueCatalog, namespace: str
) -> None:
    by_rest = catalog.create_table(f"{namespace}.rest", ROWS.schema)
    by_rest.append(ROWS)
    by_glue = glue_catalog.create_table(f"{namespace}.glue", ROWS.schema, location=f"s3://lake/{namespace}/glue")
    by_glue.append(ROWS)
    for name in ("rest", "glue"):
        one, other = catalog.load_table(f"{namespace}.{name}"), glue_catalog.load_table(f"{namespace}.{name}")
        assert one.metadata == other.metadata
        assert one.metadata_location == other.metadata_location
        one.append(ROWS)
        other.refresh().append(ROWS)
        assert catalog.load_table(f"{namespace}.{name}").scan().to_arrow().num_rows == 9
        assert glue_catalog.load_table(f"{namespace}.{name}").scan().to_arrow().num_rows == 9
    assert sorted(glue_catalog.list_tables(namespace)) == sorted(catalog.list_tables(namespace))


def test_the_columns_in_glue_are_those_that_pyiceberg_writes(
    catalog: RestCatalog, glue_catalog: GlueCatalog, glue: Any, namespace: str
) -> None:
    for name, writer in (("rest", catalog), ("glue", glue_catalog)):
        table = writer.create_table(f"{namespace}.{name}", ROWS.schema, location=f"s3://lake/{namespace}/{name}")
        with table.update_schema() as update:
            update.add_column("extra", LongType(), doc="more")
        with table.update_schema() as update:
            update.delete_column("name")
    by_rest, by_glue = (glue.get_table(DatabaseName=namespace, Name=name)["Table"] for name in ("rest", "glue"))
    assert by_rest["StorageDescriptor"]["Columns"] == by_glue["StorageDescriptor"]["Columns"]
    assert by_rest["TableType"] == by_glue["TableType"]
    assert set(by_rest["Parameters"]) == set(by_glue["Parameters"])


def test_a_commit_through_glue_is_a_conflict_here(catalog: RestCatalog, glue_catalog: GlueCatalog, namespace: str) -> None:
    stale = catalog.create_table(f"{namespace}.t", ROWS.schema)
    glue_catalog.load_table(f"{namespace}.t").append(ROWS)
    with stale.transaction() as transaction:
        transaction.set_properties({"no": "conflict"})
    update = stale.update_schema().add_column("one", LongType())
    glue_catalog.load_table(f"{namespace}.t").update_schema().add_column("other", LongType()).commit()
    with pytest.raises(CommitFailedException):
        update.commit()
    loaded = catalog.load_table(f"{namespace}.t")
    assert loaded.properties["no"] == "conflict"
    assert [field.name for field in loaded.schema().fields] == ["id", "name", "other"]


def test_a_commit_here_is_a_conflict_for_glue(catalog: RestCatalog, glue: Any, namespace: str) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    read = glue.get_table(DatabaseName=namespace, Name="t")["Table"]
    table.append(ROWS)
    expected = {name: read[name] for name in ("Name", "StorageDescriptor", "Parameters", "TableType")}
    with pytest.raises(glue.exceptions.ConcurrentModificationException):
        glue.update_table(DatabaseName=namespace, TableInput=expected, VersionId=read["VersionId"], SkipArchive=True)
    now = glue.get_table(DatabaseName=namespace, Name="t")["Table"]
    assert now["Parameters"]["metadata_location"] == table.metadata_location
    assert now["Parameters"]["previous_metadata_location"] == read["Parameters"]["metadata_location"]


def test_what_others_wrote_to_the_table_in_glue_stays(catalog: RestCatalog, glue: Any, namespace: str) -> None:
    table = catalog.create_table(f"{namespace}.t", ROWS.schema)
    read = glue.get_table(DatabaseName=namespace, Name="t")["Table"]
    expected = {name: read[name] for name in ("Name", "StorageDescriptor", "TableType")}
    parameters = {**read["Parameters"], "team": "data"}
    glue.update_table(
        DatabaseName=namespace, TableInput={**expected, "Owner": "me", "Retention": 3, "Parameters": parameters}
    )
    table.refresh().append(ROWS)
    now = glue.get_table(DatabaseName=namespace, Name="t")["Table"]
    assert (now["Owner"], now["Retention"], now["Parameters"]["team"]) == ("me", 3, "data")


def test_other_tables_of_glue_are_not_tables_here(catalog: RestCatalog, glue: Any, namespace: str) -> None:
    glue.create_table(DatabaseName=namespace, TableInput={"Name": "hive", "TableType": "EXTERNAL_TABLE"})
    assert catalog.list_tables(namespace) == []
    with pytest.raises(NoSuchTableError, match="not an Iceberg table"):
        catalog.load_table(f"{namespace}.hive")
    with pytest.raises(NoSuchTableError):
        catalog.drop_table(f"{namespace}.hive")
    assert glue.get_table(DatabaseName=namespace, Name="hive")["Table"]["Name"] == "hive"


def test_of_many_writers_at_both_doors_no_commit_is_lost(
    world: World, catalog: RestCatalog, glue_catalog: GlueCatalog, namespace: str
) -> None:
    catalog.create_table(f"{namespace}.t", ROWS.schema)
    barrier = threading.Barrier(6)

    def write(number: int) -> list[str]:
        """Set properties one by one, and return those whose commit succeeded."""
        door: Catalog = glue_catalog if number % 2 else catalog
        barrier.wait()
        done = []
        for turn in range(5):
            name = f"p{number}_{turn}"
            transaction = door.load_table(f"{namespace}.t").transaction().set_properties({name: "x"})
            with contextlib.suppress(CommitFailedException):
                transaction.commit_transaction()
                done.append(name)
        return done

    with ThreadPoolExecutor(6) as pool:
        done = [name for names in pool.map(write, range(6)) for name in names]
    loaded = catalog.load_table(f"{namespace}.t")
    assert set(loaded.properties) == set(done)
    assert len(loaded.metadata.metadata_log) == len(done) >= 15
    files = {entry.metadata_file for entry in loaded.metadata.metadata_log} | {loaded.metadata_location}
    folder = world.server.lake / loaded.location().removeprefix("s3://") / "metadata"
    by_rest = {path.name for path in folder.iterdir()}
    assert {str(file).rpartition("/")[2] for file in files} <= by_rest
