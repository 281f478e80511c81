"""When a secret is due for its next rotation. Source: Secrets Manager user guide, "Schedule expressions"."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.cron import parse_cron
from penstock.errors import InvalidInput
from penstock.secrets.errors import InvalidSecretParameter
from penstock.secrets.model import Rotation

__all__ = ["check_rules", "next_rotation"]

_RATE = re.compile(r"rate\(\s*(\d{1,4})\s+(hour|day)s?\s*\)")
_LEAST_HOURS = 4
_MOST_DAYS = 999


def check_rules(rules: Mapping[str, Any]) -> None:
    """Raise :class:`InvalidSecretParameter` for rules without a schedule, with two, or with an invalid one."""
    days, schedule = rules.get("AutomaticallyAfterDays"), rules.get("ScheduleExpression")
    if (days is None) == (schedule is None):
        raise InvalidSecretParameter("RotationRules have either AutomaticallyAfterDays or ScheduleExpression.")
    if schedule is not None:
        _after(str(schedule), datetime.now(UTC))


def next_rotation(rotation: Rotation) -> datetime | None:
    """Return when the next rotation is due; None without rules, or where rotation is off."""
    last = max((moment for moment in (rotation.rotated, rotation.since) if moment is not None), default=None)
    if not rotation.enabled or not rotation.rules or last is None:
        return None
    days = rotation.rules.get("AutomaticallyAfterDays")
    if days is not None:
        return last + timedelta(days=int(days))
    return _after(str(rotation.rules["ScheduleExpression"]), last)


def _after(schedule: str, last: datetime) -> datetime | None:
    rate = _RATE.fullmatch(schedule)
    if rate is not None:
        amount = timedelta(hours=int(rate[1])) if rate[2] == "hour" else timedelta(days=int(rate[1]))
        if not timedelta(hours=_LEAST_HOURS) <= amount <= timedelta(days=_MOST_DAYS):
            raise InvalidSecretParameter(f"A rate is between {_LEAST_HOURS} hours and {_MOST_DAYS} days.")
        return last + amount
    try:
        return parse_cron(schedule).next_after(last)
    except InvalidInput as error:
        raise InvalidSecretParameter(
            f"'{schedule[:100]}' is not a schedule: {error.message}", remedy="Write rate(10 days) or cron(0 8 1 * ? *)."
        ) from None
