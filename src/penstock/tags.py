"""Tags of Glue's resources: their rules and changes.

Source: Glue developer guide, "AWS tags in AWS Glue": up to 50 a resource, keys that begin with ``aws:`` are AWS's own.
"""

from collections.abc import Mapping, Sequence

from penstock.errors import InvalidInput, LimitExceeded

__all__ = ["MAX_TAGS", "changed_tags", "check_tags"]

MAX_TAGS = 50


def check_tags(tags: Mapping[str, str], limit: int = MAX_TAGS) -> None:
    """Raise :class:`InvalidInput` for tags that break AWS's rules beyond those in its shapes."""
    if len(tags) > limit:
        raise InvalidInput(f"{len(tags)} tags were given; a resource can have {limit}.")
    reserved = [key for key in tags if key.lower().startswith("aws:")]
    if reserved:
        raise InvalidInput(f"The tag key '{reserved[0]}' begins with aws:, which is reserved for AWS.")


def changed_tags(tags: Mapping[str, str], add: Mapping[str, str], remove: Sequence[str]) -> Mapping[str, str]:
    """Return ``tags`` with those of ``add`` and without the keys of ``remove``; :class:`LimitExceeded` for more than 50."""
    changed = {key: value for key, value in {**tags, **add}.items() if key not in remove}
    if len(changed) > MAX_TAGS:
        raise LimitExceeded(f"A resource can have at most {MAX_TAGS} tags.", remedy="Remove some first.")
    return changed
