"""Small files with credentials or state: private, and complete or missing."""

from pathlib import Path

from penstock import durable

__all__ = ["properties_text", "write_private"]


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read from the start; readers see the old text or the new one."""
    with durable.writing(path) as file:
        file.write(text.encode())


def properties_text(properties: dict[str, str]) -> str:
    """Return the text that java.util.Properties reads as ``properties``."""
    lines = []
    for name, value in properties.items():
        escaped = value.replace("\\", "\\\\").replace("\n", "\\n")
        lines.append(f"{name}={escaped}\n")
    return "".join(lines)
