"""Versions and staging labels as pure functions on a secret.

Source: AWS Secrets Manager user guide, "What's in a secret": a label is on one version at a time; when AWSCURRENT moves, the
version it leaves gets AWSPREVIOUS; versions without labels may be deleted.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from penstock.secrets.errors import (
    InvalidSecretParameter,
    InvalidSecretRequest,
    SecretExists,
    SecretLimitExceeded,
    SecretNotFound,
)
from penstock.secrets.model import Secret, SecretValue, SecretVersion

__all__ = ["CURRENT", "PENDING", "PREVIOUS", "find_version", "with_pending", "with_stage_moved", "with_version"]

CURRENT = "AWSCURRENT"
PREVIOUS = "AWSPREVIOUS"
PENDING = "AWSPENDING"

_MAX_LABELS = 20  # staging labels a secret
_MAX_VERSIONS = 100


def with_version(
    secret: Secret, *, token: str, value: SecretValue, stages: Sequence[str], now: datetime
) -> tuple[Secret, SecretVersion]:
    """Return ``secret`` with the version ``token`` of ``value`` with the labels ``stages``; unchanged if it has it already.

    Raises :class:`SecretExists` if the token is that of a version with another value.
    """
    for version in secret.versions:
        if version.id == token:
            if version.value == SecretValue():
                # Of a rotation, which makes this version current later.
                versions = _filled(secret.versions, token, value, frozenset(stages))
                filled = replace(secret, versions=versions, changed=now)
                return filled, next(secret_version for secret_version in versions if secret_version.id == token)
            if version.value != value:
                raise SecretExists(
                    f"You can't use ClientRequestToken {token} because that value is already in use for a version of "
                    f"secret {secret.arn}."
                )
            return secret, version
    labels = frozenset(stages) if secret.versions else frozenset(stages) | {CURRENT}
    created = SecretVersion(id=token, value=value, stages=labels, created=now)
    after = [*_without(secret.versions, labels), created]
    _check_labels(secret, after)
    return replace(secret, versions=_trimmed(secret, after), changed=now), created


def with_pending(secret: Secret, token: str, *, now: datetime) -> Secret:
    """Return ``secret`` with a version ``token`` that has the label AWSPENDING and no value yet: a rotation begins.

    Raises :class:`InvalidSecretRequest` during another rotation, or if the token is that of a version with a value.
    """
    for version in secret.versions:
        if PENDING in version.stages and CURRENT not in version.stages:
            if version.id == token:
                return secret
            raise InvalidSecretRequest(
                "A previous rotation isn't complete. That rotation will be reattempted.",
                remedy=f"To end it, remove {PENDING} from version {version.id} with UpdateSecretVersionStage.",
            )
    if any(version.id == token for version in secret.versions):
        raise InvalidSecretRequest(f"You can't use ClientRequestToken {token}: a version has it already.")
    created = SecretVersion(id=token, value=SecretValue(), stages=frozenset({PENDING}), created=now)
    versions = [*_without(secret.versions, frozenset({PENDING})), created]
    _check_labels(secret, versions)
    return replace(secret, versions=_trimmed(secret, versions))


def with_stage_moved(secret: Secret, stage: str, *, remove_from: str | None, move_to: str | None, now: datetime) -> Secret:
    """Return ``secret`` with the label ``stage`` on the version ``move_to``, or on none; unchanged if it is there already.

    Source: Secrets Manager API reference, UpdateSecretVersionStage. Raises :class:`InvalidSecretParameter` unless
    ``remove_from`` is the version that has the label, and for AWSCURRENT without ``move_to``;
    :class:`SecretNotFound` for a version that does not exist.
    """
    if move_to is None and remove_from is None:
        raise InvalidSecretParameter("You must provide RemoveFromVersionId, MoveToVersionId, or both.")
    holder = next((version for version in secret.versions if stage in version.stages), None)
    for named_version in (remove_from, move_to):
        if named_version is not None and all(version.id != named_version for version in secret.versions):
            raise SecretNotFound(f"Secrets Manager can't find the specified secret version: {named_version}.")
    if holder is not None and holder.id == move_to:
        return secret
    if remove_from is not None and (holder is None or holder.id != remove_from):
        raise InvalidSecretParameter(f"Staging label {stage} is not attached to version {remove_from}.")
    if holder is not None and remove_from is None:
        raise InvalidSecretParameter(
            f"The parameter RemoveFromVersionId can't be empty. Staging label {stage} is currently attached to version "
            f"{holder.id}, so you must explicitly reference that version in RemoveFromVersionId."
        )
    if stage == CURRENT and move_to is None:
        raise InvalidSecretParameter(
            f"You can only move staging label {CURRENT} to a different secret version. It can't be completely removed."
        )
    versions = _without(secret.versions, frozenset({stage}))
    moved = [
        replace(secret_version, stages=secret_version.stages | {stage}) if secret_version.id == move_to else secret_version
        for secret_version in versions
    ]
    _check_labels(secret, moved)
    return replace(secret, versions=tuple(moved), changed=now)


def find_version(secret: Secret, *, version_id: str | None, stage: str | None) -> SecretVersion:
    """Return the version by id, by label, or the current one.

    Raises :class:`SecretNotFound`, and :class:`InvalidSecretRequest` if id and label are of different versions.
    """
    if version_id is not None:
        for version in secret.versions:
            if version.id == version_id:
                if stage is not None and stage not in version.stages:
                    raise InvalidSecretRequest(
                        "You provided a VersionStage that is not associated to the provided VersionId."
                    )
                return version
        raise SecretNotFound(f"Secrets Manager can't find the specified secret value for VersionId: {version_id}")
    label = stage or CURRENT
    for version in secret.versions:
        if label in version.stages:
            return version
    raise SecretNotFound(f"Secrets Manager can't find the specified secret value for staging label: {label}")


def _filled(
    versions: Sequence[SecretVersion], token: str, value: SecretValue, stages: frozenset[str]
) -> tuple[SecretVersion, ...]:
    others = [
        version if version.id == token else moved
        for version, moved in zip(versions, _without(versions, stages), strict=True)
    ]
    return tuple(
        replace(secret_version, value=value, stages=secret_version.stages | stages)
        if secret_version.id == token
        else secret_version
        for secret_version in others
    )


def _check_labels(secret: Secret, versions: Sequence[SecretVersion]) -> None:
    if len(frozenset().union(*(version.stages for version in versions))) > _MAX_LABELS:
        raise SecretLimitExceeded(f"Secret {secret.name} would have more than {_MAX_LABELS} staging labels.")


def _without(versions: Sequence[SecretVersion], labels: frozenset[str]) -> list[SecretVersion]:
    """Return the versions without ``labels``; the one that loses AWSCURRENT becomes AWSPREVIOUS."""
    others = []
    for version in versions:
        stages = version.stages - labels
        if CURRENT in labels:
            was_current = CURRENT in version.stages
            stages = stages | {PREVIOUS} if was_current and PREVIOUS not in labels else stages - {PREVIOUS}
        others.append(replace(version, stages=stages))
    return others


def _trimmed(secret: Secret, versions: Sequence[SecretVersion]) -> tuple[SecretVersion, ...]:
    surplus = len(versions) - _MAX_VERSIONS
    if surplus <= 0:
        return tuple(versions)
    droppable = [version.id for version in versions if not version.stages][:surplus]
    if len(droppable) < surplus:
        raise SecretLimitExceeded(f"Secret {secret.name} would have more than {_MAX_VERSIONS} labelled versions.")
    return tuple(version for version in versions if version.id not in droppable)
