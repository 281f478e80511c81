"""Access keys in memory."""

import threading

from penstock.access.keys import AccessKey, AccessKeyExists, AccessKeyNotFound

__all__ = ["MemoryAccessStore"]


class MemoryAccessStore:
    """An :class:`~penstock.access.keys.AccessStore` that forgets with its process."""

    def __init__(self) -> None:
        self._keys: dict[str, AccessKey] = {}
        self._lock = threading.Lock()

    def get(self, access_key_id: str) -> AccessKey | None:
        return self._keys.get(access_key_id)

    def add(self, key: AccessKey) -> None:
        with self._lock:
            if key.access_key_id in self._keys:
                raise AccessKeyExists(f"Access key {key.access_key_id} already exists.")
            self._keys[key.access_key_id] = key

    def put(self, key: AccessKey) -> None:
        with self._lock:
            self._keys[key.access_key_id] = key

    def remove(self, access_key_id: str) -> None:
        with self._lock:
            if self._keys.pop(access_key_id, None) is None:
                raise AccessKeyNotFound(f"The Access Key with id {access_key_id} cannot be found.")

    def list(self, account: str) -> list[AccessKey]:
        with self._lock:
            return sorted((key for key in self._keys.values() if key.account == account), key=lambda key: key.access_key_id)
