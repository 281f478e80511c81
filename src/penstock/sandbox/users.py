"""System users, one for each account whose programs run here: what one of them leaves open is closed to the others'.

Only root may become another user. A user is made with useradd(8) where the machine has it, or named by the operator:
programs such as Spark need an entry in passwd(5).
"""

import os
import pwd
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import EnvironmentProblem

__all__ = ["SystemUser", "can_change_user", "named_user", "nobody", "own_user", "runs_python"]

_PREFIX = "penstock-"
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class SystemUser:
    """A user of this machine."""

    name: str
    uid: int
    gid: int


def can_change_user() -> bool:
    """Return whether this process may become another user, and make one."""
    return sys.platform == "linux" and os.geteuid() == 0


def named_user(name: str) -> SystemUser:
    """Return the user that is named so; raise :class:`EnvironmentProblem` if there is none, or it is root."""
    try:
        result = pwd.getpwnam(name)
    except KeyError:
        raise EnvironmentProblem(f"This machine has no user {name}.", remedy="Make it, or name another one.") from None
    if result.pw_uid == 0:
        raise EnvironmentProblem(f"The user {name} is root.", remedy="Name another user for the runs of jobs.")
    return SystemUser(result.pw_name, result.pw_uid, result.pw_gid)


def own_user(account: str) -> SystemUser | None:
    """Return the user of an account, made if it is missing; None if this machine has no program that makes one."""
    name = f"{_PREFIX}{account}"
    try:
        return named_user(name)
    except EnvironmentProblem:
        program = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        return None
    command = [program, "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    result = subprocess.run(
        [*command, "--shell", "/usr/sbin/nologin", name], capture_output=True, timeout=_SECONDS, check=False
    )
    if result.returncode not in {0, 9}:  # 9: another server has made it meanwhile
        reason = result.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise EnvironmentProblem(f"The user {name} cannot be made: {reason}.", remedy="Make it, or give --no-jobs-users.")
    return named_user(name)


def runs_python(user: SystemUser, folder: Path) -> bool:
    """Return whether ``user`` can start this interpreter with Penstock's modules, and can enter ``folder``."""
    program = "import os, sys, penstock; sys.exit(not os.access(sys.argv[1], os.X_OK))"
    try:
        result = subprocess.run(
            [sys.executable, "-P", "-c", program, str(folder)],
            cwd="/",
            user=user.uid,
            group=user.gid,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except OSError:
        return False
    return result.returncode == 0


def nobody() -> SystemUser:
    """Return a user without rights, which need not be in passwd(5): to ask what any other user can do."""
    return SystemUser("nobody", 65534, 65534)
