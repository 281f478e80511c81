"""Linux's system calls by number, for what neither Python nor the C library has a function of.

Sources: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux 6.18; prctl(2), capset(2).
"""

import ctypes
import os
import platform
import sys
from collections.abc import Mapping

__all__ = ["AUDIT_ARCH", "MACHINE", "NUMBERS", "call", "prctl"]

MACHINE = platform.machine() if sys.platform == "linux" else ""
"""The architecture, as uname(2) names it; empty elsewhere than on Linux."""
AUDIT_ARCH: Mapping[str, int] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The architectures that :data:`NUMBERS` knows, as seccomp(2) names them."""

# Name, number on x86_64, number on aarch64 (None: the architecture has no such call).
_TABLE: tuple[tuple[str, int, int | None], ...] = (
    *(("ptrace", 101, 117), ("process_vm_readv", 310, 270), ("process_vm_writev", 311, 271)),
    *(("process_madvise", 440, 440), ("kcmp", 312, 272), ("pidfd_getfd", 438, 438)),
    *(("mount", 165, 40), ("umount2", 166, 39), ("pivot_root", 155, 41), ("chroot", 161, 51)),
    *(("move_mount", 429, 429), ("open_tree", 428, 428), ("open_tree_attr", 467, 467), ("mount_setattr", 442, 442)),
    *(("fsopen", 430, 430), ("fsconfig", 431, 431), ("fsmount", 432, 432), ("fspick", 433, 433)),
    *(("unshare", 272, 97), ("setns", 308, 268), ("clone", 56, 220), ("clone3", 435, 435)),
    *(("bpf", 321, 280), ("perf_event_open", 298, 241), ("userfaultfd", 323, 282)),
    *(("keyctl", 250, 219), ("add_key", 248, 217), ("request_key", 249, 218)),
    *(("open_by_handle_at", 304, 265), ("name_to_handle_at", 303, 264), ("lookup_dcookie", 212, 18)),
    *(("init_module", 175, 105), ("finit_module", 313, 273), ("delete_module", 176, 106)),
    *(("kexec_load", 246, 104), ("kexec_file_load", 320, 294), ("reboot", 169, 142)),
    *(("swapon", 167, 224), ("swapoff", 168, 225), ("acct", 163, 89), ("syslog", 103, 116), ("vhangup", 153, 58)),
    *(("settimeofday", 164, 170), ("clock_settime", 227, 112), ("clock_adjtime", 305, 266), ("adjtimex", 159, 171)),
    *(("quotactl", 179, 60), ("quotactl_fd", 443, 443), ("iopl", 172, None), ("ioperm", 173, None)),
    *(("sethostname", 170, 161), ("setdomainname", 171, 162)),
    *(("io_uring_setup", 425, 425), ("io_uring_enter", 426, 426), ("io_uring_register", 427, 427)),
    *(("fanotify_init", 300, 262), ("inotify_init", 253, None), ("inotify_init1", 294, 26)),
    *(("shmget", 29, 194), ("shmat", 30, 196), ("shmctl", 31, 195)),
    *(("semget", 64, 190), ("semop", 65, 193), ("semtimedop", 220, 192), ("semctl", 66, 191)),
    *(("msgget", 68, 186), ("msgsnd", 69, 189), ("msgrcv", 70, 188), ("msgctl", 71, 187)),
    *(("mq_open", 240, 180), ("mq_unlink", 241, 181)),
    *(("socket", 41, 198), ("socketpair", 53, 199)),
    *(("sendto", 44, 206), ("sendmsg", 46, 211), ("sendmmsg", 307, 269)),
    *(("prlimit64", 302, 261), ("setpriority", 141, 140), ("ioprio_set", 251, 30)),
    *(("sched_setaffinity", 203, 122), ("sched_setscheduler", 144, 119), ("sched_setparam", 142, 118)),
    *(("sched_setattr", 314, 274), ("migrate_pages", 256, 238), ("move_pages", 279, 239)),
    *(("truncate", 76, 45), ("ioctl", 16, 29)),
    *(("chmod", 90, None), ("fchmod", 91, 52), ("fchmodat", 268, 53), ("fchmodat2", 452, 452)),
    *(("chown", 92, None), ("fchown", 93, 55), ("lchown", 94, None), ("fchownat", 260, 54)),
    *(("utime", 132, None), ("utimes", 235, None), ("futimesat", 261, None), ("utimensat", 280, 88)),
    *(("setxattr", 188, 5), ("lsetxattr", 189, 6), ("fsetxattr", 190, 7), ("setxattrat", 463, 463)),
    *(("removexattr", 197, 14), ("lremovexattr", 198, 15), ("fremovexattr", 199, 16), ("removexattrat", 466, 466)),
    *(("capset", 126, 91), ("capget", 125, 90), ("file_setattr", 469, 469)),
    *(("landlock_create_ruleset", 444, 444), ("landlock_add_rule", 445, 445), ("landlock_restrict_self", 446, 446)),
)
_COLUMN = {"x86_64": 1, "aarch64": 2}.get(MACHINE)
NUMBERS: Mapping[str, int] = (
    {} if _COLUMN is None else {row[0]: number for row in _TABLE if isinstance(number := row[_COLUMN], int)}
)
"""The numbers of system calls on this machine; empty where its architecture is unknown."""


def call(name: str, *arguments: "int | bytes | ctypes.Array[ctypes.c_char] | None") -> int:
    """Make a system call, and return its result; raise :class:`OSError` if it fails or this machine has no such call."""
    if name not in NUMBERS:
        raise OSError(38, "The system call is not known on this machine", name)  # ENOSYS
    words = [ctypes.c_long(argument) if isinstance(argument, int) else _pointer(argument) for argument in arguments]
    library = ctypes.CDLL(None, use_errno=True)
    result = int(library.syscall(ctypes.c_long(NUMBERS[name]), *words))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
    return result


def prctl(option: int, *arguments: "int | ctypes.Structure") -> int:
    """Call prctl(2), and return its result; raise :class:`OSError` if it fails."""
    words = [ctypes.c_ulong(argument) if isinstance(argument, int) else ctypes.byref(argument) for argument in arguments]
    words += [ctypes.c_ulong(0)] * (4 - len(words))
    library = ctypes.CDLL(None, use_errno=True)
    result = int(library.prctl(ctypes.c_int(option), *words))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), f"prctl {option}")
    return result


def _pointer(value: "bytes | ctypes.Array[ctypes.c_char] | None") -> object:
    return value if isinstance(value, ctypes.Array) else ctypes.c_char_p(value)
