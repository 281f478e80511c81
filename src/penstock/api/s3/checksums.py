"""The checksums that clients send with objects: CRC-32, CRC-32C, CRC-64/NVME, SHA-1 and SHA-256, in base64.

Source: Amazon S3 user guide, "Checking object integrity in Amazon S3".
"""

import base64
import hashlib
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from penstock.lake.objects.errors import S3Error

__all__ = ["ALGORITHMS", "Checksum", "composite", "declared_checksums", "header_of"]

ALGORITHMS = ("CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256")
_SIZES = {"CRC32": 4, "CRC32C": 4, "CRC64NVME": 8, "SHA1": 20, "SHA256": 32}
_MODELS = {"CRC32C": "CRC32-ISCSI", "CRC64NVME": "CRC64-NVME"}


@lru_cache(maxsize=4)
def _model(name: str) -> Any:
    from anycrc import Model  # noqa: PLC0415 -- few clients ask for these

    return Model(_MODELS[name])


class Checksum:
    """One checksum of bytes that come in pieces."""

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        self._size = _SIZES[algorithm]
        self._hash = hashlib.new(algorithm.lower(), usedforsecurity=False) if algorithm.startswith("SHA") else None
        self._value: int | None = None
        self._step: Callable[[bytes, int | None], int] | None = None
        if algorithm in _MODELS:
            model = _model(algorithm)
            self._step = lambda data, value: model.calc(data) if value is None else model.calc(data, value)
        elif algorithm == "CRC32":
            self._step = lambda data, value: zlib.crc32(data, value or 0)

    def update(self, data: bytes) -> None:
        """Add bytes."""
        if self._hash is not None:
            self._hash.update(data)
        elif data and self._step is not None:
            self._value = self._step(data, self._value)

    def text(self) -> str:
        """The checksum: its bytes, most significant first, in base64."""
        raw = self._hash.digest() if self._hash is not None else (self._value or 0).to_bytes(self._size, "big")
        return base64.b64encode(raw).decode()


def header_of(algorithm: str) -> str:
    """Return the name of the header of a checksum."""
    return f"x-amz-checksum-{algorithm.lower()}"


def declared_checksums(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the checksums in headers, by algorithm; raise :class:`S3Error` if one has the wrong length."""
    checksums = {}
    for algorithm in ALGORITHMS:
        value = headers.get(header_of(algorithm))
        if value is None:
            continue
        try:
            good = len(base64.b64decode(value.strip(), validate=True)) == _SIZES[algorithm]
        except ValueError:
            good = False
        if not good:
            raise S3Error("InvalidRequest", f"Value for {header_of(algorithm)} header is invalid.")
        checksums[algorithm] = value.strip()
    return checksums


def composite(algorithm: str, parts: Iterable[str]) -> str:
    """Return the checksum of the parts' checksums, with the number of parts."""
    digests = [base64.b64decode(part) for part in parts]
    whole = Checksum(algorithm)
    whole.update(b"".join(digests))
    return f"{whole.text()}-{len(digests)}"
