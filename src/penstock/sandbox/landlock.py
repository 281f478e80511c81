"""Landlock: which files a process and its children may open, which TCP ports they may use, whom they may signal.

Source: Linux's Documentation/userspace-api/landlock.rst and include/uapi/linux/landlock.h. A right that the kernel's version
of Landlock does not know is not restricted; :func:`losses` says what that means.
"""

import ctypes
import functools
import os
import stat
import struct
from collections.abc import Collection, Iterable
from pathlib import Path

from penstock.sandbox.syscalls import NUMBERS, call

__all__ = ["abi", "local_ports", "losses", "restrict"]

# Rights to files by bit; the version of Landlock that has them first.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_FIRST = (1 << 13) - 1
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_SINCE = {2: _REFER, 3: _TRUNCATE, 5: _IOCTL_DEV}
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPES = 3  # abstract Unix sockets, signals
_RULE_PATH, _RULE_PORT = 1, 2
_VERSION = 1  # flag: return the version
_EPHEMERAL = range(32768, 61000)  # net.ipv4.ip_local_port_range, of its default
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")

_LOSSES = (
    (1, "files and folders of the server's user that others may read are not closed to it"),
    (2, "files cannot be moved from one folder of a run to another"),
    (4, "connections to every TCP port are open, also to the store's PostgreSQL"),
    (6, "processes of the same user can be ended by a signal"),
)


@functools.cache
def abi() -> int:
    """Return the version of Landlock that this kernel has; 0 if it has none, or has it switched off."""
    if not NUMBERS:
        return 0
    try:
        return call("landlock_create_ruleset", None, 0, _VERSION)
    except OSError:
        return 0


def losses(version: int) -> tuple[str, ...]:
    """Return what Landlock of ``version`` does not restrict, or restricts too much; empty from version 6 on."""
    return tuple(what for since, what in _LOSSES if version < since)


def restrict(
    *,
    read: Iterable[Path],
    write: Iterable[Path],
    devices: Iterable[Path] = (),
    connect: Collection[int] = (),
    listen: Collection[int] = (),
) -> None:
    """Let this thread, and what it starts from now on, open only these files and use only these ports of TCP.

    ``read`` are files and folders that are read and executed, ``write`` those that are changed as well, ``devices`` files
    that are read and written. Those that do not exist are left out. ``connect`` and ``listen`` are numbers of ports; 0 among
    the latter is a port that the kernel chooses. The process needs ``no_new_privs``. Raises :class:`OSError`.
    """
    version = abi()
    files = _FIRST | sum(right for since, right in _SINCE.items() if version >= since)
    ports, scopes = (_BIND_TCP | _CONNECT_TCP if version >= 4 else 0), (_SCOPES if version >= 6 else 0)
    attributes = struct.pack("=QQQ", files, ports, scopes)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = call("landlock_create_ruleset", attributes, len(attributes), 0)
    try:
        for path in read:
            _allow(ruleset, path, _EXECUTE | _READ_FILE | _READ_DIR)
        for path in write:
            _allow(ruleset, path, files & ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV))
        for path in devices:
            _allow(ruleset, path, _READ_FILE | _WRITE_FILE)
        if ports:
            _allow_ports(ruleset, connect, listen)
        call("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            rights &= _OF_FILES
        call("landlock_add_rule", ruleset, _RULE_PATH, struct.pack("=Qi", rights, opened), 0)
    finally:
        os.close(opened)


def _allow_ports(ruleset: int, connect: Collection[int], listen: Collection[int]) -> None:
    # Those of the kernel's choice are some 28,000 rules: 40 ms, by a structure that is filled in place.
    rule = (ctypes.c_uint64 * 2)()
    add, number = ctypes.CDLL(None, use_errno=True).syscall, ctypes.c_long(NUMBERS["landlock_add_rule"])
    descriptor, rule_type, none = ctypes.c_long(ruleset), ctypes.c_long(_RULE_PORT), ctypes.c_long(0)
    rights = dict.fromkeys(connect, _CONNECT_TCP)
    for port in listen:
        rights[port] = rights.get(port, 0) | _BIND_TCP
    for port, right in rights.items():
        rule[0], rule[1] = right, port
        if add(number, descriptor, rule_type, rule, none):
            failed = ctypes.get_errno()
            raise OSError(failed, os.strerror(failed), "landlock_add_rule")


def local_ports() -> range:
    """Return the ports that this machine gives to sockets without one."""
    try:
        first, last = map(int, _RANGE.read_text().split())
    except (OSError, ValueError):
        return _EPHEMERAL
    return range(first, last + 1)
