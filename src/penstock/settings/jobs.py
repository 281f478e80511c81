"""How one server runs jobs: only the CLI reads it, from the command line and the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["JobsSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsSettings:
    """The runs of jobs on one machine. ``folder`` has a folder for each account, with one for each of its runs."""

    folder: Path
    master: str = "local[*]"
    """Spark's master for jobs; ``local`` runs them on this machine."""
    at_once: int = 4
    """How many runs of jobs have a process on this machine at once."""
    environment: tuple[str, ...] = ()
    """Variables of this process's environment that jobs inherit, beside those that no secret is in."""
    connect: tuple[int, ...] = ()
    """Further TCP ports that runs may connect to, on whatever host."""
    readable: tuple[Path, ...] = ()
    """Further files and folders that runs may read."""
    private: tuple[Path, ...] = ()
    """What no run may read: the home, the store, the lakes, the master key."""
    users: Mapping[str, str] = field(default_factory=dict)
    """System users of accounts, by account."""
    own_users: bool = True
    """Whether an account without one gets a system user, where this process may change users."""
    scratch: Path = Path("/var/tmp")  # noqa: S108 - a folder of a random name is made in it
    """Parent folder of the runs' own folders where they have system users, which cannot enter the home."""
    python_index: str | None = None
    """The index of packages for ``--additional-python-modules``: a URL, or ``default`` for pip's own; None for none."""
    cache: Path | None = None
    """Folder of the JVM's artefacts; None for that of the environment."""
    lake_folder: bool = False
    """Whether runs get the folder of the lake where no S3 endpoint serves it: with one account only."""
    without_sandbox: bool = False
    """Whether runs have the rights of the server's user where neither a sandbox nor system users are possible."""
