"""Hive's calls over Thrift, by pyiceberg's client of it, on the real operations of Glue over a catalog in memory."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hive_metastore import ThriftHiveMetastore, ttypes
from thrift.protocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.metastore.filters import glue_expression
from penstock.metastore.folders import LakeFolders
from penstock.metastore.handler import MetastoreHandler
from penstock.metastore.server import MetastoreServer, serving
from penstock.testing.server import RunningServer


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / "lake" / "lk").mkdir(parents=True)
    return tmp_path / "lake"


@pytest.fixture
def metastore(penstock_server: RunningServer, lake: Path) -> Iterator[MetastoreServer]:
    with serving(MetastoreHandler(penstock_server.client("glue"), LakeFolders(lake))) as running:
        yield running


@pytest.fixture
def client(metastore: MetastoreServer) -> Iterator[Any]:
    transport = TTransport.TBufferedTransport(TSocket.TSocket("127.0.0.1", int(metastore.uri.rpartition(":")[2])))
    transport.open()
    yield ThriftHiveMetastore.Client(TBinaryProtocol.TBinaryProtocol(transport))
    transport.close()


@pytest.fixture
def database(client: Any) -> Iterator[str]:
    client.create_database(ttypes.Database(name="hive_db", locationUri="s3://lk/hive_db", parameters={"a": "b"}))
    yield "hive_db"
    client.drop_database("hive_db", True, True)


def _table(database: str, name: str, kind: str = "MANAGED_TABLE") -> Any:
    return ttypes.Table(
        dbName=database,
        tableName=name,
        owner="me",
        tableType=kind,
        parameters={"k": "v"},
        partitionKeys=[ttypes.FieldSchema(name="day", type="string")],
        sd=ttypes.StorageDescriptor(
            cols=[ttypes.FieldSchema(name="id", type="int", comment="the id")],
            location=f"s3://lk/{database}/{name}",
            inputFormat="in",
            outputFormat="out",
            serdeInfo=ttypes.SerDeInfo(serializationLib="serde", parameters={"p": "q"}),
        ),
    )


def _partition(database: str, name: str, day: str) -> Any:
    storage = ttypes.StorageDescriptor(cols=[], location=f"s3://lk/{database}/{name}/day={day}")
    return ttypes.Partition(values=[day], dbName=database, tableName=name, sd=storage)


def test_databases(client: Any, database: str, lake: Path) -> None:
    assert database in client.get_all_databases()
    assert client.get_databases("hive*|other") == [database]
    result = client.get_database(database)
    assert (result.locationUri, result.parameters) == ("s3://lk/hive_db", {"a": "b"})
    assert (lake / "lk" / "hive_db").is_dir()
    with pytest.raises(ttypes.AlreadyExistsException):
        client.create_database(ttypes.Database(name=database))
    with pytest.raises(ttypes.NoSuchObjectException, match="nowhere"):
        client.get_database("nowhere")


def test_tables_and_the_folders_of_managed_ones(client: Any, database: str, lake: Path) -> None:
    client.create_table(_table(database, "managed"))
    client.create_table(_table(database, "external", "EXTERNAL_TABLE"))
    assert (lake / "lk" / "hive_db" / "managed").is_dir()
    assert not (lake / "lk" / "hive_db" / "external").exists()
    assert client.get_tables(database, "man*") == ["managed"]
    assert client.get_tables_by_type(database, "*", "EXTERNAL_TABLE") == ["external"]
    table = client.get_table(database, "managed")
    assert (table.owner, table.parameters["k"]) == ("me", "v")
    assert [(col.name, col.type, col.comment) for col in table.sd.cols] == [("id", "int", "the id")]
    assert table.sd.serdeInfo.parameters == {"p": "q"}
    table.sd.cols.append(ttypes.FieldSchema(name="x", type="double"))
    client.alter_table(database, "managed", table)
    assert [col.name for col in client.get_table(database, "managed").sd.cols] == ["id", "x"]
    table.tableName = "renamed"
    with pytest.raises(ttypes.InvalidOperationException, match="cannot rename"):
        client.alter_table(database, "managed", table)
    with pytest.raises(ttypes.InvalidOperationException, match="not empty"):
        client.drop_database(database, True, False)
    (lake / "lk" / "hive_db" / "managed" / "rows").touch()
    client.drop_table(database, "managed", True)
    assert not (lake / "lk" / "hive_db" / "managed").exists()
    with pytest.raises(ttypes.NoSuchObjectException):
        client.get_table(database, "managed")


def test_partitions(client: Any, database: str) -> None:
    client.create_table(_table(database, "parted"))
    days = [f"2024-01-{number:02}" for number in range(1, 31)]
    assert client.add_partitions([_partition(database, "parted", day) for day in days]) == 30
    again = ttypes.AddPartitionsRequest(database, "parted", [_partition(database, "parted", days[0])], True)
    client.add_partitions_req(again)
    with pytest.raises(ttypes.AlreadyExistsException, match="2024-01-01"):
        client.add_partition(_partition(database, "parted", days[0]))
    assert len(client.get_partitions(database, "parted", -1)) == 30
    assert len(client.get_partitions(database, "parted", 7)) == 7
    chosen = client.get_partitions_by_filter(database, "parted", 'day >= "2024-01-29"', -1)
    assert sorted(item.values[0] for item in chosen) == days[28:]
    assert client.get_partition_names_ps(database, "parted", ["2024-01-02"], -1) == ["day=2024-01-02"]
    named = client.get_partitions_by_names(database, "parted", ["day=2024-01-03", "day=2024-02-01"])
    assert [item.values for item in named] == [["2024-01-03"]]
    changed = client.get_partition(database, "parted", ["2024-01-04"])
    changed.parameters = {"rows": "4"}
    client.alter_partitions(database, "parted", [changed])
    assert client.get_partition_by_name(database, "parted", "day=2024-01-04").parameters == {"rows": "4"}
    assert client.drop_partition(database, "parted", ["2024-01-05"], True)
    with pytest.raises(ttypes.NoSuchObjectException):
        client.get_partition(database, "parted", ["2024-01-05"])


def test_what_is_not_served_is_refused_by_name(client: Any, database: str) -> None:
    with pytest.raises(ttypes.MetaException, match="does not serve list_roles"):
        client.list_roles("me", ttypes.PrincipalType.USER)
    client.create_table(_table(database, "t"))
    with pytest.raises(ttypes.MetaException, match="cannot be read at character"):
        client.get_partitions_by_filter(database, "t", "day % 2", -1)


def test_a_table_outside_the_lake_is_refused(client: Any, database: str) -> None:
    table = _table(database, "elsewhere")
    table.sd.location = "s3://nobucket/t"
    with pytest.raises(ttypes.MetaException, match="bucket of s3://nobucket/t does not exist"):
        client.create_table(table)
    assert client.get_all_tables(database) == []


def test_connections_of_other_users_are_closed(metastore: MetastoreServer, monkeypatch: pytest.MonkeyPatch) -> None:
    address = ("127.0.0.1", int(metastore.uri.rpartition(":")[2]))
    monkeypatch.setattr("os.getuid", lambda: 4_000_000)
    with socket.create_connection(address, timeout=10) as connection:
        assert connection.recv(1) == b""


def test_bytes_that_are_no_call_end_their_own_connection(metastore: MetastoreServer, client: Any) -> None:
    address = ("127.0.0.1", int(metastore.uri.rpartition(":")[2]))
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n" + b"\xff" * 64)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            pass
    assert client.getName() == "penstock"


def test_a_port_in_use_is_one_message(metastore: MetastoreServer) -> None:
    port = int(metastore.uri.rpartition(":")[2])
    with pytest.raises(EnvironmentProblem, match=f"cannot listen on port {port}"):
        MetastoreServer(MetastoreHandler(None, LakeFolders(Path())), port=port)


@pytest.mark.parametrize(
    ("hive", "glue"),
    [
        ('day = "2024-01-01"', "day = '2024-01-01'"),
        ("(year >= 2024 and month < 5) or hour = -1", "( year >= 2024 and month < 5 ) or hour = -1"),
        ("`select` != 'a b'", "select <> 'a b'"),
        ('name = "in (a, \'"', None),
        ("name like 'a\\_b'", None),
        ("a" * 2_049, None),
    ],
)
def test_conditions(hive: str, glue: str | None) -> None:
    if glue is None:
        with pytest.raises(InvalidInput):
            glue_expression(hive)
    else:
        assert glue_expression(hive) == glue
