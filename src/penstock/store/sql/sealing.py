"""Secrets at rest: sealed with AES-256-GCM under a master key, bound to the row they belong to.

The master key file has one key per line, in base64. The first one seals; each unseals its own values, so that keys can be
changed while servers run (:mod:`penstock.store.sql.rotation`). A line that begins with ``+`` is a key that waits to become
the current one. A sealed value is::

    0x02, key id (8 bytes), nonce (12 bytes), ciphertext

and, from before there were key ids, ``0x01``, nonce, ciphertext.
"""

import base64
import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import Row, Table

from penstock import durable
from penstock.errors import DataProblem, EnvironmentProblem

__all__ = ["SEALED", "MasterKey", "MasterKeys", "Sealer", "key_id_of", "sealed_column"]

_KEY_BYTES = 32
_ID_BYTES = 8
_NONCE_BYTES = 12  # NIST SP 800-38D recommends 96 bits
_WITHOUT_ID = b"\x01"
_WITH_ID = b"\x02"
_WAITING = b"+"

Context = Callable[[Row[*tuple[Any, ...]]], str]

SEALED: list[tuple[Table, str, Context]] = []
"""Every column of sealed values: its table, its name, and the context that a row's value is bound to."""


def sealed_column(table: Table, name: str, context: Context) -> None:
    """Declare a column of sealed values, for rotation."""
    SEALED.append((table, name, context))


@dataclass(frozen=True, slots=True)
class MasterKey:
    """A key of 32 bytes, and its id, which sealed values carry: the beginning of a hash of the key."""

    secret: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """The id as 16 hexadecimal digits."""
        return hashlib.sha256(b"penstock master key\0" + self.secret).hexdigest()[: 2 * _ID_BYTES]

    @classmethod
    def generate(cls) -> "MasterKey":
        """Return a new random key."""
        return cls(os.urandom(_KEY_BYTES))


@dataclass(frozen=True, slots=True)
class MasterKeys:
    """The keys of a file: ``current`` seals, ``older`` unseal, ``waiting`` unseals too and becomes the next current one."""

    current: MasterKey
    older: Sequence[MasterKey] = ()
    waiting: MasterKey | None = None

    @classmethod
    def load(cls, path: Path) -> "MasterKeys":
        """Return the keys in ``path``; the file is created with one key on first use, readable only by its owner.

        Two processes that start at once get the same key: the file appears complete, and the first one wins. Raises
        :class:`EnvironmentProblem` if the file cannot be created or read, or has no key.
        """
        try:
            if not path.exists():
                durable.make_folder(path.parent, mode=0o700)
                with contextlib.suppress(FileExistsError):
                    cls(MasterKey.generate()).save(path, new=True)
            lines = path.read_bytes().split()
            keys = [MasterKey(base64.urlsafe_b64decode(line.removeprefix(_WAITING))) for line in lines]
        except (OSError, ValueError) as error:
            raise EnvironmentProblem(
                f"The master key file {path} cannot be used: {error}.",
                remedy="Make it readable, or restore it from a backup.",
            ) from error
        waiting = [key for line, key in zip(lines, keys, strict=True) if line.startswith(_WAITING)]
        sealing = [key for key in keys if key not in waiting]
        if not sealing or len(waiting) > 1 or any(len(key.secret) != _KEY_BYTES for key in keys):
            sizes = ", ".join(str(len(key.secret)) for key in keys) or "no"
            raise EnvironmentProblem(
                f"The master key file {path} holds {sizes} bytes, not {_KEY_BYTES} a line.",
                remedy="Restore it from a backup.",
            )
        return cls(sealing[0], tuple(sealing[1:]), waiting[0] if waiting else None)

    def save(self, path: Path, *, new: bool = False) -> None:
        """Write the keys to ``path`` atomically. Raises ``OSError``."""
        lines = [base64.urlsafe_b64encode(key.secret) for key in (self.current, *self.older)]
        if self.waiting is not None:
            lines.append(_WAITING + base64.urlsafe_b64encode(self.waiting.secret))
        with durable.writing(path, new=new) as file:
            file.write(b"\n".join(lines) + b"\n")

    def __iter__(self) -> Iterator[MasterKey]:
        """Return all keys, the current one first."""
        yield self.current
        yield from self.older
        if self.waiting is not None:
            yield self.waiting


class Sealer:
    """Seals and unseals small values. ``context`` names the row: a value moved to another row cannot be unsealed.

    With ``file`` the keys are read again when the file changes. Safe for threads.
    """

    def __init__(self, keys: MasterKeys | bytes, *, file: Path | None = None) -> None:
        self._file = file
        self._lock = Lock()
        self._stamp = self._stat()
        self._generation = 0
        self._use(MasterKeys(MasterKey(keys)) if isinstance(keys, bytes) else keys)

    @classmethod
    def of_file(cls, path: Path) -> "Sealer":
        """Return a sealer with the keys in ``path``; raises what :meth:`MasterKeys.load` raises."""
        sealer = cls(MasterKeys.load(path), file=path)
        # If the file changed between the two, it is read again.
        sealer._stamp = None
        return sealer

    def seal(self, value: bytes, context: str) -> bytes:
        """Return ``value`` sealed with the current key."""
        self._refresh()
        key_id, cipher = self._current
        nonce = os.urandom(_NONCE_BYTES)
        return _WITH_ID + key_id + nonce + cipher.encrypt(nonce, value, context.encode())

    def open(self, sealed: bytes, context: str) -> bytes:
        """Return the unsealed value; :class:`DataProblem` if its key is missing, or the bytes were changed."""
        if sealed[:1] == _WITH_ID:
            key_id = sealed[1 : 1 + _ID_BYTES]
            if key_id not in self._ciphers:
                self._refresh()
            ciphers = [self._ciphers[key_id]] if key_id in self._ciphers else []
            body = sealed[1 + _ID_BYTES :]
        elif sealed[:1] == _WITHOUT_ID:
            key_id, ciphers, body = b"", list(self._ciphers.values()), sealed[1:]
        else:
            key_id, ciphers, body = b"", [], b""
        for cipher in ciphers:
            with contextlib.suppress(InvalidTag, ValueError):
                return cipher.decrypt(body[:_NONCE_BYTES], body[_NONCE_BYTES:], context.encode())
        raise self._closed(context, "" if ciphers else key_id.hex())

    def is_current(self, sealed: bytes) -> bool:
        """Return whether ``sealed`` has the id of the current key."""
        self._refresh()
        return sealed.startswith(_WITH_ID + self._current[0])

    @property
    def keys(self) -> MasterKeys:
        """The current keys of the file."""
        self._refresh()
        return self._keys

    @property
    def generation(self) -> int:
        """See :class:`penstock.access.sessions.Seal`."""
        self._refresh()
        return self._generation

    def _closed(self, context: str, unknown: str) -> DataProblem:
        if not unknown:
            return DataProblem(
                f"The stored secret of {context} cannot be decrypted.",
                remedy="The master key file is not the one it was stored with, or the row was changed: restore the file.",
            )
        where = f"the master key file {self._file}" if self._file else "this process"
        return DataProblem(
            f"The stored secret of {context} cannot be decrypted: it is sealed with master key {unknown}, "
            f"which {where} lacks.",
            remedy="Copy the file from where the key was rotated, or restore it from a backup.",
        )

    def _use(self, keys: MasterKeys) -> None:
        self._keys = keys
        self._generation += 1
        self._ciphers: Mapping[bytes, AESGCM] = {bytes.fromhex(key.id): AESGCM(key.secret) for key in keys}
        current = bytes.fromhex(keys.current.id)
        self._current = (current, self._ciphers[current])

    def _stat(self) -> tuple[int, int, int] | None:
        if self._file is None:
            return None
        try:
            status = self._file.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _refresh(self) -> None:
        stamp = self._stat()
        if self._file is None or stamp is None or stamp == self._stamp:
            return
        with self._lock, contextlib.suppress(EnvironmentProblem):
            # If the file cannot be read now, the keys stay: the stored values are sealed with them.
            self._use(MasterKeys.load(self._file))
            self._stamp = stamp


def key_id_of(sealed: bytes) -> str | None:
    """Return the id of the key that a value is sealed with; None for values from before there were ids."""
    return sealed[1 : 1 + _ID_BYTES].hex() if sealed[:1] == _WITH_ID else None
