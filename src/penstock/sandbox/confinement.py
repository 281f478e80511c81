"""What a process may reach, as a value that its starter passes to it, and how it takes that on itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import EnvironmentProblem
from penstock.sandbox import landlock, seccomp
from penstock.sandbox.privileges import drop_privileges, limit, shed_user
from penstock.sandbox.program_files import DEVICES

__all__ = ["Confinement", "confine", "is_possible", "missing_parts", "overlaps"]

_TASKS = Path("/proc/self/task")


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """What a process may reach: everything else is closed to it.

    ``read`` are files and folders that it reads and executes, ``write`` those that it changes as well. ``connect`` are the
    TCP ports that it connects to; with ``local_ports`` it listens on ports of the kernel's choice (that Spark's processes
    find each other by) and connects to those, except ``closed``. ``user`` are the ids of the user and group that it becomes,
    None to stay what it is. ``sandbox`` false leaves it at the user.
    """

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    connect: tuple[int, ...] = ()
    local_ports: bool = False
    closed: tuple[int, ...] = ()
    user: tuple[int, int] | None = None
    all_files: bool = False
    """Whether a process of root keeps root's right to files of other users, within what is open to it."""
    sandbox: bool = True

    @property
    def confines(self) -> bool:
        """Whether it takes anything from the process."""
        return self.sandbox or self.user is not None

    def document(self) -> Mapping[str, Any]:
        """Return it as a JSON document."""
        return {
            "read": [str(path) for path in self.read],
            "write": [str(path) for path in self.write],
            "connect": list(self.connect),
            "local_ports": self.local_ports,
            "closed": list(self.closed),
            "user": self.user,
            "all_files": self.all_files,
            "sandbox": self.sandbox,
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Confinement":
        """Return the value of :meth:`document`."""
        user = document["user"]
        return cls(
            read=tuple(map(Path, document["read"])),
            write=tuple(map(Path, document["write"])),
            connect=tuple(document["connect"]),
            local_ports=document["local_ports"],
            closed=tuple(document["closed"]),
            user=None if user is None else (user[0], user[1]),
            all_files=document["all_files"],
            sandbox=document["sandbox"],
        )


def is_possible() -> bool:
    """Return whether this machine has what a sandbox is made of: Landlock and seccomp."""
    return landlock.abi() > 0 and seccomp.available()


def missing_parts() -> Sequence[str]:
    """Return what a sandbox on this machine leaves open, as sentences without a full stop; empty if nothing."""
    return landlock.losses(landlock.abi()) if is_possible() else ()


def overlaps(confinement: Confinement, private: Iterable[Path]) -> tuple[Path, Path] | None:
    """Return the first of ``private`` that the process could read, with the folder that has it; None if there is none."""
    open_to_it = [(item, item.resolve()) for item in (*confinement.read, *confinement.write)]
    for path in private:
        resolved = path.resolve()
        for written, folder in open_to_it:
            if resolved.is_relative_to(folder):
                return path, written
    return None


def confine(confinement: Confinement) -> None:
    """Confine this process, and all that it starts from now on, for good.

    The process must have one thread: the kernel confines the caller's alone. Raises :class:`EnvironmentProblem` if it
    cannot be done, after which the process must not go on.
    """
    if confinement.sandbox and len([*_TASKS.iterdir()]) != 1:
        raise EnvironmentProblem("A process with several threads cannot be confined.")
    try:
        limit(own_user=confinement.user is not None)
        if confinement.user is not None:
            shed_user(*confinement.user)
        drop_privileges(all_files=confinement.all_files)
        if confinement.sandbox:
            local = _local_ports(confinement)
            landlock.restrict(
                read=confinement.read,
                write=confinement.write,
                devices=DEVICES,
                connect=(*confinement.connect, *local),
                listen=(0, *local) if local else (),
            )
            seccomp.install(truncate=landlock.abi() >= 3)
    except OSError as error:
        raise EnvironmentProblem(f"The process cannot be confined: {error}.") from error


def _local_ports(confinement: Confinement) -> Sequence[int]:
    if not confinement.local_ports:
        return ()
    closed = frozenset(confinement.closed)
    return [port for port in landlock.local_ports() if port not in closed]
