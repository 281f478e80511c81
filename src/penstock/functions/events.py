"""Shared by the events of all sources: the origin's part, JSON, and the view of a payload for filters."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from penstock.functions.records import Record

__all__ = ["Origin", "compact_json", "payload_view", "time_text"]

_LAST_TIME = 253_402_300_799_000  # milliseconds since 1970: the end of the year 9999


class Origin(Protocol):
    """The source of records, as events and documents about discarded records describe it."""

    def event(self, records: Sequence[Record]) -> bytes:
        """Return the event for ``records``, UTF-8 JSON."""
        ...

    def batch_info(self, records: Sequence[Record], *, single: bool) -> dict[str, Any]:
        """Return the document's member about discarded records, by its name; ``single`` for a Kafka destination."""
        ...

    def object_prefix(self, records: Sequence[Record]) -> str:
        """Return the part of S3's object keys before the date, with its slash."""
        ...


def compact_json(value: Mapping[str, Any] | str) -> bytes:
    """Return JSON without spaces, UTF-8."""
    return json.dumps(value, separators=(",", ":")).encode()


def payload_view(data: bytes | None) -> Any:
    """Return a payload for filters: parsed as a JSON object, else as text; None if it is neither."""
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def time_text(milliseconds: float) -> str:
    """Return a time since 1970 as Lambda writes it: 2019-11-14T00:38:06.021Z."""
    # Producers may write any time; one outside the calendar becomes the nearest valid one.
    moment = datetime.fromtimestamp(min(max(0.0, milliseconds), _LAST_TIME) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
