"""The processes in which statements run: which statements share one, what ends one, what it gets of the environment."""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from penstock.catalog.model import Database, Partition
from penstock.children.process import ChildEnded
from penstock.errors import AccessDenied
from penstock.query.errors import CannotRun, TooManyRequests
from penstock.query.execution import parsers, process
from penstock.query.execution.child import is_exhausted
from penstock.query.execution.children import ChildPool
from penstock.query.execution.messages import Limits
from penstock.query.execution.parsers import ParserPool
from penstock.query.execution.process import ProcessStarter, StatementProcess, failure_of
from penstock.query.ports import StatementHost
from penstock.query.settings import QuerySettings
from penstock.query.task import RESULT, Outcome, Task
from penstock.retries import wait_until
from penstock.sql.errors import InvalidRequest, StatementError
from tests.unit.query.lake_of_flights import FakeCatalog, Lake

# The parser tries each bracket as a type's, then as a call's, so the time doubles with every level.
SLOW_TO_READ = "SELECT " + "TIMESTAMP (" * 40 + "1" + ")" * 40
# Three short lists: much time, and hardly any memory.
ENDLESS = (
    "SELECT count(*) FROM UNNEST(sequence(1, 10000)) a(x), UNNEST(sequence(1, 10000)) b(y), "
    "UNNEST(sequence(1, 10000)) c(z) WHERE x + y + z = -1"
)


@pytest.fixture
def task(lake: Lake, settings: QuerySettings, tmp_path: Path) -> Task:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return Task(
        id="one", sql="SELECT 1", parameters=(), database="flights_db", lake=lake.folder, settings=settings, folder=folder
    )


def parser_pool(*, waiting: int) -> ParserPool:
    return ParserPool(ProcessStarter(), processes=1, waiting=waiting)


def run(child: StatementProcess, task: Task, catalog: StatementHost, sql: str) -> Outcome:
    return child.run(replace(task, sql=sql), catalog, lambda _: None)


def test_a_child_is_kept_for_its_account_alone(task: Task, lake: Lake) -> None:
    pool = ChildPool(idle=2)
    with pool.acquire("1", task.lake.root, task.folder) as first:
        run(first, task, lake.catalog, "SELECT 1")
    with pool.acquire("2", task.lake.root, task.folder) as other:
        assert other is not first
    with pool.acquire("1", task.lake.root, task.folder) as again:
        assert again is first
        run(again, task, lake.catalog, "SELECT count(*) FROM flights WHERE month = 2")
        assert (task.folder / RESULT).read_bytes() == b'"_col0"\n"10"\n'
    pids = [first.pid, other.pid]
    pool.close()
    assert not any(psutil.pid_exists(pid) for pid in pids)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux confines processes")
def test_a_child_reads_its_account_s_lake_and_writes_its_statements_files_alone(
    task: Task, lake: Lake, tmp_path: Path
) -> None:
    other, pool = tmp_path / "another lake", ChildPool()
    other.mkdir()
    flights = "SELECT count(*) FROM flights WHERE month = 2"
    with pool.acquire("1", task.lake.root, task.folder) as child:
        run(child, task, lake.catalog, flights)
        status = Path(f"/proc/{child.pid}/status").read_text()
        assert ("NoNewPrivs:\t1" in status, "Seccomp:\t2" in status) == (True, True)
    with pool.acquire("1", task.lake.root, other) as child, pytest.raises(StatementError, match="Permission denied"):
        run(child, task, lake.catalog, flights)
    # A folder that cannot be listed has no files.
    with pool.acquire("1", other, task.folder) as child:
        run(child, task, lake.catalog, flights)
    assert (task.folder / RESULT).read_bytes() == b'"_col0"\n"0"\n'
    pool.close()


def test_only_so_many_idle_children_are_kept(children: ChildPool) -> None:
    pool = ChildPool(idle=1)
    with pool.acquire("1") as one, pool.acquire("1") as two:
        pids = {one.pid, two.pid}
    assert len([pid for pid in pids if psutil.pid_exists(pid)]) == 1
    pool.close()


def test_a_child_ends_when_it_holds_half_of_what_a_statement_may_allocate() -> None:
    megabyte = 1 << 20
    assert not is_exhausted(850 * megabyte, 2_560 * megabyte)
    assert is_exhausted(1_300 * megabyte, 2_560 * megabyte)
    assert not is_exhausted(550 * megabyte, 1_024 * megabyte), "a new process has 200 MB already"
    assert is_exhausted(650 * megabyte, 1_024 * megabyte)


def test_a_running_statement_is_killed_and_the_next_one_has_a_new_process(
    children: ChildPool, task: Task, lake: Lake
) -> None:
    with children.acquire("killed", task.lake.root, task.folder) as child:
        child.run(task, lake.catalog, lambda _: None)
        planned = threading.Event()

        def end() -> None:
            planned.wait()
            child.kill()

        ender = threading.Thread(target=end)
        ender.start()
        with pytest.raises(ChildEnded):
            child.run(replace(task, sql=ENDLESS), lake.catalog, lambda _: planned.set())
        ender.join()
    assert not psutil.pid_exists(child.pid)
    with children.acquire("killed", task.lake.root, task.folder) as next_one:
        assert next_one.pid != child.pid
        run(next_one, task, lake.catalog, "SELECT 1")


@pytest.mark.parametrize(
    "sql",
    [
        # One huge piece, made of large ones: made of single signs it takes the processor six times as long.
        "SELECT length(replace(rpad('x', 1000000, 'x'), 'x', rpad('y', 2000, 'y')))",
        "SELECT array_agg(x) FROM UNNEST(sequence(1, 10000)) t(x), UNNEST(sequence(1, 10000)) u(y)",  # many small ones
        "SELECT x, rpad('x', 3000000, 'y') FROM UNNEST(sequence(1, 1000)) t(x)",  # of the result's texts
    ],
)
def test_memory_beyond_the_engines_own_bound_ends_the_statement(
    children: ChildPool, task: Task, lake: Lake, sql: str
) -> None:
    limit = task.settings.memory_bytes + (512 << 20)
    serving = children.acquire("memory", task.lake.root, task.folder)
    with serving as child, pytest.raises((StatementError, ChildEnded)) as error:
        run(child, task, lake.catalog, sql)
    assert isinstance(error.value, StatementError | ChildEnded)
    failure = error.value if isinstance(error.value, StatementError) else failure_of(error.value.exit)
    assert failure.message.startswith("EXCEEDED_MEMORY_LIMIT"), failure
    # The watch checks every 20 ms; a process can fill some gigabytes of memory in a second.
    assert child.peak * 1024 < limit + (256 << 20)


def test_cpu_time_is_bounded_without_the_watch(children: ChildPool, task: Task, lake: Lake) -> None:
    settings = replace(task.settings, timeout_seconds=-59.5)  # half a second is left
    with children.acquire("time", task.lake.root, task.folder) as child, pytest.raises(ChildEnded) as ended:
        run(child, replace(task, settings=settings), lake.catalog, ENDLESS)
    assert failure_of(ended.value.exit).message.startswith("EXCEEDED_TIME_LIMIT")


def test_a_child_is_kept_after_an_error_of_the_catalog(children: ChildPool, task: Task, lake: Lake) -> None:
    class Refusing(type(lake.catalog)):  # type: ignore[misc]
        def databases(self) -> Sequence[Database]:
            raise AccessDenied("not you")

    with children.acquire("refused", task.lake.root, task.folder) as child:
        with pytest.raises(AccessDenied, match="not you"):
            run(child, task, Refusing(), "SHOW DATABASES")
        assert child.usable
        run(child, task, lake.catalog, "SHOW DATABASES")


def test_a_table_named_often_in_a_statement_is_read_once_from_the_catalog(
    children: ChildPool, task: Task, lake: Lake
) -> None:
    reads: list[str] = []

    class Counting(type(lake.catalog)):  # type: ignore[misc]
        def partitions(self, database: str, table: str, expression: str | None = None) -> Sequence[Partition]:
            reads.append(table)
            return super().partitions(database, table, expression)  # type: ignore[no-any-return]

    catalog = Counting(lake.catalog.names, lake.catalog.stored, lake.catalog.parts)
    many = " UNION ALL ".join(["SELECT count(*) FROM flights WHERE month = 1"] * 20)
    with children.acquire("reads", task.lake.root, task.folder) as child:
        run(child, task, catalog, many)
        assert reads == ["flights"]
        run(child, task, catalog, many)
    # The next statement reads the catalog again.
    assert reads == ["flights", "flights"]


def test_a_child_does_not_get_the_servers_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a secret")
    monkeypatch.setenv("PENSTOCK_STORE_URL", "postgresql://user:secret@host/store")
    pool = ChildPool()
    with pool.acquire("1") as child:
        assert "secret" not in str(psutil.Process(child.pid).environ())
    pool.close()


def test_a_child_ends_with_a_server_that_is_killed() -> None:
    program = (
        "import time; from penstock.query.execution.children import ChildPool\n"
        "with ChildPool().acquire('1') as child: print(child.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-P", "-c", program], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        child = psutil.Process(int(server.stdout.readline()))
        server.kill()
    assert psutil.wait_procs([child], timeout=30)[1] == []


def test_text_that_is_slow_to_parse_is_refused_while_others_are_parsed(children: ChildPool) -> None:
    refused: list[InvalidRequest] = []

    def attack() -> None:
        with pytest.raises(InvalidRequest, match="takes longer than 3 seconds to parse") as error:
            children.parse(SLOW_TO_READ, ())
        refused.append(error.value)

    attacker = threading.Thread(target=attack)
    attacker.start()
    assert children.parse("SELECT 1", ()).substatement == "SELECT"
    assert attacker.is_alive()
    attacker.join()
    assert refused[0].athena_code == "MALFORMED_QUERY"


def test_a_process_that_cannot_start_is_not_the_statements_fault(monkeypatch: pytest.MonkeyPatch, task: Task) -> None:
    pool = ChildPool()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(CannotRun, match="cannot be started"):
        pool.parse("SELECT 1", ())
    with pool.acquire("1", task.lake.root, task.folder) as child, pytest.raises(ChildEnded) as ended:
        child.run(task, FakeCatalog(), lambda _: None)
    assert failure_of(ended.value.exit).message == "GENERIC_INTERNAL_ERROR: The process for the query cannot be started."
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(CannotRun, match="cannot be started: No such file"):
        pool.parse("SELECT 1", ())
    pool.close()


def test_text_that_takes_too_much_memory_to_parse_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = ChildPool()
    pool.parse("SELECT 1", ())  # loads the parser: the child then has 30 MB, and needs 55 MB for the next statement
    monkeypatch.setattr(parsers, "_LIMITS", Limits(resident=45 << 20, allocated=45 << 20, seconds=3.0))
    with pytest.raises(InvalidRequest):
        pool.parse("SELECT " + ",".join(["a.b.c.d"] * 6_000), ())
    pool.close()


def test_a_burst_of_short_statements_is_parsed_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a loaded machine the one child may not have its turn within half a second.
    monkeypatch.setattr(parsers, "_PLACE_SECONDS", 60)
    pool = parser_pool(waiting=2)
    with ThreadPoolExecutor(20) as threads:
        kinds = list(threads.map(lambda number: pool.parse(f"SELECT {number}", ()), range(60)))
    assert {kind.substatement for kind in kinds} == {"SELECT"}
    pool.close()


def test_the_number_of_statements_that_wait_to_be_parsed_is_bounded() -> None:
    pool = parser_pool(waiting=1)
    begun = threading.Event()

    def attack() -> None:
        begun.set()
        with pytest.raises(InvalidRequest):
            pool.parse(SLOW_TO_READ, ())

    attacker = threading.Thread(target=attack)
    attacker.start()
    begun.wait()
    while pool._places._value:
        pass
    with pytest.raises(TooManyRequests, match="being parsed"):
        pool.parse("SELECT 1", ())
    attacker.join()
    assert pool.parse("SELECT 1", ()).substatement == "SELECT"
    pool.close()


def test_a_process_has_the_lowest_priority_until_its_statement_ends(task: Task, lake: Lake) -> None:
    def priorities() -> set[int]:
        threads = Path(f"/proc/{child.pid}/task")
        tids = [int(path.name) for path in threads.iterdir()] if threads.exists() else [child.pid]
        return {os.getpriority(os.PRIO_PROCESS, tid) for tid in tids}

    child = StatementProcess({"read": [lake.folder.root], "write": [task.folder]})
    try:
        run(child, task, lake.catalog, "SELECT 1")
        before, aside = os.getpriority(os.PRIO_PROCESS, child.pid), set[int]()

        def step(_: object) -> None:
            child.lower_priority()
            aside.update(priorities())

        child.run(replace(task, sql="SELECT 2"), lake.catalog, step)
        assert aside == {19}
        assert priorities() == {before} if child.usable else os.geteuid() != 0
    finally:
        child.close()


def test_processes_share_the_servers_session_so_that_priorities_count_among_them(task: Task, lake: Lake) -> None:
    child = StatementProcess({"read": [lake.folder.root], "write": [task.folder]})
    try:
        run(child, task, lake.catalog, "SELECT 1")
        assert os.getsid(child.pid) == os.getsid(0)
        assert os.getpgid(child.pid) == child.pid, "a Ctrl-C at the server's terminal is the server's"
    finally:
        child.close()


def test_processes_are_ready_once_two_statements_ran_at_a_time(task: Task, lake: Lake) -> None:
    pool, serves = ChildPool(idle=3), ("1", task.lake.root, task.folder)
    try:
        with pool.acquire(*serves) as first:
            run(first, task, lake.catalog, "SELECT 1")
        assert len(pool._idle) == 1
        with pool.acquire(*serves), pool.acquire(*serves) as second:
            second.kill()
        wait_until(lambda: len(pool._idle) == 3, seconds=240, every=0.01)
        started = {child.pid for _, child in pool._idle} - {first.pid}
        assert len(started) == 2
        assert second.pid not in started
        with pool.acquire(*serves) as one, pool.acquire(*serves) as two, pool.acquire(*serves) as three:
            at_work = {child.pid: child for child in (one, two, three)}
            assert at_work.keys() >= started
            run(at_work[min(started)], task, lake.catalog, "SELECT 1")
    finally:
        pool.close()
    assert not any(psutil.pid_exists(pid) for pid in started)


def test_a_statements_process_computes_shapes(task: Task, lake: Lake) -> None:
    """It imports shapely after it was confined, and only then."""
    child = StatementProcess({"read": [lake.folder.root], "write": [task.folder]})
    try:
        run(child, task, lake.catalog, "SELECT 1")
        assert not _loaded(child, "shapely")
        run(child, task, lake.catalog, "SELECT ST_Buffer(ST_Point(1, 2), 1), IPADDRESS '::1'")
        assert _loaded(child, "shapely")
    finally:
        child.close()


def _loaded(child: StatementProcess, part: str) -> bool:
    return any(part in memory_map.path for memory_map in psutil.Process(child.pid).memory_maps())


def test_a_statements_process_does_not_import_pandas(task: Task, lake: Lake) -> None:
    assert find_spec("pandas") is not None
    child = StatementProcess({"read": [lake.folder.root], "write": [task.folder]})
    try:
        run(child, task, lake.catalog, "SELECT 1")
        loaded = {Path(memory_map.path).name for memory_map in psutil.Process(child.pid).memory_maps()}
        assert not [name for name in loaded if name.startswith(("pandas_", "join.", "hashtable."))]
    finally:
        child.close()


UNREADABLE = "sent what cannot be read"


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ("pack(pickle.dumps(Touch()))", UNREADABLE),
        ("struct.pack('>II', 2**32 - 1, 0)", UNREADABLE),
        ("pack(ASK + b'\"tables\",\"arguments\":' + b'[' * 200_000 + b']' * 200_000 + b'}')", UNREADABLE),
        ('pack(ASK + b\'"tables","arguments":[["flights_db"]]}\')', UNREADABLE),
        ('pack(ASK + b\'"__class__","arguments":[]}\')', "The engine failed: __class__"),
    ],
)
def test_a_process_that_was_taken_over_is_not_believed(
    task: Task, lake: Lake, monkeypatch: pytest.MonkeyPatch, sent: str, message: str
) -> None:
    folder = task.folder.parent
    (folder / "hostile.py").write_text(
        "import os, pickle, struct, sys, time\nfrom pathlib import Path\nfrom penstock.children.frames import pack\n"
        f"class Touch:\n    def __reduce__(self):\n        return Path.touch, (Path({str(folder / 'made')!r}),)\n"
        f"""ASK = b'{{"$type":"Ask","name":'\nos.write(int(sys.argv[1]), {sent})\ntime.sleep(600)\n"""
    )
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setattr(process, "_MODULE", "hostile")
    pool = ChildPool()
    with pool.acquire("1", task.lake.root, task.folder) as child:
        with pytest.raises(StatementError, match=message):
            run(child, task, lake.catalog, "SELECT 1")
        assert not child.usable
    pool.close()
    assert not (folder / "made").exists()
    assert not psutil.pid_exists(child.pid)
