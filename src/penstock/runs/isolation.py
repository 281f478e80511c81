"""What a run may reach on its machine: its own folder, its interpreter, the server's endpoints, and nothing else.

A run is in a sandbox where the kernel has what one is made of, and has a system user of its account where the server may
change users; both where both are possible.
"""

import logging
import re
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from penstock import durable
from penstock.errors import EnvironmentProblem
from penstock.jobs.model import JobRun
from penstock.runs.folders import RunFolder
from penstock.sandbox import users
from penstock.sandbox.confinement import Confinement, is_possible, missing_parts, overlaps
from penstock.sandbox.program_files import needed_files
from penstock.sandbox.users import SystemUser

__all__ = ["Isolation", "port_of"]

_LOG = logging.getLogger(__name__)
_PORTS = {"http": 80, "https": 443, "spark": 7077}
_OPEN = "this machine can neither confine it (Landlock and seccomp of Linux) nor give it a system user"
_NO_USERS = "system users of their own: no other user can start this Python."
_NO_SANDBOX = "This machine has no sandbox, and runs of jobs may have the rights of the server's user"
_PROXIES = re.compile(r"(?i)(http|https|all)_proxy")


class _User:
    """The system user of an account, found once."""

    def __init__(self) -> None:
        self._found: tuple[SystemUser | None] | None = None
        self._lock = threading.Lock()

    def get(self, isolation: "Isolation") -> SystemUser | None:
        with self._lock:
            if self._found is None:
                self._found = (_system_user(isolation),)
            return self._found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """How the runs of one account are kept apart from the server, and from those of other accounts.

    ``connect`` are the TCP ports that the operator opens to runs, ``closed`` those that stay closed whoever asks, such as
    the store's; ``ports_of`` returns those that a run's connections name. ``readable`` are further files and folders that
    runs read, ``writable`` further ones that they change, ``private`` what none may read. ``user`` is the name of the
    account's system user, None for one that is made if ``own_users`` allows it; ``scratch`` the parent of the folders of
    such users. ``without_sandbox`` is the operator's word that runs may have the server's rights where nothing else is
    possible.
    """

    account: str
    connect: tuple[int, ...] = ()
    closed: tuple[int, ...] = ()
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    private: tuple[Path, ...] = ()
    user: str | None = None
    own_users: bool = False
    scratch: Path = Path("/var/tmp")  # noqa: S108 - a folder of the server's user is made in it
    without_sandbox: bool = False
    alone: bool = False
    """Whether there may be one account only, because runs reach what all of them share."""
    ports_of: Callable[[JobRun], Collection[int]] = lambda _run: ()
    accounts: Callable[[], int] = lambda: 1
    sandbox: bool = field(default_factory=is_possible)
    _known: _User = field(default_factory=_User, repr=False)

    def begin(self, environment: Mapping[str, str]) -> None:
        """Say once what runs are confined by; raise :class:`EnvironmentProblem` if they could read what is private."""
        self._check_private(Confinement(read=self._read(environment), write=self.writable))
        if self.sandbox:
            for missing_part in missing_parts():
                _LOG.warning("The kernel's sandbox for runs of jobs is an older one: %s.", missing_part)
            # Told where a system user is to be expected: the server is root.
            if self.own_users and users.can_change_user() and not users.runs_python(users.nobody(), self.scratch):
                _LOG.warning("Runs of jobs are in the sandbox alone, without %s", _NO_USERS)
        elif self.without_sandbox:
            _LOG.warning("%s: --jobs-without-sandbox.", _NO_SANDBOX)
        elif self.user is None and not (self.own_users and users.can_change_user()):
            _LOG.warning("Runs of jobs will be refused: %s.", _OPEN)

    def check(self) -> None:
        """Raise :class:`EnvironmentProblem` if a run could reach what it must not."""
        if self.alone and self.accounts() > 1:
            raise EnvironmentProblem(
                "The run is refused: there are several accounts, and runs get the folder of the lake (--jobs-lake-folder).",
                remedy="Start an S3 endpoint with 'penstock serve-s3', and name it with --s3-endpoint-url.",
            )
        if self.sandbox or self.system_user() is not None:
            return
        if self.accounts() > 1:
            raise EnvironmentProblem(
                f"The run is refused: {_OPEN}, and there are several accounts.",
                remedy="Run the server on Linux 5.13 or later, or as root with --jobs-user.",
            )
        if not self.without_sandbox:
            raise EnvironmentProblem(
                f"The run is refused: {_OPEN}.",
                remedy="Run the server on Linux 5.13 or later, or let runs have the rights of the server's user: "
                "--jobs-without-sandbox.",
            )

    def system_user(self) -> SystemUser | None:
        """Return the system user of the account's runs, None if they have the server's."""
        return self._known.get(self)

    def place(self, run_id: str) -> Path | None:
        """Return the folder of a run's system user, which may not exist yet; None if it has none."""
        user = self.system_user()
        return None if user is None else self._parent(user) / run_id

    def prepare(self, folder: RunFolder) -> None:
        """Make the parent of the folders of system users, which they can enter and not list; before the run's own."""
        if folder.scratch is None:
            return
        parent = folder.scratch.parent
        parent.mkdir(mode=0o711, exist_ok=True)
        status = parent.lstat()
        if status.st_uid != 0 or not parent.is_dir() or parent.is_symlink():
            raise EnvironmentProblem(f"The folder {parent} is not the server's.", remedy="Remove it.")
        parent.chmod(0o711)
        durable.make_folder(folder.scratch, mode=0o700)

    def confinement(
        self, run: JobRun, folder: RunFolder, environment: Mapping[str, str], *, urls: Iterable[str], spark: bool
    ) -> Confinement:
        """Return what ``run`` may reach; raise :class:`EnvironmentProblem` if that has what is private.

        ``environment`` is the run's, ``urls`` are the addresses that it is given; ``spark`` says whether its processes
        find each other by ports.
        """
        proxies = [value for name, value in environment.items() if _PROXIES.fullmatch(name)]
        ports = {*self.connect, *filter(None, map(port_of, [*urls, *proxies]))}
        user = self.system_user()
        confinement = Confinement(
            read=(*self._read(environment), folder.command),
            write=(
                *((folder.work, folder.tmp, folder.log.parent) if folder.scratch is None else (folder.scratch,)),
                *self.writable,
            ),
            connect=tuple(sorted({*ports, *(set(self.ports_of(run)) - {*self.closed})})),
            local_ports=spark,
            closed=tuple(port for port in self.closed if port not in ports),
            user=None if user is None else (user.uid, user.gid),
            sandbox=self.sandbox,
        )
        self._check_private(confinement)
        return confinement

    def _read(self, environment: Mapping[str, str]) -> tuple[Path, ...]:
        return needed_files(environment, *self.readable)

    def _check_private(self, confinement: Confinement) -> None:
        overlapping = overlaps(confinement, self.private) if self.sandbox else None
        if overlapping is not None:
            raise EnvironmentProblem(
                f"{overlapping[0]} is in {overlapping[1]}, which runs of jobs read.",
                remedy="Move the server's home, or its lake, elsewhere.",
            )

    def _parent(self, user: SystemUser) -> Path:
        return self.scratch / f"penstock-jobs-{user.uid}"


def _system_user(isolation: Isolation) -> SystemUser | None:
    if isolation.user is None and not isolation.own_users:
        return None
    if not users.can_change_user():
        if isolation.user is not None:
            raise EnvironmentProblem(
                f"Runs of account {isolation.account} cannot be those of user {isolation.user}: only root changes users.",
                remedy="Start the server as root, or without --jobs-user.",
            )
        return None
    user = users.named_user(isolation.user) if isolation.user is not None else None
    if user is None and not users.runs_python(users.nobody(), isolation.scratch):
        _LOG.info("Runs of jobs are in the sandbox alone, without %s", _NO_USERS)
        return None
    user = user or users.own_user(isolation.account)
    if user is not None and not users.runs_python(user, isolation.scratch):
        raise EnvironmentProblem(
            f"The user {user.name} cannot start this Python, or cannot enter {isolation.scratch}.",
            remedy="Install Python and Penstock where every user can read them, and name a folder with --jobs-scratch.",
        )
    if user is None:
        _LOG.info("Runs of jobs have no system users of their own: this machine has no useradd.")
    return user


def port_of(url: str) -> int | None:
    """Return the port of a URL, by its scheme if it names none; None if it has none."""
    try:
        parts = urlsplit(url)
        return parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
