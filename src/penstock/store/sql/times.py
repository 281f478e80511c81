"""Times as the store keeps them: microseconds since the epoch, which every backend compares and stores alike."""

from datetime import UTC, datetime, timedelta

__all__ = ["micros", "time_of"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(time: datetime) -> int:
    """Return a time as the store keeps it."""
    return (time - _EPOCH) // _MICROSECOND


def time_of(stored: int) -> datetime:
    """Return the time, in UTC, that :func:`micros` wrote."""
    return _EPOCH + stored * _MICROSECOND
