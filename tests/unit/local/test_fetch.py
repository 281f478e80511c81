"""Fetching artefacts from an HTTP server that breaks in every way a network does."""

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import EnvironmentProblem
from penstock.local import download
from penstock.local.artefacts import Artefact, Report, cached, fetch
from penstock.retries import DOWNLOAD

CONTENT = {
    name: hashlib.sha256(name.encode()).digest() * size for name, size in (("one", 3000), ("two", 10), ("three", 700))
}


@dataclass
class Repository:
    """What a test's server serves and what it was asked for."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    fail_first: int = 0
    cut_first_at: int | None = None
    ranges: bool = True


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    state = Repository()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            expected = self.headers.get("Range")
            state.requests.append((self.path, expected))
            content = state.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            if state.fail_first:
                state.fail_first -= 1
                self.send_error(503)
                return
            start = 0
            if expected and state.ranges:
                start = int(expected.removeprefix("bytes=").rstrip("-"))
                self.send_response(206)
            else:
                self.send_response(200)
            body = content[start:]
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if state.cut_first_at is not None:
                body, state.cut_first_at = body[: state.cut_first_at], None
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/maven"
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(download, "DOWNLOAD", replace(DOWNLOAD, pauses=(0.01,)))
    monkeypatch.setattr(download, "_CHUNK", 1000)
    for artefact in artefacts():
        state.files[f"/maven/{artefact.path}"] = CONTENT[artefact.coordinate.split(":")[1]]
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


def artefacts() -> list[Artefact]:
    return [
        Artefact(group="g", coordinate=f"org.example:{name}:1", sha256=hashlib.sha256(data).hexdigest(), size=len(data))
        for name, data in CONTENT.items()
    ]


def test_fetches_all_in_class_path_order_and_then_asks_no_more(repository: Repository, tmp_path: Path) -> None:
    paths = fetch(["g"], cache=tmp_path, repository=repository.url, artefacts=artefacts())
    assert [path.read_bytes() for path in paths] == list(CONTENT.values())
    asked = len(repository.requests)
    assert asked == 3
    assert fetch(["g"], cache=tmp_path, repository=repository.url, artefacts=artefacts()) == paths
    assert len(repository.requests) == asked


def test_reports_bytes_that_add_up(repository: Repository, tmp_path: Path) -> None:
    repository.cut_first_at = 100
    counted: dict[str, Any] = {"bytes": 0, "begun": None, "finished": 0}

    def finished(_artefact: Artefact) -> None:
        counted["finished"] += 1

    def advance(size: int) -> None:
        counted["bytes"] += size

    report = Report(begin=lambda *begun: counted.update(begun=begun), advance=advance, finished=finished)
    fetch(["g"], cache=tmp_path, repository=repository.url, artefacts=artefacts(), report=report)
    total = sum(len(data) for data in CONTENT.values())
    assert counted == {"bytes": total, "begun": (3, total), "finished": 3}


@pytest.mark.parametrize("ranges", [True, False])
def test_resumes_what_an_interrupted_run_left(repository: Repository, tmp_path: Path, ranges: bool) -> None:
    repository.ranges = ranges
    first = artefacts()[0]
    partial = tmp_path / (first.path + ".part")
    partial.parent.mkdir(parents=True)
    partial.write_bytes(CONTENT["one"][:5000])
    [path, *_] = fetch(["g"], cache=tmp_path, repository=repository.url, artefacts=artefacts())
    assert path.read_bytes() == CONTENT["one"]
    assert (f"/maven/{first.path}", "bytes=5000-") in repository.requests
    assert not partial.exists()


def test_a_partial_file_with_wrong_bytes_is_discarded_once(repository: Repository, tmp_path: Path) -> None:
    first = artefacts()[0]
    partial = tmp_path / (first.path + ".part")
    partial.parent.mkdir(parents=True)
    partial.write_bytes(b"garbage")
    [path, *_] = fetch(["g"], cache=tmp_path, repository=repository.url, artefacts=artefacts())
    assert path.read_bytes() == CONTENT["one"]


def test_retries_errors_that_pass(repository: Repository, tmp_path: Path) -> None:
    repository.fail_first = 4
    fetch(["g"], cache=tmp_path, repository=repository.url, artefacts=artefacts())
    assert len(repository.requests) == 7


def test_a_connection_that_breaks_off_is_resumed(repository: Repository, tmp_path: Path) -> None:
    repository.cut_first_at = 4000
    [first, *_] = artefacts()
    [path] = fetch(["g"], cache=tmp_path, repository=repository.url, artefacts=[first])
    assert path.read_bytes() == CONTENT["one"]
    assert [expected for _, expected in repository.requests] == [None, "bytes=4000-"]


def test_a_wrong_hash_is_refused_and_leaves_no_file(repository: Repository, tmp_path: Path) -> None:
    first = artefacts()[0]
    repository.files[f"/maven/{first.path}"] = bytes(first.size)
    with pytest.raises(EnvironmentProblem, match=r"org\.example:one:1 has the wrong SHA-256.*PENSTOCK_MAVEN_REPOSITORY"):
        fetch(["g"], cache=tmp_path, repository=repository.url, artefacts=artefacts())
    assert not (tmp_path / first.path).exists()
    assert not (tmp_path / (first.path + ".part")).exists()


def test_a_file_longer_than_locked_is_refused(repository: Repository, tmp_path: Path) -> None:
    first = artefacts()[0]
    repository.files[f"/maven/{first.path}"] += b"more"
    with pytest.raises(EnvironmentProblem, match="wrong SHA-256"):
        fetch(["g"], cache=tmp_path, repository=repository.url, artefacts=artefacts())


def test_a_missing_artefact_is_named_without_retries(repository: Repository, tmp_path: Path) -> None:
    [first, *_] = artefacts()
    repository.files.clear()
    with pytest.raises(
        EnvironmentProblem, match=r"org\.example:one:1 could not be fetched .* answered 404 \(attempt 1 of 5\)"
    ):
        fetch(["g"], cache=tmp_path, repository=repository.url, artefacts=[first])


def test_a_dead_repository_is_named_with_what_to_do(repository: Repository, tmp_path: Path) -> None:
    dead = "http://127.0.0.1:9/maven"
    with pytest.raises(EnvironmentProblem, match=r"refused.*attempt 5 of 5.*run 'penstock fetch' again"):
        fetch(["g"], cache=tmp_path, repository=dead, artefacts=artefacts())


def test_two_at_once_download_each_file_once(repository: Repository, tmp_path: Path) -> None:
    notes: list[str] = []
    barrier = threading.Barrier(2)

    def one() -> None:
        barrier.wait()
        fetch(["g"], cache=tmp_path, repository=repository.url, artefacts=artefacts(), report=Report(note=notes.append))

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(path for path, _ in repository.requests) == sorted(repository.files)


def test_verify_replaces_a_file_that_was_damaged_in_the_cache(repository: Repository, tmp_path: Path) -> None:
    [path, *_] = fetch(["g"], cache=tmp_path, repository=repository.url, artefacts=artefacts())
    path.write_bytes(bytes(path.stat().st_size))
    assert cached(artefacts()[0], tmp_path)
    assert not cached(artefacts()[0], tmp_path, verify=True)
    fetch(["g"], cache=tmp_path, repository=repository.url, artefacts=artefacts(), verify=True)
    assert path.read_bytes() == CONTENT["one"]


def test_a_cache_that_cannot_be_written_is_named(repository: Repository, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(EnvironmentProblem, match=r"cache .*file.* cannot be written: .*PENSTOCK_CACHE"):
        fetch(["g"], cache=blocked / "jvm", repository=repository.url, artefacts=artefacts())
