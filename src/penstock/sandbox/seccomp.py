"""A seccomp filter against what neither Landlock nor a user of its own keeps a process from.

It refuses system calls by their numbers and arguments, in a program of classic BPF (seccomp(2)) that children inherit. The
rest is allowed: the JVM, Python's extensions and the system's libraries change what they call.
"""

import ctypes
import errno
import struct
from collections.abc import Iterator, Sequence

from penstock.sandbox.syscalls import AUDIT_ARCH, MACHINE, NUMBERS, prctl

__all__ = ["REFUSED", "TIMES", "WITHOUT_EFFECT", "available", "install", "program"]

_PR_GET_SECCOMP, _PR_SET_SECCOMP, _MODE_FILTER = 21, 22, 2
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_X32 = 0x40000000  # numbers of the x32 ABI, by which the filter would be passed
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data, whose arguments have eight bytes each
_LOAD, _JUMP_EQUAL, _JUMP_ABOVE, _JUMP_SET, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06

_NEW_NAMESPACES = 0x7E020080  # CLONE_NEW* of clone(2)
_MSG_FASTOPEN = 0x20000000  # connects without the hook that Landlock has at connect(2)
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # type into a terminal
_FS_IOC_SETFLAGS, _FS_IOC_FSSETXATTR = 0x40086602, 0x401C5820
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _DATAGRAM, _SEQUENCED = 1, 2, 5
_KIND = 0xF  # of a socket, without its flags
_TCP, _UDP = 6, 17

REFUSED = (
    # Other processes, and what is theirs.
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd", "perf_event_open"),
    *("migrate_pages", "move_pages", "userfaultfd"),
    # Other views of the files.
    *("mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "open_tree_attr", "mount_setattr"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "unshare", "setns", "open_by_handle_at", "name_to_handle_at"),
    # Names of files that are not the process's own.
    *("fanotify_init", "inotify_init", "inotify_init1", "lookup_dcookie"),
    # The kernel and the machine.
    *("bpf", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "acct", "syslog"),
    *("swapon", "swapoff", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "quotactl", "quotactl_fd"),
    *("iopl", "ioperm", "sethostname", "setdomainname", "vhangup", "keyctl", "add_key", "request_key"),
    # Requests that pass this filter by.
    *("io_uring_setup", "io_uring_enter", "io_uring_register"),
    # Memory and queues that programs of one user share.
    *("shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl"),
    *("msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink"),
    # Owners and attributes of files, which Landlock does not restrict.
    *("chown", "fchown", "lchown", "fchownat", "file_setattr"),
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
)
"""System calls that are refused whatever their arguments."""
# Modes and times of files, which Landlock does not restrict either. Programs that copy files would stop at an error.
WITHOUT_EFFECT = ("chmod", "fchmod", "fchmodat", "fchmodat2")
"""System calls that have no effect, and say that they had."""
TIMES = {"utime": 1, "utimes": 1, "futimesat": 2, "utimensat": 2}
"""Those that have none unless they set the present time, and where the times are: ``touch`` asks so if there is a file."""
# Of other processes than the caller's own, which is 0: by the position of the process's id.
_OF_OTHERS = {
    "prlimit64": 0,
    "sched_setaffinity": 0,
    "sched_setscheduler": 0,
    "sched_setparam": 0,
    "sched_setattr": 0,
    "setpriority": 1,
    "ioprio_set": 1,
}


def available() -> bool:
    """Return whether this kernel has seccomp, and this module knows its architecture."""
    try:
        return MACHINE in AUDIT_ARCH and prctl(_PR_GET_SECCOMP) >= 0
    except OSError:
        return False


def install(*, truncate: bool = True) -> None:
    """Filter the system calls of this thread, and of what it starts from now on; the process needs ``no_new_privs``.

    ``truncate`` false refuses truncate(2), which Landlock before its version 3 does not restrict. Raises :class:`OSError`.
    """
    code = program(truncate=truncate)
    prctl(_PR_SET_SECCOMP, _MODE_FILTER, _Program(len(code) // 8, code))


class _Program(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def program(*, truncate: bool = True) -> bytes:
    """Return the filter for this machine: instructions of eight bytes each."""
    return b"".join(_instructions(truncate=truncate))


def _instructions(*, truncate: bool) -> Iterator[bytes]:
    yield _load(_ARCH)
    yield _step(_JUMP_EQUAL, AUDIT_ARCH[MACHINE], 1, 0)
    yield _return(_KILL_PROCESS)
    yield _load(_NUMBER)
    if MACHINE == "x86_64":
        yield _step(_JUMP_ABOVE, _X32, 0, 1)
        yield _refuse(errno.ENOSYS)
    for name in (*REFUSED, *(() if truncate else ("truncate",))):
        yield from _when(name, [_refuse(errno.EPERM)])
    for name in WITHOUT_EFFECT:
        yield from _when(name, [_return(_ERRNO)])
    for name, position in TIMES.items():
        steps = [_argument(position), _step(_JUMP_EQUAL, 0, 0, 2), _upper_half(position), _step(_JUMP_EQUAL, 0, 1, 0)]
        yield from _when(name, [*steps, _return(_ERRNO)])
    # The C library then takes clone(2), whose flags can be looked at.
    yield from _when("clone3", [_refuse(errno.ENOSYS)])
    yield from _when("clone", [_argument(0), *_refuse_if_set(_NEW_NAMESPACES)])
    for name, position in _OF_OTHERS.items():
        yield from _when(name, [_argument(position), _step(_JUMP_EQUAL, 0, 1, 0), _refuse(errno.EPERM)])
    for name, position in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        yield from _when(name, [_argument(position), *_refuse_if_set(_MSG_FASTOPEN)])
    requests = (_TIOCSTI, _TIOCLINUX, _FS_IOC_SETFLAGS, _FS_IOC_FSSETXATTR)
    yield from _when("ioctl", [_argument(1), *(part for request in requests for part in _refuse_if(request, errno.EPERM))])
    yield from _when("socket", _sockets())
    yield from _when("socketpair", _pairs())
    yield _return(_ALLOW)


def _sockets() -> list[bytes]:
    """Allow TCP and UDP, and the kernel's own addresses (NETLINK_ROUTE). Other streams, such as MPTCP, pass Landlock by.

    Unix sockets are refused: Landlock does not restrict those with a path, such as a database's or a container engine's.
    """
    internet = [
        _argument(1),
        _step(_AND, _KIND),
        _step(_JUMP_EQUAL, _STREAM, 0, 4),
        _argument(2),
        _step(_JUMP_EQUAL, 0, 6, 0),
        _step(_JUMP_EQUAL, _TCP, 5, 0),
        _refuse(errno.EACCES),
        _step(_JUMP_EQUAL, _DATAGRAM, 0, 4),
        _argument(2),
        _step(_JUMP_EQUAL, 0, 1, 0),
        _step(_JUMP_EQUAL, _UDP, 0, 1),
        _return(_ALLOW),
        _refuse(errno.EACCES),
    ]
    return [
        _argument(0),
        _step(_JUMP_EQUAL, _INET, 4, 0),
        _step(_JUMP_EQUAL, _INET6, 3, 0),
        _step(_JUMP_EQUAL, _NETLINK, 0, 1),
        _step(_JUMP_EQUAL, _NETLINK, len(internet) + 1, 0),
        _refuse(errno.EACCES),
        *internet,
        _argument(2),
        _step(_JUMP_EQUAL, 0, 1, 0),
        _refuse(errno.EACCES),
    ]


def _pairs() -> list[bytes]:
    """Allow pairs that stay pairs: a datagram's socket can be connected to another address later."""
    return [
        _argument(1),
        _step(_AND, _KIND),
        _step(_JUMP_EQUAL, _STREAM, 2, 0),
        _step(_JUMP_EQUAL, _SEQUENCED, 1, 0),
        _refuse(errno.EACCES),
    ]


def _when(name: str, steps: Sequence[bytes]) -> Iterator[bytes]:
    """Do ``steps`` for a system call, and go on with the next one behind them."""
    if name in NUMBERS:
        yield _step(_JUMP_EQUAL, NUMBERS[name], 0, len(steps) + 1)
        yield from steps
        yield _load(_NUMBER)


def _refuse_if_set(bits: int) -> list[bytes]:
    return [_step(_JUMP_SET, bits, 0, 1), _refuse(errno.EPERM)]


def _refuse_if(value: int, number: int) -> list[bytes]:
    return [_step(_JUMP_EQUAL, value, 0, 1), _refuse(number)]


def _argument(position: int) -> bytes:
    """Load the lower half of an argument: those that are looked at are ints."""
    return _load(_ARGUMENTS + 8 * position)


def _upper_half(position: int) -> bytes:
    return _load(_ARGUMENTS + 8 * position + 4)


def _load(offset: int) -> bytes:
    return _step(_LOAD, offset)


def _refuse(number: int) -> bytes:
    return _return(_ERRNO | number)


def _return(action: int) -> bytes:
    return _step(_RETURN, action)


def _step(code: int, value: int, when: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, when, otherwise, value)
