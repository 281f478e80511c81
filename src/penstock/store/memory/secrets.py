"""Secrets in memory."""

import threading
from collections.abc import Sequence
from dataclasses import replace

from penstock.secrets.errors import SecretChanged, SecretExists
from penstock.secrets.model import Secret, SecretValue

__all__ = ["MemorySecretStore"]


class MemorySecretStore:
    """A :class:`~penstock.secrets.model.SecretStore` in memory."""

    def __init__(self) -> None:
        self._secrets: dict[str, Secret] = {}
        self._lock = threading.Lock()

    def by_arn(self, arn: str) -> Secret | None:
        return self._secrets.get(arn)

    def by_name(self, account: str, name: str) -> Secret | None:
        with self._lock:
            return self._named(account, name)

    def list(self, account: str) -> Sequence[Secret]:
        with self._lock:
            mine = [secret for secret in self._secrets.values() if secret.account == account]
        bare = SecretValue()
        return [
            replace(secret, versions=tuple(replace(version, value=bare) for version in secret.versions))
            for secret in sorted(mine, key=lambda secret: (secret.created, secret.arn))
        ]

    def policy(self, arn: str) -> str | None:
        found = self._secrets.get(arn)
        return None if found is None else found.policy

    def create(self, secret: Secret) -> None:
        with self._lock:
            if self._named(secret.account, secret.name) is not None:
                raise SecretExists(f"The operation failed because the secret {secret.name} already exists.")
            self._secrets[secret.arn] = secret

    def replace(self, secret: Secret) -> None:
        with self._lock:
            stored = self._secrets.get(secret.arn)
            if stored is None or stored.revision != secret.revision:
                raise SecretChanged(f"Secret {secret.name} was changed by somebody else.")
            self._secrets[secret.arn] = replace(secret, revision=secret.revision + 1)

    def purge(self, arn: str) -> None:
        with self._lock:
            self._secrets.pop(arn, None)

    def _named(self, account: str, name: str) -> Secret | None:
        for secret in self._secrets.values():
            if secret.account == account and secret.name == name:
                return secret
        return None
