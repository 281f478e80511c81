"""What any program of this machine needs to read: the system's libraries, parts of /etc, devices, this interpreter."""

import os
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path

import penstock

__all__ = ["DEVICES", "java_home", "needed_files"]

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
# Not the whole folder: /etc/shadow, keys of hosts and of services belong to the server's user where that is root.
_SETTINGS = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "alternatives", "os-release", "debian_version"),
    *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "resolv.conf", "gai.conf", "services", "protocols"),
    *("localtime", "timezone", "locale.alias", "locale.conf", "default/locale", "mime.types", "magic", "fonts"),
    *("ssl/certs", "ssl/openssl.cnf", "ssl/cert.pem", "ca-certificates", "ca-certificates.conf", "crypto-policies"),
    *("pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "pki/ca-trust", "pki/java", "krb5.conf"),
)
_JAVA_SETTINGS = ("java*", ".java")  # Debian's and Fedora's runtimes have their settings there
_KERNEL = ("/proc", "/sys/fs/cgroup", "/sys/devices/system", "/sys/kernel/mm/transparent_hugepage")
DEVICES = tuple(Path("/dev", name) for name in ("null", "zero", "full", "random", "urandom"))
"""Files of devices that every program may read and write."""


def needed_files(environment: Mapping[str, str], *further: Path) -> tuple[Path, ...]:
    """Return the files and folders that Python and Java need to run here, and ``further``, without repetitions.

    ``environment`` is that of the program: certificates' files and JAVA_HOME are named there.
    """
    variables = (
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "AWS_CA_BUNDLE",
        "PENSTOCK_CA_FILE",
    )
    folders = [
        *map(Path, (*_SYSTEM, *_KERNEL)),
        *(Path("/etc", name) for name in _SETTINGS),
        *(path for pattern in _JAVA_SETTINGS for path in Path("/etc").glob(pattern)),
        *_python(),
        *(Path(environment[name]) for name in variables if environment.get(name)),
        *further,
    ]
    java = java_home(environment)
    return tuple(dict.fromkeys([*folders, *([] if java is None else [java])]))


def java_home(environment: Mapping[str, str]) -> Path | None:
    """Return the folder of the Java that programs find, None if there is none."""
    if environment.get("JAVA_HOME"):
        return Path(environment["JAVA_HOME"]).resolve()
    for folder in environment.get("PATH", "").split(os.pathsep):
        if folder and (program := Path(folder, "java")).is_file():
            return program.resolve().parent.parent
    return None


def _python() -> Iterable[Path]:
    """Yield the folders of this interpreter and its modules; not the working directory."""
    yield from (Path(sys.prefix), Path(sys.base_prefix), Path(sysconfig.get_path("stdlib")))
    yield Path(sys.executable).resolve()
    yield Path(penstock.__file__).parent
    here = Path.cwd()
    yield from (path for name in sys.path if name and (path := Path(name)).exists() and path.resolve() != here)
