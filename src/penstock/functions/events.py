"""What the events of all sources share: their origin's part, JSON, and what filters see of a payload."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from penstock.functions.records import Record

__all__ = ["Origin", "compact_json", "payload_view", "time_text"]

_LAST_TIME = 253_402_300_799_000  # milliseconds since 1970: the end of the year 9999


class Origin(Protocol):
    """Where records come from, as events and the documents about discarded records name it."""

    def event(self, records: Sequence[Record]) -> bytes:
        """The event a function gets for ``records``, UTF-8 JSON."""
        ...

    def batch_info(self, records: Sequence[Record], *, single: bool) -> dict[str, Any]:
        """The member about discarded records, and its name; ``single`` for the form of a Kafka destination."""
        ...

    def object_prefix(self, records: Sequence[Record]) -> str:
        """What stands before the date in the names of S3's objects, with its slash."""
        ...


def compact_json(value: Mapping[str, Any] | str) -> bytes:
    """JSON without spaces, UTF-8."""
    return json.dumps(value, separators=(",", ":")).encode()


def payload_view(data: bytes | None) -> Any:
    """What filters see of a payload: the object that it is as JSON, else its text; None if it is neither."""
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
    """A time since 1970 as Lambda writes times: 2019-11-14T00:38:06.021Z."""
    # Producers write what times they like; one that no calendar has becomes the nearest that one has.
    moment = datetime.fromtimestamp(min(max(0.0, milliseconds), _LAST_TIME) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
