"""Further Python modules of runs: from an index that the operator allows, and from wheels in the lake."""

import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from penstock.errors import InvalidInput
from penstock.jobs.definitions import check_arguments
from penstock.jobs.errors import SettingNotServed
from penstock.jobs.model import JobRun
from penstock.jobs.modules import MODULES, parse_modules
from penstock.jobs.runs import RunRequest
from penstock.runs.environments import Environments, Reach
from penstock.runs.inputs import LAKE
from tests.unit.runs.conftest import World, printed
from tests.unit.runs.wheels import wheel


class Index:
    """An index of packages over HTTP (PEP 503): folders of files. ``asked`` are the paths of all requests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.asked: list[str] = []
        asked = self.asked

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, *_arguments: object) -> None:
                asked.append(self.path)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    made = Index(tmp_path / "index")
    yield made
    made.close()


class Made:
    """Environments in a folder, of wheels in a lake beside it."""

    def __init__(self, folder: Path, index: str | None) -> None:
        self.lake = folder
        self.folder = folder / f"environments-{index is None}"
        self.folder.mkdir()
        self.staging = folder / f"wheels-{index is None}"
        environment = {**os.environ, LAKE: str(folder)}
        self.environments = Environments(
            self.folder, index=index, reach=Reach(read=(folder,)), environment=environment, seconds=120
        )

    def make(self, text: str) -> Path:
        modules = parse_modules(text)
        with self.environments.fetched(modules, self.staging) as wheels:
            found, lock = self.environments.of(modules, wheels)
        os.close(lock)
        return found

    def made(self, kind: str = "environments") -> list[Path]:
        return [path for path in (self.folder / kind).iterdir() if path.suffix != ".lock"]


def test_packages_come_from_the_index_with_what_they_need_and_stay_what_they_were(tmp_path: Path, index: Index) -> None:
    made = Made(tmp_path, index.url)
    files = [wheel(index.folder / "shop", "shop", "1.0", needs="till>=2"), wheel(index.folder / "till", "till", "2.0")]
    place = made.make("shop")
    assert {path.name for path in place.iterdir()} >= {"shop.py", "till.py"}
    assert (made.made(), place.stat().st_mode & 0o777) == ([place], 0o755)
    (record,) = made.made("sets")
    assert json.loads(record.read_bytes()) == {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    # What the index has by now changes nothing: the set is locked, and nothing is asked for again.
    wheel(index.folder / "till", "till", "3.0")
    asked = len(index.asked)
    assert (made.make("shop"), len(index.asked)) == (place, asked)
    # One that was removed is made again of the same files alone; a half-made one is not used, and is removed.
    place.rename(made.folder / "making-1")
    kept = files[1].read_bytes()
    wheel(index.folder / "till", "till", "2.0", text="VERSION = 'changed'\n")
    with pytest.raises(InvalidInput, match=r"(?i)hashes"):
        made.make("shop")
    assert not [path for path in made.folder.iterdir() if path.name.startswith("making-")]
    files[1].write_bytes(kept)
    assert made.make("shop") == place
    assert (place / "till.py").read_text() == "VERSION = '2.0'\n"


def test_without_an_index_only_wheels_of_the_lake_are_installed(tmp_path: Path, index: Index) -> None:
    made = Made(tmp_path, None)
    first = "s3://lake/w/shop-1.0-py3-none-any.whl"
    wheel(tmp_path / "lake/w", "shop", "1.0", needs="till>=2")
    place = made.make(first)
    # Another file at the same place is another environment, and the same file at another place is the same one.
    wheel(tmp_path / "lake/w", "shop", "1.0", text="VERSION = 'other'\n", needs="till>=2")
    assert made.make(first) != place
    wheel(tmp_path / "lake/v", "shop", "1.0", needs="till>=2")
    assert made.make("s3://lake/v/shop-1.0-py3-none-any.whl") == place
    with pytest.raises(InvalidInput, match="does not exist"):
        made.make("s3://lake/none/shop-1.0-py3-none-any.whl")
    (tmp_path / "lake/w/shop-9-py3-none-any.whl").write_bytes(b"no archive")
    with pytest.raises(InvalidInput, match="cannot be installed"):
        made.make("s3://lake/w/shop-9-py3-none-any.whl")
    assert index.asked == []
    # With an index, what the wheel needs comes from there; two runs at once make one environment.
    wheel(index.folder / "till", "till", "2.0")
    wheel(index.folder / "shop", "shop", "9.0")
    online = Made(tmp_path, index.url)
    others = Environments(online.folder, index=index.url, reach=Reach(), environment=os.environ)
    modules, given = parse_modules(first), [tmp_path / "lake/w/shop-1.0-py3-none-any.whl"]
    with ThreadPoolExecutor(2) as threads:
        results = [*threads.map(lambda item: item.of(modules, given), (online.environments, others))]
    assert [place for place, _ in results] == online.made() * 2
    assert [name for name in index.asked if name.endswith(".whl")] == ["/till/till-2.0-py3-none-any.whl"]
    for _, lock in results:
        os.close(lock)


def test_sources_are_not_built_and_pip_reaches_the_index_alone(tmp_path: Path, index: Index) -> None:
    made = Made(tmp_path, index.url)
    (index.folder / "shop").mkdir()
    (index.folder / "shop/shop-1.0.tar.gz").write_bytes(b"")
    with pytest.raises(InvalidInput, match="No matching distribution found for shop"):
        made.make("shop")
    other = Index(tmp_path / "other")
    try:
        wheel(other.folder / "shop", "shop", "1.0")
        # A page of the index that names a file of another server: its port is closed to pip.
        link = f'<a href="{other.url}shop/shop-1.0-py3-none-any.whl">shop-1.0-py3-none-any.whl</a>'
        (index.folder / "shop/index.html").write_text(f"<!DOCTYPE html><html><body>{link}</body></html>")
        with pytest.raises(InvalidInput, match="cannot be installed"):
            made.make("shop==1.0")
        assert other.asked == []
    finally:
        other.close()


def test_the_oldest_environments_are_removed_unless_a_run_uses_them(tmp_path: Path) -> None:
    made = Made(tmp_path, None)
    wheel(tmp_path / "lake/w", "shop", "1.0")
    for number in range(20):
        folder = made.folder / "environments" / f"{number:02}"
        folder.mkdir(parents=True)
        os.utime(folder, (number, number))
    with (made.folder / "environments/00.lock").open("w") as used, (made.folder / "environments/01.lock").open("w"):
        fcntl.flock(used, fcntl.LOCK_SH)
        made.make("s3://lake/w/shop-1.0-py3-none-any.whl")
    assert len(made.made()) == 21
    (made.folder / "sets").joinpath(made.made("sets")[0]).unlink()
    wheel(tmp_path / "lake/w", "shop", "2.0")
    made.make("s3://lake/w/shop-2.0-py3-none-any.whl")
    assert sorted(path.name for path in made.made())[:2] == ["02", "03"]


def test_a_run_has_its_modules_and_one_that_may_not_have_them_says_why(world: World) -> None:
    (world.folder / "script.py").write_text("import shop, sys\nprint(shop.VERSION, shop.__file__)\n")
    wheel(world.folder / "lake/w", "shop", "1.0")
    folder = world.folder / "environments"
    here = world.runner("here", modules=folder)

    def run(modules: str, state: str) -> JobRun:
        return world.until(here, world.runs.start("j", RunRequest(arguments={MODULES: modules})).id, state)

    done = run("s3://lake/w/shop-1.0-py3-none-any.whl", "SUCCEEDED")
    (made,) = [path for path in (folder / "environments").iterdir() if path.is_dir()]
    assert printed(here, done.id) == [f"1.0 {made / 'shop.py'}"]
    refused = str(run("shop==1.0", "FAILED").error)
    assert refused.startswith(
        "Error Category: LAUNCH_ERROR; --additional-python-modules names packages of an index (shop==1.0)"
    )
    assert "--jobs-python-index" in refused
    missing = str(run("s3://lake/w/till-1.0-py3-none-any.whl", "FAILED").error)
    assert missing.startswith("Error Category: LAUNCH_ERROR; The modules of")


@pytest.mark.parametrize(
    "text",
    [
        "git+https://h/x.git",
        "shop @ https://h/x.whl",
        "--index-url=https://h",
        "-r s3://b/r.txt",
        "../shop",
        "/tmp/shop-1.0-py3-none-any.whl",
        "shop;python_version>'3'",
        "https://h/shop-1.0-py3-none-any.whl",
        "file:///shop-1.0-py3-none-any.whl",
        "s3://b/shop-1.0.tar.gz",
        "s3://b/-shop.whl",
        "s3://b/a/shop-1.0-py3-none-any.whl,s3://b/c/shop-1.0-py3-none-any.whl",
        ",".join(f"m{number}" for number in range(101)),
        "shop==1.0\n--pre",
    ],
)
def test_what_is_neither_a_package_nor_a_wheel_is_refused_when_the_job_is_created(text: str) -> None:
    with pytest.raises(InvalidInput, match=MODULES):
        check_arguments({MODULES: text})


def test_names_versions_and_wheels_are_distinguished() -> None:
    modules = parse_modules(
        "requests==2.32.3, pandas>=2 ,s3://b/k/x_y-1.0+l.1-cp311-cp311-linux_x86_64.whl,fastavro[snappy],"
    )
    assert modules.requirements == ("requests==2.32.3", "pandas>=2", "fastavro[snappy]")
    assert modules.wheels == ("s3://b/k/x_y-1.0+l.1-cp311-cp311-linux_x86_64.whl",)
    check_arguments({"--python-modules-installer-option": "--upgrade --no-cache-dir"})
    for words in ("--index-url=https://h", "--upgrade --no-deps", "-r s3://b/r.txt"):
        with pytest.raises(SettingNotServed, match="installer-option"):
            check_arguments({"--python-modules-installer-option": words})
