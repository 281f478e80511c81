"""Java sources of the tests, compiled by Eclipse's compiler from the locked artefacts, so that a JRE is enough."""

import os
import subprocess
from pathlib import Path

from penstock.local.artefacts import class_path
from penstock.local.java import find_java

__all__ = ["java_program"]


def java_program(source: Path, classes: Path) -> list[str]:
    """The command line to which a main class is added; ``source`` and what it needs beside it go compiled to ``classes``."""
    java = str(find_java(os.environ).executable)
    jars = os.pathsep.join(str(path) for path in class_path("serde"))
    compiler = [java, "-Xmx256m", "-cp", jars, "org.eclipse.jdt.internal.compiler.batch.Main"]
    options = ["-17", "-nowarn", "-encoding", "UTF-8", "-proc:none", "-cp", jars, "-d", str(classes)]
    options += ["-sourcepath", str(source.parent)]
    done = subprocess.run([*compiler, *options, str(source)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [java, "-Xmx256m", "-XX:+UseSerialGC", "-cp", os.pathsep.join((str(classes), jars))]
