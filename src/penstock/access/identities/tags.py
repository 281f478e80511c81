"""Tags of users, roles and policies: keys are case-insensitive, and those with ``aws:`` are reserved.

Source: IAM user guide, "Tags for IAM resources".
"""

from collections.abc import Iterable, Mapping, Sequence

from penstock.errors import InvalidInput, LimitExceeded

__all__ = ["InvalidTags", "changed_tags", "checked_tags", "unique_tags"]

_MAX_TAGS = 50


class InvalidTags(InvalidInput):
    """A tag key occurs twice, or is reserved."""

    aws_code = "InvalidInput"


def unique_tags(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the pairs as a mapping; raise :class:`InvalidTags` if two keys are equal or differ only in case."""
    unique: dict[str, str] = {}
    keys: set[str] = set()
    for key, value in pairs:
        if key.lower() in keys:
            raise InvalidTags(
                "Duplicate tag keys found. Please note that Tag keys are case insensitive.",
                remedy=f"Give '{key[:128]}' once.",
            )
        keys.add(key.lower())
        unique[key] = value
    return unique


def checked_tags(tags: Mapping[str, str]) -> Mapping[str, str]:
    """Return ``tags`` for a new entity; raise :class:`InvalidTags`, or :class:`LimitExceeded` for more than 50."""
    for key in tags:
        if key.lower().startswith("aws:"):
            raise InvalidTags(
                "Caller is an end user and not allowed to mutate system tags.",
                remedy=f"'{key[:128]}' begins with aws:, which is reserved: choose another key.",
            )
    if len(tags) > _MAX_TAGS:
        raise LimitExceeded(f"Cannot exceed quota for TagsPerEntity: {_MAX_TAGS}")
    return tags


def changed_tags(old: Mapping[str, str], add: Mapping[str, str], remove: Sequence[str] = ()) -> Mapping[str, str]:
    """Return ``old`` without the keys of ``remove`` and with those of ``add``, which replace keys in any case.

    Raises :class:`InvalidTags`, :class:`LimitExceeded`.
    """
    removed = {key.lower() for key in (*remove, *checked_tags(add))}
    tags = {key: value for key, value in old.items() if key.lower() not in removed} | dict(add)
    if len(tags) > _MAX_TAGS:
        raise LimitExceeded(f"Cannot exceed quota for TagsPerEntity: {_MAX_TAGS}")
    return tags
