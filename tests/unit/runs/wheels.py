"""Wheels that tests install."""

import base64
import hashlib
import zipfile
from pathlib import Path

__all__ = ["wheel"]


def wheel(folder: Path, name: str, version: str, *, text: str = "", needs: str = "") -> Path:
    """Write a wheel with one module, as any tool builds it."""
    folder.mkdir(parents=True, exist_ok=True)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + (f"Requires-Dist: {needs}\n" if needs else "")
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": text or f"VERSION = '{version}'\n",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {
        path: base64.urlsafe_b64encode(hashlib.sha256(file.encode()).digest()).rstrip(b"=").decode()
        for path, file in files.items()
    }
    record = "".join(f"{path},sha256={digests[path]},{len(file)}\n" for path, file in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    made = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for path, file in files.items():
            archive.writestr(zipfile.ZipInfo(path), file)
    return made
