"""Listing of secrets: filters, orders and pages.

Source: Secrets Manager API reference, ``Filter`` and ``ListSecrets``; user guide, "Find secrets in AWS Secrets Manager".
A name or a tag matches if it begins with the value, case-sensitively. A description, and all attributes under the key
``all``, are matched by words: each word of the value has to begin a word of one attribute, in any order and any case.
"""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from penstock.paging import InvalidToken, Page, page_of
from penstock.secrets.errors import InvalidSecretParameter, InvalidSecretToken
from penstock.secrets.model import Secret, SecretVersion

__all__ = ["matching", "page_of_secrets", "page_of_versions"]

_BREAKS = re.compile(r"[\s/_+=.@!,;:-]+")
_EARLIEST = datetime.min.replace(tzinfo=UTC)

_PREFIXED: Mapping[str, Callable[[Secret], Sequence[str]]] = {
    "name": lambda secret: [secret.name],
    "tag-key": lambda secret: list(secret.tags),
    "tag-value": lambda secret: list(secret.tags.values()),
    # Attributes that no secret has here: there is one region, and no service creates secrets of its own.
    "primary-region": lambda _secret: [],
    "owning-service": lambda _secret: [],
}
_WORDED: Mapping[str, Callable[[Secret], Sequence[str]]] = {
    "description": lambda secret: [secret.description or ""],
    "all": lambda secret: [secret.name, secret.description or "", *secret.tags, *secret.tags.values()],
}
_SORTED: Mapping[str, Callable[[Secret], str]] = {
    "created-date": lambda secret: _sortable(secret.created),
    "last-accessed-date": lambda secret: _sortable(secret.accessed),
    "last-changed-date": lambda secret: _sortable(secret.changed),
    "name": lambda secret: secret.name,
}


def matching(secrets: Sequence[Secret], filters: Sequence[Mapping[str, Any]]) -> list[Secret]:
    """Return secrets that match every filter; raise :class:`InvalidSecretParameter` for one without a key or values."""
    for filter_ in filters:
        if "Key" not in filter_:
            raise InvalidSecretParameter("Invalid filter key")
        if not filter_.get("Values"):
            raise InvalidSecretParameter("Invalid filter values")
    return [secret for secret in secrets if all(_fits(secret, filter_["Key"], filter_["Values"]) for filter_ in filters)]


def page_of_secrets(
    secrets: Sequence[Secret], *, token: str | None, size: int, sort_by: str | None = None, order: str | None = None
) -> tuple[list[Secret], str | None]:
    """Return up to ``size`` secrets after ``token``, and the next token; raise :class:`InvalidSecretToken`.

    The default of ``sort_by`` is created-date, the default of ``order`` is asc.
    """
    key = sort_by or "created-date"
    descending = order == "desc"

    def position(secret: Secret) -> tuple[str, str]:
        return _SORTED[key](secret), secret.arn

    listing = f"{key} {'desc' if descending else 'asc'}"
    ordered = sorted(secrets, key=position, reverse=descending)
    after = _read_token(listing, token)
    if after is not None:
        ordered = [secret for secret in ordered if (position(secret) < after if descending else position(secret) > after)]
    shown = ordered[:size]
    return shown, _token(listing, *position(shown[-1])) if len(ordered) > size else None


def page_of_versions(
    secret: Secret, versions: Sequence[SecretVersion], *, token: str | None, size: int
) -> Page[SecretVersion]:
    """Return up to ``size`` of a secret's ``versions`` after ``token``, oldest first; raise :class:`InvalidSecretToken`."""

    def position(version: SecretVersion) -> str:
        return f"{_sortable(version.created)} {version.id}"

    try:
        return page_of(f"versions:{secret.arn}", token, size, sorted(versions, key=position), position)
    except InvalidToken:
        raise InvalidSecretToken("The NextToken value is invalid.", remedy="Start the listing again.") from None


def _fits(secret: Secret, key: str, values: Sequence[str]) -> bool:
    """Return whether one of the values matches; a leading ``!`` negates a value."""
    for value in values:
        prefix = value.removeprefix("!")
        if key in _WORDED:
            fits = any(_has_words(text, prefix) for text in _WORDED[key](secret))
        else:
            fits = any(text.startswith(prefix) for text in _PREFIXED[key](secret))
        if fits != value.startswith("!"):
            return True
    return False


def _has_words(text: str, start: str) -> bool:
    words, prefixes = _words(text), _words(start)
    return bool(prefixes) and all(any(word.startswith(prefix) for word in words) for prefix in prefixes)


def _words(text: str) -> list[str]:
    return [word for word in _BREAKS.split(text.lower()) if word]


def _sortable(time: datetime | None) -> str:
    return (time or _EARLIEST).astimezone(UTC).isoformat(timespec="microseconds")


def _token(listing: str, place: str, arn: str) -> str:
    return base64.urlsafe_b64encode("\n".join([listing, place, arn]).encode()).decode()


def _read_token(listing: str, token: str | None) -> tuple[str, str] | None:
    if token is None:
        return None
    try:
        digest, place, arn = base64.urlsafe_b64decode(token).decode().split("\n")
    except ValueError:
        digest = ""
    if digest != listing:
        raise InvalidSecretToken("The NextToken value is invalid.", remedy="Start the listing again.")
    return place, arn
