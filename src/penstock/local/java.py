"""Finds a Java that can run the broker and Spark, or says in one line what is missing."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import EnvironmentProblem

__all__ = ["SUPPORTED", "Java", "find_java"]

# Spark 4.1 runs on these; Kafka 4 needs at least 17.
SUPPORTED = (17, 21)

# Spark does not start without it, and trimmed runtimes lack it.
_NEEDED_MODULE = "jdk.incubator.vector"
_PROBE_TIMEOUT = 30  # seconds; a cold start from a slow disk takes a few

_REMEDY = (
    "Install Java 17 or 21 (Debian and Ubuntu: apt install openjdk-17-jre-headless; Fedora: dnf install "
    "java-21-openjdk-headless; macOS: brew install openjdk@21) and put it on the PATH, or set JAVA_HOME to it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A usable Java: the path of its ``java``, its home folder, its feature release (17, 21)."""

    executable: Path
    home: Path
    release: int


def find_java(environment: Mapping[str, str]) -> Java:
    """Return the Java of ``JAVA_HOME``, else of ``PATH``; :class:`EnvironmentProblem` if it is missing or unsuitable.

    With an unsuitable JAVA_HOME, the PATH is not searched: Spark would use JAVA_HOME anyway.
    """
    if home := environment.get("JAVA_HOME"):
        executable = Path(home) / "bin" / "java"
        where = f"JAVA_HOME ({home})"
        if not executable.is_file():
            raise EnvironmentProblem(f"JAVA_HOME is {home}, which has no bin/java.", remedy=_REMEDY)
    else:
        java = shutil.which("java", path=environment.get("PATH"))
        if java is None:
            raise EnvironmentProblem("Java is needed, and neither JAVA_HOME nor the PATH has one.", remedy=_REMEDY)
        executable, where = Path(java), f"the PATH ({java})"
    return _probe(executable, where, environment)


def _probe(executable: Path, where: str, environment: Mapping[str, str]) -> Java:
    described = _run([str(executable), "-XshowSettings:properties", "-version"], where, environment)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", described, re.MULTILINE)
    home = re.search(r"^\s*java\.home = (.+)$", described, re.MULTILINE)
    if version is None or home is None:
        raise EnvironmentProblem(f"The java of {where} does not print its version.", remedy=_REMEDY)
    release = int(version[1])
    if release not in SUPPORTED:
        supported = " or ".join(str(number) for number in SUPPORTED)
        age = "too old" if release < min(SUPPORTED) else "not supported by Spark 4.1"
        raise EnvironmentProblem(
            f"Java {supported} is needed, and {where} is Java {release}, which is {age}.", remedy=_REMEDY
        )
    modules = _run([str(executable), "--list-modules"], where, environment)
    if not re.search(rf"^{re.escape(_NEEDED_MODULE)}\b", modules, re.MULTILINE):
        raise EnvironmentProblem(
            f"The Java {release} of {where} is a trimmed runtime without {_NEEDED_MODULE}; Spark will not start on it.",
            remedy=_REMEDY,
        )
    return Java(executable=executable, home=Path(home[1].strip()), release=release)


def _run(command: list[str], where: str, environment: Mapping[str, str]) -> str:
    """Return the output of the command, stdout and stderr together."""
    try:
        result = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            timeout=_PROBE_TIMEOUT,
            env=dict(environment),
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentProblem(
            f"The java of {where} did not answer '{command[-1]}' within {_PROBE_TIMEOUT} s.", remedy=_REMEDY
        ) from None
    except (OSError, subprocess.CalledProcessError) as error:
        # On macOS /usr/bin/java exists without a Java, and fails with a message.
        output = error.stdout.decode(errors="replace").strip().partition("\n")[0] if hasattr(error, "stdout") else str(error)
        raise EnvironmentProblem(f"The java of {where} does not run: {output[:200]}.", remedy=_REMEDY) from error
    return result.stdout.decode(errors="replace")
