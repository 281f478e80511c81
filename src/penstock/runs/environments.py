"""Environments of Python modules for runs: made once for each set of modules, and the same from then on.

Layout of an account's folder::

    lock               held while an environment is made
    sets/SET.json      by what was asked for: the wheels that were installed, with their SHA-256
    environments/KEY/  the modules of these wheels; KEY is made of their hashes, and a complete folder alone has that name
    environments/KEY.lock  held, shared, by each run that uses it
    making-*/          what is being made, or what was left when that was killed

Nothing that is installed is executed: wheels are only unpacked, and sources are not built. pip runs in its own
sandbox, which reaches the index alone.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock import durable
from penstock.bounded_json import read_json
from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.interpreter import SAFE_PATH, python_module
from penstock.jobs.modules import MODULES, PythonModules
from penstock.locks import file_lock
from penstock.sandbox.confinement import Confinement
from penstock.sandbox.program_files import needed_files

__all__ = ["DEFAULT_INDEX", "Environments", "Reach"]

DEFAULT_INDEX = "default"
"""The index that pip itself uses."""
_SECONDS = 600.0
_WAIT_SECONDS = 1_200.0
_MOST_BYTES = 4 << 30
_MOST_ENVIRONMENTS = 20
_MOST_REPORT = 32 << 20
_REPORT_VALUES = 1_000_000
_REPORT_DEPTH = 50
_TICK = 0.2
_MOST_MESSAGES = 4_000  # bytes of pip's messages
_PORTS = {"http": 80, "https": 443}
_PASSED = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
_FIXED = (
    "--no-input",
    "--no-cache-dir",
    "--disable-pip-version-check",
    "--progress-bar",
    "off",
    "--only-binary=:all:",
    "--retries=2",
)
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What the steps reach beside their own folders: ``connect`` are the ports, and ``read`` the files, of the lake."""

    read: tuple[Path, ...] = ()
    connect: tuple[int, ...] = ()
    sandbox: bool = True


class Environments:
    """The environments in ``folder``, of wheels from ``index``: a URL, :data:`DEFAULT_INDEX`, or None for no index."""

    def __init__(
        self, folder: Path, *, index: str | None, reach: Reach, environment: Mapping[str, str], seconds: float = _SECONDS
    ) -> None:
        self._folder = folder
        self._index = index
        self._reach = reach
        self._environment = environment
        self._seconds = seconds

    @contextlib.contextmanager
    def fetched(self, modules: PythonModules, staging: Path) -> Iterator[Sequence[Path]]:
        """Yield the wheels of ``modules``, copied into ``staging`` by the rights of this process's credentials."""
        wheels = [{"from": wheel, "to": PurePosixPath(wheel).name} for wheel in modules.wheels]
        shutil.rmtree(staging, ignore_errors=True)
        durable.make_folder(staging, mode=0o755)
        try:
            if wheels:
                self._step(
                    {"fetch": wheels, "to": str(staging)},
                    read=self._reach.read,
                    write=staging,
                    connect=self._reach.connect,
                    environment=self._environment,
                )
            yield [staging / entry["to"] for entry in wheels]
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def of(self, modules: PythonModules, wheels: Sequence[Path]) -> tuple[Path, int]:
        """Return the folder of an environment with ``modules``, whose ``wheels`` were fetched, and a lock on it.

        The lock is a file's descriptor: while it is open, the environment is not removed. Raises :class:`InvalidInput` if
        there is no such set of modules, :class:`EnvironmentProblem` if it cannot be installed.
        """
        for name in ("sets", "environments"):
            durable.make_folder(self._folder / name, mode=0o755)
        record = self._folder / "sets" / f"{self._set_of(modules, wheels)}.json"
        environment = self._finished(record)
        if environment is not None:
            return environment
        try:
            lock = file_lock(self._folder / "lock", patience=_WAIT_SECONDS)
            with lock:
                environment = self._finished(record)  # another run has made it meanwhile
                if environment is None:
                    self._make(modules, wheels, record)
                    environment = self._finished(record)
        except TimeoutError:
            raise EnvironmentProblem(f"Another run has installed modules for {_WAIT_SECONDS:.0f} seconds.") from None
        assert environment is not None
        return environment

    def _set_of(self, modules: PythonModules, wheels: Sequence[Path]) -> str:
        request = {
            "requirements": sorted(modules.requirements),
            "wheels": sorted(f"{wheel.name} {_sha256(wheel)}" for wheel in wheels),
            "index": hashlib.sha256((self._index or "").encode()).hexdigest(),
            "python": f"{sys.implementation.cache_tag} {sysconfig.get_platform()}",
        }
        return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()

    def _finished(self, record: Path) -> tuple[Path, int] | None:
        """Return the environment of a set, locked against its removal; None if it has to be made."""
        locked = _read(record)
        if locked is None:
            return None
        folder = self._folder / "environments" / _key(locked)
        descriptor = os.open(folder.with_suffix(".lock"), os.O_RDONLY | os.O_CREAT, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        if not folder.is_dir():
            os.close(descriptor)
            return None
        os.utime(folder)  # the time of its last use
        return folder, descriptor

    def _make(self, modules: PythonModules, wheels: Sequence[Path], record: Path) -> None:
        for leftover in self._folder.glob("making-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        self._make_room()
        making = Path(tempfile.mkdtemp(prefix="making-", dir=self._folder))
        try:
            making.chmod(0o755)
            for name in ("tmp", "modules"):
                durable.make_folder(making / name, mode=0o755)
            recorded = _read(record)
            locked = self._install(modules, wheels, making, recorded)
            folder = self._folder / "environments" / _key(locked)
            if not folder.is_dir():
                os.sync()
                (making / "modules").rename(folder)
            if recorded is None:
                with durable.writing(record) as file:
                    file.write(json.dumps(locked, indent=1).encode())
        finally:
            shutil.rmtree(making, ignore_errors=True)

    def _install(
        self, modules: PythonModules, wheels: Sequence[Path], making: Path, recorded: Mapping[str, str] | None
    ) -> Mapping[str, str]:
        """Install the wheels that are ``recorded``, or those that the index has now; return them with their SHA-256."""
        folders = tuple({wheel.parent for wheel in wheels})
        online = self._index is not None
        packages = [*modules.requirements, *map(str, wheels)]
        if not online:
            packages = ["--no-index", "--no-deps", *packages]
        elif recorded is not None:
            by_name = {wheel.name: wheel for wheel in wheels}
            lines = [f"{by_name.get(name, _pinned(name))} --hash=sha256:{digest}" for name, digest in recorded.items()]
            (making / "locked.txt").write_text("\n".join(lines))
            packages = ["--no-deps", "--require-hashes", "--requirement", str(making / "locked.txt")]
        report = making / "report.json"
        self._pip(
            "--target",
            str(making / "modules"),
            "--report",
            str(report),
            *packages,
            making=making,
            read=folders,
            online=online,
        )
        infos = [entry["download_info"] for entry in _installed(report)]
        hashes = {unquote(urlsplit(info["url"]).path).rpartition("/")[2]: info for info in infos}
        return {name: hashes[name]["archive_info"]["hashes"]["sha256"] for name in sorted(hashes)}

    def _pip(self, *arguments: str, making: Path, read: tuple[Path, ...], online: bool) -> None:
        pip, own = _pip()
        environment = {name: value for name, value in self._environment.items() if name in (*_PASSED, *_PROXIES)}
        environment |= {"HOME": str(making / "tmp"), "TMPDIR": str(making / "tmp"), "PIP_CONFIG_FILE": os.devnull}
        connect: tuple[int, ...] = ()
        if online:
            # Not among the arguments, which all users of the machine read: its address may have a password.
            environment |= {} if self._index in {None, DEFAULT_INDEX} else {"PIP_INDEX_URL": str(self._index)}
            connect = self._index_ports(environment)
        self._step(
            {"command": [sys.executable, "-P", *pip, "install", *_FIXED, *arguments]},
            read=(*read, *own),
            write=making,
            connect=connect,
            environment=environment,
        )

    def _index_ports(self, environment: Mapping[str, str]) -> tuple[int, ...]:
        index = "https://" if self._index in {None, DEFAULT_INDEX} else str(self._index)
        urls = [index, *(environment[name] for name in _PROXIES if environment.get(name) and name.lower() != "no_proxy")]
        parts = [urlsplit(url) for url in urls]
        return tuple({part.port or _PORTS.get(part.scheme, 443) for part in parts})

    def _step(
        self,
        step: Mapping[str, object],
        *,
        read: tuple[Path, ...],
        write: Path,
        connect: tuple[int, ...],
        environment: Mapping[str, str],
    ) -> None:
        """Run a step within its bounds; raise with the last error that it printed."""
        confinement = Confinement(
            read=needed_files(environment, *read), write=(write,), connect=connect, sandbox=self._reach.sandbox
        )
        with tempfile.TemporaryFile() as messages:
            child = subprocess.Popen(
                python_module("penstock.runs.confined_step"),
                cwd=write,
                env={**environment, **SAFE_PATH},
                stdin=subprocess.PIPE,
                stdout=messages,
                stderr=messages,
            )
            try:
                assert child.stdin is not None
                with child.stdin as sent:
                    sent.write(json.dumps({**step, "confinement": confinement.document()}).encode())
                self._await(child, write)
            finally:
                if child.poll() is None:
                    child.kill()
                    child.wait()
            if child.returncode:
                messages.seek(max(0, messages.seek(0, os.SEEK_END) - _MOST_MESSAGES))
                raise InvalidInput(
                    f"The modules of {MODULES} cannot be installed: {_last_error(messages.read().decode(errors='replace'))}",
                    remedy="Only wheels that fit this Python are installed.",
                )

    def _await(self, child: "subprocess.Popen[bytes]", folder: Path) -> None:
        until = time.monotonic() + self._seconds
        while child.poll() is None:
            if time.monotonic() > until:
                raise EnvironmentProblem(f"The modules of {MODULES} were not installed within {self._seconds:.0f} seconds.")
            if _size(folder) > _MOST_BYTES:
                raise InvalidInput(f"The modules of {MODULES} have more than {_MOST_BYTES:,} bytes.")
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_TICK)
        if _size(folder) > _MOST_BYTES:
            raise InvalidInput(f"The modules of {MODULES} have more than {_MOST_BYTES:,} bytes.")

    def _make_room(self) -> None:
        """Remove the environments that were used longest ago, except those that runs use now."""
        environments = sorted((path for path in (self._folder / "environments").iterdir() if path.is_dir()), key=_last_use)
        for old in environments[: max(0, len(environments) - _MOST_ENVIRONMENTS + 1)]:
            with old.with_suffix(".lock").open("ab") as lock, contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Renamed first: what is half removed is not used.
                old.rename(self._folder / f"making-{old.name}")
                shutil.rmtree(self._folder / f"making-{old.name}", ignore_errors=True)


def _installed(report: Path) -> Sequence[Mapping[str, Any]]:
    """Return what pip reports to have installed, with the packages' own descriptions."""
    if report.stat().st_size > _MOST_REPORT:
        raise InvalidInput(f"pip's report on the modules of {MODULES} has more than {_MOST_REPORT:,} bytes.")
    try:
        packages: Sequence[Mapping[str, Any]] = read_json(report.read_bytes(), most=_REPORT_VALUES, deepest=_REPORT_DEPTH)[
            "install"
        ]
    except ValueError as error:
        raise InvalidInput(f"pip's report on the modules of {MODULES} cannot be read: {error}.") from None
    return packages


def _key(locked: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(locked, sort_keys=True).encode()).hexdigest()


def _pinned(wheel: str) -> str:
    """Return the requirement of the one version that a wheel's file is (its name: NAME-VERSION-…)."""
    name, version, *_ = wheel.split("-")
    return f"{name}=={version}"


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _read(record: Path) -> Mapping[str, str] | None:
    try:
        packages: Mapping[str, str] = json.loads(record.read_bytes())
    except FileNotFoundError:
        return None
    return packages


def _last_use(folder: Path) -> float:
    return folder.stat().st_mtime


def _size(folder: Path) -> int:
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(where, name)).st_size  # noqa: PTH118 - many files
    return total


def _last_error(text: str) -> str:
    """Return the last error among pip's messages, or its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["pip was ended"])[-1][:500]


def _pip() -> tuple[list[str], tuple[Path, ...]]:
    """Return how this Python starts pip, and what that reads: the installed one, or the one that comes with Python."""
    if importlib.util.find_spec("pip") is not None:
        return ["-m", "pip"], ()
    spec = importlib.util.find_spec("ensurepip")
    bundled = sorted(Path(str(spec.origin)).parent.glob("_bundled/pip-*.whl")) if spec is not None else []
    if not bundled:
        raise EnvironmentProblem("pip is missing, which installs modules.", remedy="Install pip into the server's Python.")
    return [str(bundled[-1] / "pip")], (bundled[-1],)
