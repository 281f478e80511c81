"""Secrets Manager's rules over a :class:`~penstock.secrets.model.SecretStore`."""

import contextlib
import re
import secrets
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from penstock.errors import InvalidInput, StorageFull
from penstock.names import arn, parse_arn
from penstock.secrets.errors import (
    InvalidSecretName,
    InvalidSecretParameter,
    InvalidSecretRequest,
    SecretChanged,
    SecretExists,
    SecretLimitExceeded,
    SecretNotFound,
)
from penstock.secrets.model import Rotation, Secret, SecretStore, SecretValue, SecretVersion
from penstock.secrets.schedules import check_rules
from penstock.secrets.versions import CURRENT, PENDING, find_version, with_pending, with_stage_moved, with_version

__all__ = ["SecretsService"]

_NAME = re.compile(r"[A-Za-z0-9/_+=.@!-]{1,512}", re.ASCII)
_SUFFIX = string.ascii_letters + string.digits
_RECOVERY_DAYS = 30
_ATTEMPTS = 10
_MAX_TAGS = 50
_MARKED = "You can't perform this operation on the secret because it was marked for deletion."


class SecretsService:
    """Create, read, change, delete and restore secrets of one region.

    ``now`` is the clock (aware UTC). A change that lost a race is applied again to the new state.
    """

    def __init__(self, store: SecretStore, *, region: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._region = region
        self._now = now

    def create(
        self,
        account: str,
        name: str,
        *,
        value: SecretValue | None = None,
        token: str | None = None,
        description: str | None = None,
        kms_key_id: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> tuple[Secret, SecretVersion | None]:
        """Create a secret; return it and its first version (None without a value). A repeated call returns the stored ones.

        Raises :class:`SecretExists`, :class:`InvalidSecretName` or, while a deleted secret of the name can still be
        restored, :class:`InvalidSecretRequest`.
        """
        if _NAME.fullmatch(name) is None:
            raise InvalidSecretName(
                "Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@!"
            )
        existing = self._alive(self._store.by_name(account, name))
        if existing is not None:
            return self._created_before(existing, value, token)
        now = self._now()
        suffix = "".join(secrets.choice(_SUFFIX) for _ in range(6))
        secret = Secret(
            arn=arn("secretsmanager", self._region, account, f"secret:{name}-{suffix}"),
            account=account,
            name=name,
            created=now,
            changed=now,
            description=description,
            kms_key_id=kms_key_id,
            tags=_checked_tags(tags or {}),
        )
        version = None
        if value is not None:
            secret, version = with_version(secret, token=token or str(uuid4()), value=value, stages=[CURRENT], now=now)
        try:
            self._store.create(secret)
        except SecretExists:
            winner = self._store.by_name(account, name)
            if winner is None:
                raise
            return self._created_before(winner, value, token)
        return secret, version

    def value(
        self, account: str, secret_id: str, *, version_id: str | None = None, stage: str | None = None
    ) -> tuple[Secret, SecretVersion]:
        """Return the secret and the requested version, by default the current one."""
        secret = self._usable(account, secret_id)
        version = find_version(secret, version_id=version_id, stage=stage)
        if version.value == SecretValue():
            raise SecretNotFound(f"Secrets Manager can't find the specified secret value for VersionId: {version.id}")
        self._note_access(secret)
        return secret, version

    def describe(self, account: str, secret_id: str) -> Secret:
        """Return the secret, also if it is marked for deletion. Raises :class:`SecretNotFound`."""
        secret = self._find(account, secret_id)
        if secret is None:
            raise SecretNotFound("Secrets Manager can't find the specified secret.")
        return secret

    def list(self, account: str, *, include_deleted: bool = False) -> Sequence[Secret]:
        """Return the account's secrets, oldest first, without values."""
        now = self._now()
        return [
            secret
            for secret in self._store.list(account)
            if secret.deletion is None or (include_deleted and secret.deletion > now)
        ]

    def put(
        self, account: str, secret_id: str, value: SecretValue, *, token: str | None = None, stages: Sequence[str] = ()
    ) -> tuple[Secret, SecretVersion]:
        """Add a version with the labels ``stages`` (AWSCURRENT by default)."""
        chosen = token or str(uuid4())

        def change(secret: Secret) -> Secret:
            return with_version(secret, token=chosen, value=value, stages=stages or [CURRENT], now=self._now())[0]

        secret = self._change(account, secret_id, change)
        return secret, find_version(secret, version_id=chosen, stage=None)

    def update(
        self,
        account: str,
        secret_id: str,
        *,
        value: SecretValue | None = None,
        token: str | None = None,
        description: str | None = None,
        kms_key_id: str | None = None,
    ) -> tuple[Secret, SecretVersion | None]:
        """Change the secret's details and, if a value is given, add a new current version."""
        chosen = token or str(uuid4())

        def change(secret: Secret) -> Secret:
            now = self._now()
            changed = replace(
                secret,
                changed=now,
                description=secret.description if description is None else description,
                kms_key_id=secret.kms_key_id if kms_key_id is None else kms_key_id,
            )
            if value is not None:
                changed, _ = with_version(changed, token=chosen, value=value, stages=[CURRENT], now=now)
            return changed

        secret = self._change(account, secret_id, change)
        return secret, None if value is None else find_version(secret, version_id=chosen, stage=None)

    def rotate(
        self,
        account: str,
        secret_id: str,
        *,
        function: str | None,
        token: str | None,
        rules: Mapping[str, Any] | None = None,
        now: bool = True,
    ) -> tuple[Secret, str]:
        """Begin a rotation by ``function`` (an ARN) or the previous one; return the secret and the new version's id.

        The new version has the label AWSPENDING and no value, which the function puts; there is none unless ``now``.
        ``rules`` say when the next ones are due; without them, those of before go on. Raises
        :class:`InvalidSecretRequest` if no function is known, or during a rotation, :class:`InvalidSecretParameter`.
        """
        chosen = token or str(uuid4())
        if rules is not None:
            check_rules(rules)

        def change(secret: Secret) -> Secret:
            before, moment = secret.rotation, self._now()
            arn = function or (before.function if before else None)
            if arn is None:
                raise InvalidSecretRequest("No Lambda rotation function ARN is associated with this secret.")
            begun = with_pending(secret, chosen, now=moment) if now else replace(secret, changed=moment)
            rotation = replace(before, function=arn, enabled=True) if before else Rotation(function=arn)
            if rules is not None:
                rotation = replace(rotation, rules=dict(rules), since=moment)
            return replace(begun, rotation=rotation)

        return self._change(account, secret_id, change), chosen

    def cancel_rotation(self, account: str, secret_id: str) -> Secret:
        """End the rotation of the secret; labels do not change. Raises :class:`InvalidSecretRequest` if it has none."""

        def change(secret: Secret) -> Secret:
            if secret.rotation is None:
                raise InvalidSecretRequest("You tried to enable rotation on a secret that doesn't have one configured.")
            return replace(secret, rotation=replace(secret.rotation, enabled=False))

        return self._change(account, secret_id, change)

    def move_stage(
        self, account: str, secret_id: str, stage: str, *, remove_from: str | None = None, move_to: str | None = None
    ) -> Secret:
        """Move a staging label between versions. Raises the errors of :func:`with_stage_moved`."""

        def change(secret: Secret) -> Secret:
            now = self._now()
            moved = with_stage_moved(secret, stage, remove_from=remove_from, move_to=move_to, now=now)
            pending = any(version.id == move_to and PENDING in version.stages for version in secret.versions)
            if moved is not secret and stage == CURRENT and pending and moved.rotation is not None:
                # The last step of a rotation.
                return replace(moved, rotation=replace(moved.rotation, rotated=now))
            return moved

        return self._change(account, secret_id, change)

    def policy(self, arn: str) -> str | None:
        """Return the resource policy of a secret by its full ARN; None if it has none."""
        return self._store.policy(arn)

    def put_policy(self, account: str, secret_id: str, text: str | None) -> Secret:
        """Replace the resource policy, which was checked; None removes it."""
        return self._change(account, secret_id, lambda secret: replace(secret, policy=text))

    def tag(self, account: str, secret_id: str, *, add: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> None:
        """Add or replace tags, and remove some."""

        def change(secret: Secret) -> Secret:
            tags = {**secret.tags, **(add or {})}
            return replace(
                secret,
                tags=_checked_tags({key: text for key, text in tags.items() if key not in remove}),
                changed=self._now(),
            )

        self._change(account, secret_id, change)

    def delete(
        self, account: str, secret_id: str, *, recovery_days: int | None = None, force: bool = False
    ) -> tuple[str, str, datetime]:
        """Mark for deletion, or with ``force`` delete at once; return the ARN, the name and the time of deletion.

        ``recovery_days`` is 7 to 30, by default 30. With ``force`` a secret that does not exist is not an error.
        """
        if force and recovery_days is not None:
            raise InvalidSecretParameter(
                "You can't use ForceDeleteWithoutRecovery in conjunction with RecoveryWindowInDays."
            )
        if recovery_days is not None and not 7 <= recovery_days <= 30:
            raise InvalidSecretParameter("The RecoveryWindowInDays value must be between 7 and 30 days (inclusive).")
        now = self._now()
        if force:
            secret = self._find(account, secret_id)
            if secret is None:
                return self._absent(account, secret_id, now)
            self._store.purge(secret.arn)
            return secret.arn, secret.name, now
        goes = now + timedelta(days=recovery_days or _RECOVERY_DAYS)
        secret = self._change(account, secret_id, lambda secret: replace(secret, deletion=goes))
        return secret.arn, secret.name, goes

    def restore(self, account: str, secret_id: str) -> Secret:
        """Remove the mark for deletion."""
        return self._change(account, secret_id, lambda secret: replace(secret, deletion=None), even_deleted=True)

    def _change(
        self, account: str, secret_id: str, change: Callable[[Secret], Secret], *, even_deleted: bool = False
    ) -> Secret:
        for _ in range(_ATTEMPTS):
            secret = self.describe(account, secret_id) if even_deleted else self._usable(account, secret_id)
            changed = change(secret)
            if changed is secret:
                return secret
            try:
                self._store.replace(changed)
            except SecretChanged:
                continue
            return changed
        raise SecretChanged(f"Secret {secret_id[:200]} is being changed by too many callers at once.", remedy="Try again.")

    def _usable(self, account: str, secret_id: str) -> Secret:
        secret = self.describe(account, secret_id)
        if secret.deletion is not None:
            raise InvalidSecretRequest(
                _MARKED, remedy=f"RestoreSecret removes the mark until {secret.deletion.isoformat(timespec='seconds')}."
            )
        return secret

    def _find(self, account: str, secret_id: str) -> Secret | None:
        """Find a secret by name, whole ARN, or ARN without the six random characters."""
        if not secret_id.startswith("arn:"):
            return self._alive(self._store.by_name(account, secret_id))
        secret = self._store.by_arn(secret_id)
        if secret is not None:
            return self._alive(secret) if secret.account == account else None
        try:
            parts = parse_arn(secret_id)
        except InvalidInput:
            return None
        resource_type, _, name = parts.resource.partition(":")
        if (parts.service, parts.region, parts.account, resource_type) != (
            "secretsmanager",
            self._region,
            account,
            "secret",
        ):
            return None
        return self._alive(self._store.by_name(account, name))

    def _alive(self, secret: Secret | None) -> Secret | None:
        """Return the secret; delete it and return None if its recovery window has passed."""
        if secret is None or secret.deletion is None or secret.deletion > self._now():
            return secret
        self._store.purge(secret.arn)
        return None

    def _absent(self, account: str, secret_id: str, now: datetime) -> tuple[str, str, datetime]:
        if secret_id.startswith("arn:"):
            return secret_id, secret_id.rpartition(":")[2], now
        return arn("secretsmanager", self._region, account, f"secret:{secret_id}"), secret_id, now

    def _created_before(
        self, existing: Secret, value: SecretValue | None, token: str | None
    ) -> tuple[Secret, SecretVersion | None]:
        if existing.deletion is not None:
            raise InvalidSecretRequest(
                "You can't create this secret because a secret with this name is already scheduled for deletion.",
                remedy="Restore it, or delete it with ForceDeleteWithoutRecovery.",
            )
        for version in existing.versions:
            if token is not None and version.id == token and version.value == value:
                return existing, version
        raise SecretExists(f"The operation failed because the secret {existing.name} already exists.")

    def _note_access(self, secret: Secret) -> None:
        # AWS stores only the day, so that a read writes at most once a day.
        today = self._now().replace(hour=0, minute=0, second=0, microsecond=0)
        if secret.accessed is None or secret.accessed < today:
            # A read succeeds also if the disk is full.
            with contextlib.suppress(SecretChanged, StorageFull):
                self._store.replace(replace(secret, accessed=today))


def _checked_tags(tags: Mapping[str, str]) -> dict[str, str]:
    if len(tags) > _MAX_TAGS:
        raise SecretLimitExceeded(f"A secret may have {_MAX_TAGS} tags, not {len(tags)}.")
    for key in tags:
        if key.lower().startswith("aws:"):
            raise InvalidSecretParameter(f"Tag key '{key[:128]}' is reserved: it starts with aws:.")
    return dict(tags)
