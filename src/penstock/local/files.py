"""Small files that hold credentials or state: private, and whole or not there."""

import contextlib
import os
from pathlib import Path

__all__ = ["properties_text", "write_private"]


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, from its first byte on; readers see the old text or the new."""
    scratch = path.with_name(path.name + ".tmp")
    with contextlib.suppress(FileNotFoundError):
        scratch.unlink()
    try:
        with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        scratch.replace(path)
    except OSError as error:
        # A full disk has no name of its own.
        error.filename = str(path)
        raise


def properties_text(properties: dict[str, str]) -> str:
    """The text that java.util.Properties reads as ``properties``."""
    lines = []
    for name, value in properties.items():
        escaped = value.replace("\\", "\\\\").replace("\n", "\\n")
        lines.append(f"{name}={escaped}\n")
    return "".join(lines)
