"""JVM artefacts: a fixed list with SHA-256 and size, downloaded once into a cache that processes share.

The list is ``jvm.lock`` beside this module (written by tools/lock-jvm). The cache has the layout of a Maven repository.
A file gets its final name after its hash was checked. A marker beside it has that hash, so that later runs compare only
size and marker.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache as memoised
from importlib import resources
from pathlib import Path

from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.local.download import Download, default_repository
from penstock.locks import file_lock

__all__ = [
    "LOCK_HEADER",
    "Artefact",
    "Report",
    "cache_folder",
    "cached",
    "class_path",
    "fetch",
    "group_names",
    "locked",
    "parse_lock",
]

LOCK_HEADER = "# Written by tools/lock-jvm: group, coordinate, SHA-256, bytes. Do not edit.\n"

_AT_ONCE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """One locked file. ``coordinate`` is group:artifact:version[:classifier][@ending]; ``size`` is in bytes."""

    group: str
    coordinate: str
    sha256: str
    size: int

    @property
    def path(self) -> str:
        """Its path in a Maven repository, relative to the repository's root."""
        plain, _, ending = self.coordinate.partition("@")
        group_id, artifact_id, version, *classifier = plain.split(":")
        name = "-".join([artifact_id, version, *classifier])
        return f"{group_id.replace('.', '/')}/{artifact_id}/{version}/{name}.{ending or 'jar'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Callbacks by which a fetch reports its progress; called from several threads, one call at a time.

    ``begin(artefacts, bytes)`` is called once, before the first download, if one is needed; ``advance(bytes)`` is negative
    for a partial file that is discarded; ``finished(artefact)`` is called when a file is in its place; ``note(text)`` gets
    the reason of a delay.
    """

    begin: Callable[[int, int], None] = lambda _count, _size: None
    advance: Callable[[int], None] = lambda _size: None
    finished: Callable[[Artefact], None] = lambda _artefact: None
    note: Callable[[str], None] = lambda _text: None


def parse_lock(text: str) -> tuple[Artefact, ...]:
    """Return the artefacts of a lock file's text; :class:`InvalidInput` names a malformed line."""
    artefacts = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            group, coordinate, sha256, size = line.split()
            if coordinate.count(":") not in {2, 3} or len(bytes.fromhex(sha256)) != 32:
                raise ValueError
            artefacts.append(Artefact(group=group, coordinate=coordinate, sha256=sha256, size=int(size)))
        except ValueError:
            raise InvalidInput(f"Line {number} of the JVM lock is not an artefact: '{line[:200]}'.") from None
    return tuple(artefacts)


@memoised
def locked() -> tuple[Artefact, ...]:
    """Return the artefacts of this release."""
    return parse_lock(resources.files("penstock.local").joinpath("jvm.lock").read_text())


def group_names(*, with_tests: bool = False) -> tuple[str, ...]:
    """Return the groups that the embedded platform needs; ``with_tests`` adds those otherwise fetched at first use."""
    always = ("kafka", "postgresql", "spark")
    on_use = ("delta", "dynamodb", "hadoop", "iceberg", "iceberg-aws", "msk-iam", "s3a", "s3proxy", "serde")
    return (*always, *on_use) if with_tests else always


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return the cache: ``$PENSTOCK_CACHE/jvm``, or ``penstock/jvm`` in the user's cache folder."""
    if chosen := environment.get("PENSTOCK_CACHE"):
        return Path(chosen).expanduser().absolute() / "jvm"
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "penstock" / "jvm"


def class_path(group: str, *, cache: Path | None = None) -> list[Path]:
    """Return the files of a group in class path order, after fetching missing ones.

    Raises :class:`InvalidInput` for an unknown group and :class:`EnvironmentProblem` if a file cannot be fetched.
    """
    folder = cache or cache_folder(os.environ)
    return fetch([group], cache=folder)


def cached(artefact: Artefact, cache: Path, *, verify: bool = False) -> bool:
    """Return whether the cache has the file: by size and marker, or with ``verify`` by its hash."""
    path = cache / artefact.path
    try:
        if path.stat().st_size != artefact.size:
            return False
        if not verify and _marker(path).read_text().strip() == artefact.sha256:
            return True
    except (FileNotFoundError, NotADirectoryError):
        if not path.is_file():
            return False
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != artefact.sha256:
            return False
    _marker(path).write_text(artefact.sha256 + "\n")
    return True


def fetch(
    groups: Iterable[str],
    *,
    cache: Path,
    repository: str | None = None,
    verify: bool = False,
    report: Report | None = None,
    artefacts: Iterable[Artefact] | None = None,
) -> list[Path]:
    """Bring ``groups`` into ``cache`` and return their files in class path order.

    Several downloads run at once. A second process waits for the first one and then finds the files. Interrupted
    downloads are resumed. ``repository`` is a Maven repository's URL, by default that of PENSTOCK_MAVEN_REPOSITORY or
    else jgo's. ``verify`` hashes the files that the cache has already.

    Raises :class:`InvalidInput` for an unknown group and :class:`EnvironmentProblem` if the network, the disk or a
    hash fails; the message names the artefact.
    """
    locked_artefacts = tuple(locked() if artefacts is None else artefacts)
    selected: list[Artefact] = []
    for group in groups:
        members = [artefact for artefact in locked_artefacts if artefact.group == group]
        if not members:
            names = ", ".join(sorted({artefact.group for artefact in locked_artefacts}))
            raise InvalidInput(f"There is no group '{group}' of JVM artefacts.", remedy=f"The groups are: {names}.")
        selected += members
    report = report or Report()
    if verify or not all(cached(artefact, cache) for artefact in selected):
        with _exclusive(cache, report):
            # Two groups may share a file, which is downloaded once.
            missing = {a.path: a for a in selected if not cached(a, cache, verify=verify)}
            if missing:
                _download_all(list(missing.values()), cache, repository or default_repository(os.environ), report)
    return list(dict.fromkeys(cache / artefact.path for artefact in selected))


@contextmanager
def _exclusive(cache: Path, report: Report) -> Iterator[None]:
    """Hold the cache's lock, which the kernel releases however the process ends."""
    lock = file_lock(cache / ".lock", shared=True)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        try:
            locked = lock.acquire()
        except TimeoutError:
            report.note("Another process writes to the same cache; waiting for it.")
            locked = lock.acquire(timeout=-1)
    except OSError as error:
        raise EnvironmentProblem(
            f"The cache {cache} cannot be written: {error.strerror}.", remedy="Set PENSTOCK_CACHE to a writable folder."
        ) from error
    with locked:
        yield


def _download_all(artefacts: list[Artefact], cache: Path, repository: str, report: Report) -> None:
    serialised = threading.Lock()
    stop = threading.Event()

    def advance(size: int) -> None:
        with serialised:
            report.advance(size)

    def note(text: str) -> None:
        with serialised:
            report.note(text)

    def one(artefact: Artefact) -> None:
        path = cache / artefact.path
        Download(
            name=artefact.coordinate,
            url=f"{repository.rstrip('/')}/{artefact.path}",
            target=path,
            sha256=artefact.sha256,
            size=artefact.size,
            advance=advance,
            note=note,
            stop=stop,
        ).run()
        _marker(path).write_text(artefact.sha256 + "\n")
        with serialised:
            report.finished(artefact)

    report.begin(len(artefacts), sum(artefact.size for artefact in artefacts))
    # Largest first, so that the last download is a short one.
    ordered = sorted(artefacts, key=lambda artefact: -artefact.size)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="fetch") as executor:
        try:
            running = [executor.submit(one, artefact) for artefact in ordered]
            finished, _ = wait(running, return_when=FIRST_EXCEPTION)
            for future in finished:
                future.result()
        finally:
            stop.set()
            executor.shutdown(wait=True, cancel_futures=True)


def _marker(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")
