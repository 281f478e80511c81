"""Secrets at rest: sealed with AES-256-GCM under the master key, bound to the row they belong to."""

import base64
import contextlib
import os
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from penstock import durable
from penstock.errors import DataProblem, EnvironmentProblem

__all__ = ["Sealer", "load_master_key"]

_KEY_BYTES = 32
_NONCE_BYTES = 12  # NIST SP 800-38D recommends 96 bits
_VERSION = b"\x01"


class Sealer:
    """Seals and opens small values. ``context`` names the row: a value moved to another row does not open."""

    def __init__(self, master_key: bytes) -> None:
        self._cipher = AESGCM(master_key)

    def seal(self, value: bytes, context: str) -> bytes:
        """Version, nonce and ciphertext of ``value``."""
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._cipher.encrypt(nonce, value, context.encode())

    def open(self, sealed: bytes, context: str) -> bytes:
        """The value; :class:`DataProblem` where the key is another one or the bytes were changed."""
        nonce, ciphertext = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        try:
            if sealed[:1] != _VERSION:
                raise InvalidTag
            return self._cipher.decrypt(nonce, ciphertext, context.encode())
        except (InvalidTag, ValueError):
            raise DataProblem(
                f"The stored secret of {context} cannot be decrypted.",
                remedy="The master key file is not the one it was stored with, or the row was changed: restore the file.",
            ) from None


def load_master_key(path: Path) -> bytes:
    """The 32 bytes in ``path`` (base64), made on first use, readable by the owner alone.

    Two processes that start at once get the same key: the file appears whole, and the first one wins. Raises
    :class:`EnvironmentProblem` where the file cannot be made or read, or holds no key.
    """
    try:
        if not path.exists():
            _create(path)
        key = base64.urlsafe_b64decode(path.read_bytes().strip())
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(
            f"The master key file {path} cannot be used: {error}.", remedy="Make it readable, or restore it from a backup."
        ) from error
    if len(key) != _KEY_BYTES:
        raise EnvironmentProblem(
            f"The master key file {path} holds {len(key)} bytes, not {_KEY_BYTES}.", remedy="Restore it from a backup."
        )
    return key


def _create(path: Path) -> None:
    durable.make_folder(path.parent, mode=0o700)
    with contextlib.suppress(FileExistsError), durable.writing(path, new=True) as file:
        file.write(base64.urlsafe_b64encode(os.urandom(_KEY_BYTES)) + b"\n")
